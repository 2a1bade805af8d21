"""``python -m notes``: serve on stdin and stdout until stdin closes."""

import os
import sys

from notes.server import serve

code = serve(os.environ)
sys.stderr.flush()
# Skips the interpreter's tear-down, for which the client would wait; everything is flushed.
os._exit(code)
