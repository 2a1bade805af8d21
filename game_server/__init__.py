"""The game for others: clients of MCP, and whatever uses Gymnasium environments.

python -m game_server --help
"""

import python_version  # noqa: F401
