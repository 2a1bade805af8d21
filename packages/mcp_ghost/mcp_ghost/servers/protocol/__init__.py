"""What MCP asks of a client beyond the SDK's own part of it."""
