"""``python -m mcp_ghost``."""

import sys

from mcp_ghost.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
