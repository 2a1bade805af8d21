"""The ways to a server: a process of ours, or a URL."""
