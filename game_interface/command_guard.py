"""The guard in front of the engine: text for the game passes, orders to the interpreter do not.

A story that waits for a key takes one key, by its name, or a single character.

Parsers cut words (to 6 letters in version 3, 9 in version 5), skip fillers and accept several
commands in one line, so the guard looks at the first meaningful word of every part of a line.
"""

import re

from game_interface.errors import InvalidCommandError
from game_interface.machine.facts import Waits

MAX_COMMAND_LENGTH = 100
KEY_NAMES = ("space", "enter", "escape", "up", "down", "left", "right", "delete")
KEYS_TO_GIVE = f"{', '.join(KEY_NAMES)}, or one character"
"""How it is said which keys there are."""

_READ = 6  # letters of a word in version 3; what is refused there does no harm elsewhere
_INTERPRETER_VERBS = [
    verb[:_READ]
    for verb in re.findall(
        r"\w+", "save restore restart quit q die script unscript noscript transcript verify undo"
    )
]
# What parsers skip before a verb, and "oops", which puts the next word into the last command.
_FILLERS = re.findall(
    r"\w+", "a an the and of then all one but except yes no y here is are to please oops o"
)
# These are not nouns, and need no object: at the end of a part they are dangerous behind any word,
# for release 88 of Zork I takes some ordinary words ("float", "fry") for fillers.
_NEVER_LAST = frozenset(("save", "restore", "restor", "restart", "restar", "quit", "q"))
_PARTS = re.compile(r'[.,;"]|\bthen\b|\band\b', re.IGNORECASE)
_TYPOGRAPHY = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u00a0", "''\"\"-- ")


def validate_command(command: str, waits_for: Waits | None = "line") -> str:
    """Return the command as the game will see it: one line, single spaces, plain quotation marks.

    If the game waits for a key, this is a key's name or one character; if it is not known what the
    game waits for (None), the command may be empty, as if Enter were pressed.

    Raises: InvalidCommandError with the reason.
    """
    if waits_for == "key":
        return _key(command)
    if waits_for is None and not command.strip():
        return ""
    cleaned = command.translate(_TYPOGRAPHY).replace("\u2026", "...").strip()
    if "\n" in cleaned or "\r" in cleaned:
        raise InvalidCommandError("a command must be one line")
    cleaned = re.sub("[ \t]+", " ", cleaned.removeprefix(">")).strip()
    if not cleaned:
        raise InvalidCommandError("a command must not be empty")
    if len(cleaned) > MAX_COMMAND_LENGTH:
        raise InvalidCommandError(
            f"a command has at most {MAX_COMMAND_LENGTH} characters; this one has {len(cleaned)}"
        )
    for character in cleaned:
        if not character.isprintable() or ord(character) > 0xFF:
            raise InvalidCommandError(f"a command must be plain Latin text, without {character!r}")
    for part in _PARTS.split(cleaned):
        words = part.lower().split()
        verb = next((word for word in words if word not in _FILLERS), "")
        if verb.startswith(("$", "#")):
            raise InvalidCommandError(f"{verb!r} is for debugging the game, not for playing it")
        if words and words[-1] in _NEVER_LAST:
            verb = words[-1]
        if verb[:_READ] in _INTERPRETER_VERBS:
            raise InvalidCommandError(f"{verb!r} is a command to the interpreter, not to the game")
    return cleaned


def _key(command: str) -> str:
    if set(command) <= set(" \r\n"):  # what a person gets by pressing a key
        return "space" if command.startswith(" ") else "enter"
    cleaned = command.strip()
    named = cleaned.lower().strip("<>[]")
    if named in KEY_NAMES:
        return named
    if len(cleaned) == 1 and cleaned.isprintable():
        return cleaned
    raise InvalidCommandError(f"the game waits for a key, not for a command: give {KEYS_TO_GIVE}")
