"""An engine and all that reads a story's memory, in a process of their own."""
