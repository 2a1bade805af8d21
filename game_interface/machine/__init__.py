"""The game's memory, read: rooms, things, exits, words and the facts they make."""
