"""Who plays: the seam between an episode and whoever decides, and those who can."""

PLAYERS = ("model", "chat", "random", "walkthrough", "first-exit")
"""Their names; light to import, for flags."""
