"""What a reflection is told: the turns since the last one and what is known, within a budget."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from managers.manager import CHARACTERS_PER_TOKEN, Section, ToSumUp
from mcp_ghost.text import one_line
from session.game_state import ThingSeen, TurnRecord

TOKEN_BUDGET = 3000
"""Of the whole message but for what is to be summed up, roughly."""
_RESPONSE_CHARACTERS = 500
_THINKING_CHARACTERS = 160


@dataclass(frozen=True)
class PendingTurn:
    """A turn that no reflection has looked back at, with what changed in it."""

    record: TurnRecord
    gained: tuple[ThingSeen, ...] = ()
    lost: tuple[ThingSeen, ...] = ()
    triggers: tuple[str, ...] = ()
    """What makes it worth a look back."""


def full_message(
    turns: Sequence[PendingTurn],
    sections: Iterable[Section],
    left_empty: Sequence[str] = (),
    to_sum_up: ToSumUp | None = None,
) -> str:
    """The turns in full as far as the budget goes; ``left_empty`` are lists that nobody wants."""
    parts = [section.text() for section in sections]
    if left_empty:
        parts.append(f"Leave these lists empty this time: {', '.join(left_empty)}.")
    whole = TOKEN_BUDGET * CHARACTERS_PER_TOKEN
    # Without the turns there is nothing to learn from, however much is known already.
    room = max(whole - sum(len(part) + 2 for part in parts), whole // 2)
    parts.append("\n".join(["## The turns", *_told(turns, room)]))
    if to_sum_up:
        parts.append(f"## To be summed up, up to turn {to_sum_up.until}\n{to_sum_up.text}")
    return "\n\n".join(parts)


def _told(turns: Sequence[PendingTurn], room: int) -> list[str]:
    """A head for each turn; the oldest lose what was thought and said first."""
    heads = [_head(turn) for turn in turns]
    room -= sum(len(head) + 1 for head in heads)
    told: list[str] = []
    for head, turn in zip(reversed(heads), reversed(turns), strict=True):
        words = _words(turn.record)
        room -= len(words) + 1
        told.append(f"{head}\n{words}" if room >= 0 else head)
    return told[::-1]


def _head(turn: PendingTurn) -> str:
    record, changes = turn.record, "".join(f" [{change}]" for change in _facts(turn))
    where = f", {record.place.label}" if record.place else ""
    return f"Turn {record.turn}{where}: > {record.command}{changes}"


def _words(record: TurnRecord) -> str:
    thought = one_line(record.thinking, _THINKING_CHARACTERS)
    return f"  player thought: {thought}\n  game: {one_line(record.response, _RESPONSE_CHARACTERS)}"


def _facts(turn: PendingTurn) -> Iterable[str]:
    """What the player was told of the turn, besides words."""
    record, after = turn.record, turn.record.after
    if record.scored:
        yield f"score {record.scored:+}, now {after.score}"
    if turn.gained:
        yield f"gained {', '.join(map(str, turn.gained))}"
    if turn.lost:
        yield f"no longer carried: {', '.join(map(str, turn.lost))}"
    if after.room and after.room_id != record.place_id:
        first = " for the first time" if "new room" in turn.triggers else ""
        yield f"now in {after.room.label}{first}"
    if record.died:
        yield "you died"
