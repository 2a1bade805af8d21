"""The record of an episode: the one place that writes and reads it."""
