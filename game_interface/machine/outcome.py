"""What a step did to the player: nothing, a death, or the end of the game.

A death may not be the end: Zork I brings the player back twice. And the end need not show in the
engine: one engine runs past a story's QUIT, and one release asks "restart?" for ever.
"""

import re
from hashlib import sha256

from game_interface.machine.facts import Ending
from game_interface.machine.memory import MachineMemory
from game_interface.machine.profile import NO_PROFILE, Profile

# As both Infocom and Inform customarily announce them.
_DEATH = re.compile(r"\*\*\*+\s+You (have|are) (died|dead)\b", re.IGNORECASE)
_VICTORY = re.compile(r"\*\*\*+\s+You have won\b", re.IGNORECASE)


def died_and_ending(
    profile: Profile, before: MachineMemory, after: MachineMemory, text: str, *, quit_: bool
) -> tuple[bool | None, Ending | None]:
    """Whether a step that printed `text` brought a death, and how the game ended by it, if it did.

    If the profile does not know of every death, the customary words and the engine's own end
    (`quit_`) fill in; whether a step brought a death that nothing announced is then unknown (None).
    """
    died: bool | None
    ending, index = _known_ending(profile, after, text), profile.globals.deaths
    if profile is NO_PROFILE or not profile.deaths_are_final:
        ending, died = ending or _announced_ending(text), announces_death(text) or None
    else:
        died = index is not None and after.global_value(index) > before.global_value(index)
    return died or (ending == "death") or died, ending or ("other" if quit_ else None)


def announces_death(text: str) -> bool:
    """Whether a text says in the customary words that the player died."""
    return bool(_DEATH.search(text))


def announces_victory(text: str) -> bool:
    """Whether a text says in the customary words that the game is won."""
    return bool(_VICTORY.search(text))


def line_digest(line: str) -> str:
    """A short hash of a line, by which a profile can know it without quoting it."""
    return sha256(" ".join(line.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _known_ending(profile: Profile, after: MachineMemory, text: str) -> Ending | None:
    if test := profile.ending:
        value = after.global_value(test.index)
        if value in test.death:
            return "death"
        if value in test.victory:
            return "victory"
        return "other" if value and profile.deaths_are_final else None
    digests = (line_digest(line) for line in text.splitlines())
    known = profile.ending_lines
    return next((known[digest] for digest in digests if digest in known), None)


def _announced_ending(text: str) -> Ending | None:
    """Games that have ended offer to restart or to quit."""
    if not {"RESTART", "RESTORE", "QUIT"} <= set(re.findall(r"[A-Z]+", text[-400:].upper())):
        return None
    if announces_victory(text):
        return "victory"
    return "death" if announces_death(text) else "other"
