"""Configuration, state and record of an episode."""
