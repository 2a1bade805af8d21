"""What a step did to the player: nothing, a death, or the end of the game.

A death need not be the end: Zork I brings the player back twice. And the end need not show in the
engine: one engine runs past a story's QUIT, and one release asks "restart?" for ever.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from game_interface.transcript import asks_what_now, line_digest, says_death, says_victory

if TYPE_CHECKING:
    from game_interface.facts import Ending
    from game_interface.memory import Memory
    from game_interface.profile import Profile


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did to the player."""

    died: bool = False
    ending: "Ending | None" = None


class OutcomeReader:
    """Tells the outcome of a step of one story."""

    def __init__(self, profile: "Profile | None") -> None:
        """Without a profile only the customary words and the engine's own end are known."""
        self._profile = profile

    def read(self, before: "Memory", after: "Memory", text: str, *, quit_: bool) -> Outcome:
        """The outcome of a step that changed the memory and printed `text`."""
        ending = self._ending(after, text)
        if ending is None and quit_:
            ending = "other"
        return Outcome(ending == "death" or self._died(before, after, text), ending)

    def _ending(self, after: "Memory", text: str) -> "Ending | None":
        if self._profile is None:
            return _announced_ending(text)
        test = self._profile.ending
        if test is not None:
            value = after.global_value(test.index)
            if value in test.death:
                return "death"
            if value in test.victory:
                return "victory"
            return "other" if value else None
        digests = (line_digest(line) for line in text.splitlines())
        known = self._profile.ending_lines
        return next((known[digest] for digest in digests if digest in known), None)

    def _died(self, before: "Memory", after: "Memory", text: str) -> bool:
        if self._profile is None:
            return says_death(text)
        index = self._profile.globals.deaths
        return index is not None and after.global_value(index) > before.global_value(index)


def _announced_ending(text: str) -> "Ending | None":
    if not asks_what_now(text):
        return None
    if says_victory(text):
        return "victory"
    return "death" if says_death(text) else "other"
