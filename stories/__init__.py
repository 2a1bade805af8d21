"""Story files: what they are, what they hold, and what the memory of a story means."""
