"""``python -m thoughtbox``: serve on stdin and stdout until stdin closes, or until Ctrl-C."""

import os

code = 0
try:
    from thoughtbox.server import serve

    serve()
except KeyboardInterrupt:
    code = 130
# Skips the interpreter's tear-down, for which the client would wait; everything is flushed.
os._exit(code)
