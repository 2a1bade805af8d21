"""``python -m thoughtbox``: serve on stdin and stdout until stdin closes."""

import os

from thoughtbox.server import serve

serve()
# Skips the interpreter's tear-down, for which the client would wait; everything is flushed.
os._exit(0)
