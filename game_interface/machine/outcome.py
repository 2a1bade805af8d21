"""What a step did to the player: nothing, a death, or the end of the game.

A death may not be the end: Zork I brings the player back twice. And the end need not show in the
engine: one engine runs past a story's QUIT, and one release asks "restart?" for ever.
"""

import re
from collections.abc import Callable
from hashlib import sha256

from game_interface.machine.facts import Ending
from stories.memory import MachineMemory
from stories.profile import NO_PROFILE, Profile

# As both Infocom and Inform customarily announce them.
_DEATH = re.compile(r"\*\*\*+\s+You (have|are) (died|dead)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\*\*\*+\s+You have won\b", re.IGNORECASE)


def died_and_ending(
    profile: Profile,
    before: MachineMemory | None,
    after: MachineMemory | None,
    text: str,
    *,
    has_quit: bool,
    asks_at_end: Callable[[], bool],
) -> tuple[bool | None, Ending | None]:
    """Tell whether a step that printed `text` brought a death, and how it ended the game.

    The end is known by the interpreter (`has_quit`), by the story's own variable, or by a line that
    only the ending prints. Where the profile does not know of every death, words that offer to
    restart count if the story does nothing else any more, which `asks_at_end` finds out; and
    whether a step brought a death that nothing announced is unknown (None). Of a story that has
    quit, the memory is that from before its last command, so its words tell how it ended.
    """
    if has_quit:
        known = _by_line(profile, text) or _by_words(text)
        return known == "death" or (None if known == "other" else False), known
    died: bool | None
    ending = _by_variable(profile, after) if profile.ending else _by_line(profile, text)
    if profile is NO_PROFILE or not profile.deaths_are_final:
        died = announces_death(text) or None
        # The last words may be a question asked after the end; help texts may read like one.
        asks = {"RESTART", "RESTORE", "QUIT"} <= set(re.findall(r"[A-Z]+", text[-400:].upper()))
        if not ending and asks and asks_at_end():
            ending = _by_words(text)
        return ending == "death" or died, ending
    index = profile.globals.deaths
    died = index is not None and _value(after, index) > _value(before, index)
    return died or ending == "death", ending


def announces_death(text: str) -> bool:
    """Return whether a text says in the customary words that the player died."""
    return bool(_DEATH.search(text))


def announces_victory(text: str) -> bool:
    """Return whether a text says in the customary words that the game is won."""
    return bool(_VICTORY.search(text))


def line_digest(line: str) -> str:
    """Return a short hash of a line, by which a profile can know it without quoting it."""
    return sha256(" ".join(line.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _by_variable(profile: Profile, after: MachineMemory | None) -> Ending | None:
    test = profile.ending
    value = _value(after, test.index) if test else 0
    if test and value in test.death:
        return "death"
    if test and value in test.victory:
        return "victory"
    return "other" if value and profile.deaths_are_final else None


def _value(memory: MachineMemory | None, index: int) -> int:
    return memory.global_value(index) if memory else 0


def _by_line(profile: Profile, text: str) -> Ending | None:
    digests = (line_digest(line) for line in text.splitlines())
    known = profile.ending_lines
    return next((known[digest] for digest in digests if digest in known), None)


def _by_words(text: str) -> Ending:
    if announces_victory(text):
        return "victory"
    return "death" if announces_death(text) else "other"
