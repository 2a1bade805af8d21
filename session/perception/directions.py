"""Directions and plain commands, in the English that games share."""

import re

DIRECTIONS = {
    "n": "north",
    "ne": "northeast",
    "e": "east",
    "se": "southeast",
    "s": "south",
    "sw": "southwest",
    "w": "west",
    "nw": "northwest",
    "u": "up",
    "d": "down",
}
NAMES = (*DIRECTIONS.values(), "in", "out", "fore", "aft", "port", "starboard")
AGAIN = frozenset({"again", "g"})
LOOKING = frozenset({"i", "inv", "inventory", "l", "look", "score", "wait", "z"})
"""Commands that describe or let time pass: to get one answer twice is no failure."""
HARMLESS = LOOKING | AGAIN
"""Commands that are meant to be repeated; whatever happens after them, they did not do it."""
SENSING = LOOKING | {"examine", "listen", "read", "smell", "x"}
"""Commands after which a change of the world is not the player's doing."""
_ORDER = {name: number for number, name in enumerate(NAMES)}
_GOING = re.compile(r"^(?:go|walk|run|head|travel) (?:to )?(?=\w+$)")
_COMPASS = re.compile(r"\b(?:(?:north|south)(?:-?(?:east|west))?|east|west)\b")
_SENTENCE = re.compile(r"[.!?;]\s")
_WORD = re.compile(r"\w+")
_VERTICAL = ("up", "down")
_WORDS_BETWEEN = 4
_OF_WAYS = re.compile(
    "(?:climbs?|climbing|continu(?:e|es|ing)|exits?|go|goes|going|heads?|heading|ladder"
    "|leads?|leading|passages?|passageway|paths?|ramp|runs?|running|shaft|slopes?|sloping|stairs?"
    "|staircase|stairway|steps|tunnel|ways?|winds?|winding)"
)
"""Shortly after one of these, up and down are directions: windows are boarded up, too."""


def direction_of(command: str) -> str | None:
    """Return the direction that ``command`` moves in, in full; None for any other command."""
    words = _GOING.sub("", " ".join(command.split()).lower())
    words = DIRECTIONS.get(words, words)
    return words if words in _ORDER else None


def in_order(command: str) -> tuple[int, str]:
    """Sorts directions as on a compass, before all other commands."""
    return _ORDER.get(command, len(_ORDER)), command


def directions_in(prose: str) -> set[str]:
    """Find the directions that ``prose`` names; in and out cannot be told from little words."""
    text = prose.lower()
    found = {match.group().replace("-", "") for match in _COMPASS.finditer(text)}
    for sentence in _SENTENCE.split(text):
        if not any(word in sentence for word in _VERTICAL):
            continue
        words = _WORD.findall(sentence)
        for place, word in enumerate(words):
            before = words[max(0, place - _WORDS_BETWEEN) : place]
            if word in _VERTICAL and any(_OF_WAYS.fullmatch(it) for it in before):
                found.add(word)
    return found
