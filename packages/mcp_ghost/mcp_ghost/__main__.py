"""``python -m mcp_ghost``."""

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import sys

from mcp_ghost.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
