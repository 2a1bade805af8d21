"""A small language model on this machine, spoken to over HTTP like a large one far away."""
