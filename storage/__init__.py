"""What outlives an episode: one database, derived from the event logs."""
