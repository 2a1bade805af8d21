"""``python -m notes``: serve on stdin and stdout until stdin closes, or until Ctrl-C."""

import os
import sys

try:
    from notes.server import serve

    code = serve(os.environ)
except KeyboardInterrupt:
    code = 130
sys.stderr.flush()
# Skips the interpreter's tear-down, for which the client would wait; everything is flushed.
os._exit(code)
