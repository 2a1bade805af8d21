"""Who plays: the seam between an episode and whoever decides, and those who can."""
