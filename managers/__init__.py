"""What the agent knows and uses, one manager for each kind of thing."""
