"""An MCP server for the player's own notes: write, read and search.

Started with ``python -m notes``. Standard library only, and little of it, as in ``thoughtbox``.
"""
