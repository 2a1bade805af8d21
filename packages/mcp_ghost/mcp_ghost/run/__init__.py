"""One run of ``mcp_ghost()``, from the first request to the final account."""
