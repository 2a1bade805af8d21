"""What a player sees and types: flags, the live view of an episode, the ways to stop it."""
