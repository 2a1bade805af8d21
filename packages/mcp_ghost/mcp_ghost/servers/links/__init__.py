"""The ways to a server: a process of ours, an object of this program, or a URL."""
