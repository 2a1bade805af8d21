"""A video script from a web page, by an agent that reads with MCP tools of its own choosing."""
