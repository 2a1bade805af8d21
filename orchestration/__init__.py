"""The wiring of an episode and its turns."""
