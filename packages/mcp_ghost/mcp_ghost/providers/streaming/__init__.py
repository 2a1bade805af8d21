"""Replies that arrive piece by piece: what each piece says, and the whole reply in the end."""
