"""Wiring of an episode and its turns."""
