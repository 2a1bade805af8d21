"""The configuration, state and record of an episode."""
