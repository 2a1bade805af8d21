"""The text of a game's answer, freed from what the screen adds to it."""

import re
from hashlib import sha256

_PROMPT = re.compile(r"\s*>?\s*\Z")
_DEATH = re.compile(r"\*\*\*+\s+You (have|are) (died|dead)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\*\*\*+\s+You have won\b", re.IGNORECASE)


def without_prompt(text: str) -> str:
    """The answer without the prompt behind it; line breaks and paragraphs stay."""
    lines = (line.rstrip() for line in _PROMPT.sub("", text).split("\n"))
    return "\n".join(lines).strip("\n")


def line_digest(line: str) -> str:
    """A short hash of a line, by which a profile can know it without quoting it."""
    return sha256(" ".join(line.split()).encode()).hexdigest()[:16]


def says_death(text: str) -> bool:
    """Whether the text announces a death in the customary way of both Infocom and Inform."""
    return bool(_DEATH.search(text))


def says_victory(text: str) -> bool:
    """Whether the text announces a victory as Inform does."""
    return bool(_VICTORY.search(text))


def asks_what_now(text: str) -> bool:
    """Whether the text offers to restart or to quit, as games do when they have ended."""
    words = set(re.findall(r"[A-Z]+", text[-400:].upper()))
    return {"RESTART", "RESTORE", "QUIT"} <= words
