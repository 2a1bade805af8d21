"""The turns so far, word for word, as a conversation that only grows until its budget is used up.

So a request begins as the one before, and providers bill that part as cached. When there is too
much, looking back sums up the oldest turns; where nobody does, they are left out, many at a time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from json import dumps

from managers.manager import CHARACTERS_PER_TOKEN, Manager, ToSumUp, without_headings
from mcp_ghost.messages import Message
from session.game_configuration import GameConfiguration
from session.game_state import GameState, TurnRecord
from session.knowledge import Reflection

ANSWER_CHARACTERS = 6000
"""Of one answer of the game; the rest of a longer one is left out, visibly."""
_KEPT_SHARE = 4
"""Once turns are summed up, the others take this part of the budget."""
_PATIENCE = 5 / 4
"""Times the budget, at which turns are left out that nobody has summed up."""
_ALWAYS_KEPT = 3
_NOT_ANSWERED = "(no usable answer)"


@dataclass(frozen=True)
class _Turn:
    number: int
    said: str
    """The model's answer."""
    heard: str
    """What came of it."""
    points: str
    """What it won or lost, in words; empty where nothing."""

    @property
    def size(self) -> int:
        return len(self.said) + len(self.heard)


class Transcript(Manager):
    """Follows only from turn records and reflections, in order."""

    def __init__(self, config: GameConfiguration) -> None:
        self._budget = config.context_history_tokens * CHARACTERS_PER_TOKEN
        self._turns: list[_Turn] = []
        self._size = 0
        self._summary = ""
        self._summed_up = 0
        """The latest turn that the summary tells of."""
        self._left_out = 0
        """The latest turn that is not told word for word."""
        self._points: list[str] = []
        """What the turns that are left out won and lost."""

    def apply(self, record: TurnRecord) -> None:
        """Add a finished turn."""
        action = record.command or record.proposed[:200] or _NOT_ANSWERED
        # The model's own words; its plan, objectives and target are told where they hold.
        said = dumps({"thinking": record.thinking, "action": action}, ensure_ascii=False)
        # Where the game was given nothing at all, the answer tells of the last proposal.
        refused = record.refused if record.command else record.refused[:-1]
        notes = [f'"{it.command}" was not given to the game: {it.reason}' for it in refused]
        if record.advice:
            notes.append(f'About "{record.command}": {record.advice}')
        answer, points = _printed(record.response), ""
        if record.scored:
            answer += f" [{record.scored:+d} points, now {record.outcome.score}]"
        if record.died:
            answer += " [you died]"
        if record.scored or record.died:
            what = "you died" if record.died else f"{record.scored:+d}"
            where = f"{record.place.name}: " if record.place else ""
            points = f"turn {record.turn} {what} ({where}{record.command})"
        place = f", {record.place.name}" if record.place else ""
        heard = "\n".join([f"[turn {record.turn}{place}]", *notes, answer])
        turn = _Turn(record.turn, said, heard, points)
        self._turns.append(turn)
        self._size += turn.size
        if self._size > self._budget * _PATIENCE:
            self._leave_out(self._oldest(self._budget // 2))

    def learn(self, reflection: Reflection) -> None:
        """Take the model's summary instead of the turns that it tells of."""
        if reflection.summary:
            self._summary, self._summed_up = reflection.summary, reflection.summary_until
            self._leave_out([it for it in self._turns if it.number <= reflection.summary_until])

    def to_sum_up(self) -> ToSumUp | None:
        """Return the oldest turns after the summary so far, once there is more than the budget."""
        oldest = self._oldest(self._budget // _KEPT_SHARE) if self._size > self._budget else []
        if not oldest:
            return None
        parts = [self._summary] if self._summary else []
        parts += [f"{turn.said}\n{turn.heard}" for turn in oldest]
        return ToSumUp("\n\n".join(parts), oldest[-1].number)

    def messages(self, state: GameState) -> list[Message]:
        """From user to user; the last message is what came of the latest turn."""
        before = [] if self._left_out else [f"The game begins:\n\n{_printed(state.opening)}"]
        if self._summary:
            summary = without_headings(self._summary)
            before.append(f"Your summary of the turns up to {self._summed_up}:\n\n{summary}")
        if self._left_out > self._summed_up:
            before.append(f"Turns {self._summed_up + 1} to {self._left_out} are left out.")
        if self._points:
            points = "; ".join(self._points)
            before.append(f"Points and deaths up to turn {self._left_out}: {points}.")
        told: list[Message] = [{"role": "user", "content": "\n\n".join(before)}]
        for turn in self._turns:
            told.append({"role": "assistant", "content": turn.said})
            told.append({"role": "user", "content": turn.heard})
        return told

    def _oldest(self, kept: int) -> list[_Turn]:
        """Return the turns before the latest that together fill ``kept`` characters."""
        count, left = 0, self._size
        while count < len(self._turns) - _ALWAYS_KEPT and left > kept:
            left -= self._turns[count].size
            count += 1
        return self._turns[:count]

    def _leave_out(self, oldest: Iterable[_Turn]) -> None:
        for turn in list(oldest):
            self._turns.remove(turn)
            self._size -= turn.size
            self._left_out = turn.number
            if turn.points:
                self._points.append(turn.points)


def _printed(text: str) -> str:
    """Return the game's words, which cannot pose as a part of the prompt."""
    said = without_headings(text.strip())
    return said if len(said) <= ANSWER_CHARACTERS else f"{said[: ANSWER_CHARACTERS - 1]}…"
