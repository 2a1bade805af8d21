"""What has happened so far: turn by turn, in points, and as the game has told of the player."""
