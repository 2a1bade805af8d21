"""Web pages: their addresses, how they are fetched or read by an agent, what they hold."""
