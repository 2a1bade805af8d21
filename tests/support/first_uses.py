"""Does once, before programs are forked, what each of them would do again.

It hashes our sources, reads the certificates, and collects the stop words of a hundred languages,
which a program would look at with its first page.
"""

from mcp_ghost.network import tls_context
from movie_generator.pages.fetch import page_of
from movie_generator.settings import Limits
from session.version import code_digest

code_digest()
tls_context()
page_of(b"<p>Words.", "text/html", "http://localhost/", Limits())
