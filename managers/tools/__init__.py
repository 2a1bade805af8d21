"""A turn's tools: the session with their server, and what is logged of them."""
