"""Words that by themselves change nothing in the world, in the English that games share."""

from managers.map.ways import AGAIN

LOOKING = frozenset(["i", "inv", "inventory", "l", "look", "score", "wait", "z"])
"""They describe, or let time pass: the same answer twice is not a failure."""
HARMLESS = LOOKING | AGAIN
"""Commands that are meant to be given again; whatever happens after them, they did not do it."""
SENSING = LOOKING | {"examine", "listen", "read", "smell", "x"}
"""If the world changes after one of these, others did it."""
