"""What the player may know: the one boundary between the machine's truth and whoever plays."""
