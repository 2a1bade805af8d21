"""A structured-reasoning MCP server: the tool ``think`` and the chain of thoughts behind it.

Started with ``python -m thoughtbox``. Standard library only, and little of it: a program that
starts this server every turn waits for its imports every turn.
"""
