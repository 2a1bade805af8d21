"""Achievements: what shows that a player has come further, read from the record of an episode."""
