"""What a reflection is asked: of the turns since the last one, in full or for a tiny model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from managers.manager import CHARACTERS_PER_TOKEN, Section, ToSumUp
from managers.reflection.answer import MemoryProposal, ReflectionAnswer
from mcp_ghost.text import one_line
from session.game_state import ThingSeen, TurnRecord
from session.knowledge import MemoryCategory
from shared_utils import extract_json

TOKEN_BUDGET = 3000
"""Of the whole message but for what is to be summed up, roughly."""
_MOST_TURNS = 5
_SHOWN_CHARACTERS = 160
_COMMAND_CHARACTERS = 40
_TEXT_CHARACTERS = 200
_GRAVEST_LAST: dict[str, tuple[MemoryCategory, str]] = {
    "inventory": ("discovery", "works"),
    "repeated refusal": ("failure", "useless"),
    "score": ("success", "brings points"),
    "death": ("danger", "deadly"),
}
"""What makes a turn worth remembering, as which category, and in a word."""
_GRAVITY = list(_GRAVEST_LAST)
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
    """Tell of the turns in full as far as the budget goes; ``left_empty`` are unwanted lists."""
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
    """Return a head for each turn; the oldest lose what was thought and said first."""
    heads = [
        f"Turn {turn.record.turn}{f', {turn.record.place.label}' if turn.record.place else ''}: "
        f"> {turn.record.command}{''.join(f' [{change}]' for change in _facts(turn))}"
        for turn in turns
    ]
    room -= sum(len(head) + 1 for head in heads)
    told: list[str] = []
    for head, turn in zip(reversed(heads), reversed(turns), strict=True):
        thought = one_line(turn.record.thinking, _THINKING_CHARACTERS)
        said = one_line(turn.record.response, _RESPONSE_CHARACTERS)
        words = f"  player thought: {thought}\n  game: {said}"
        room -= len(words) + 1
        told.append(f"{head}\n{words}" if room >= 0 else head)
    return told[::-1]


def _facts(turn: PendingTurn) -> Iterable[str]:
    """Yield what the player was told of the turn, besides words."""
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


def worth_choosing(turns: Sequence[PendingTurn]) -> list[PendingTurn]:
    """Return the gravest and latest turns, those last: what stands last is taken most often."""
    grave = [turn for turn in turns if _gravity(turn) >= 0]
    return sorted(grave, key=_gravity)[-_MOST_TURNS:]


def choice_message(turns: Sequence[PendingTurn]) -> str:
    """Tell a very small model of ``turns`` in a line each.

    Measured with the embedded model: asked to write a memory, it makes up outcomes; asked to pick
    one of all turns, it takes the last. So it picks among turns that the facts show to matter, and
    the game's own words are kept.
    """
    records = [turn.record for turn in turns]
    return "\n".join(
        f"Turn {it.turn}{f', {it.place.name}' if it.place else ''}: {it.command}. "
        f'"{one_line(it.response, _SHOWN_CHARACTERS)}"'
        for it in records
    )


def choice_format(turns: Sequence[PendingTurn]) -> dict[str, Any]:
    """Return the ``response_format`` that allows the number of one of ``turns``, or 0."""
    numbers = [turn.record.turn for turn in turns]
    schema = {
        "type": "object",
        "properties": {"turn": {"type": "integer", "enum": [0, *numbers]}},
        "required": ["turn"],
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "Choice", "strict": True, "schema": schema},
    }


def read_choice(content: str, turns: Sequence[PendingTurn]) -> ReflectionAnswer:
    """Return the chosen turn as a memory in the game's words; nothing for 0.

    Raises:
        ValueError: No turn was named, or one that was not to be chosen.
    """
    found = extract_json(content)
    if found is None or "turn" not in found:
        raise ValueError("no JSON object with a turn")
    chosen = [turn for turn in turns if turn.record.turn == found["turn"]]
    if not chosen and found["turn"] != 0:
        raise ValueError(f"{found['turn']!r} is not one of the turns to choose from")
    answer = ReflectionAnswer()
    for turn in chosen:
        record = turn.record
        category, verdict = _GRAVEST_LAST[_GRAVITY[_gravity(turn)]]
        memory = MemoryProposal(
            turn=record.turn,
            category=category,
            title=f"{one_line(record.command, _COMMAND_CHARACTERS)}: {verdict}",
            text=f'"{record.command}" brought: {one_line(record.response, _TEXT_CHARACTERS)}',
            # What was picked up lay there as the game began, mostly; the rest is how things work.
            persistence="core" if turn.gained and not record.scored else "permanent",
        )
        answer.memories.append(memory)
    return answer


def _gravity(turn: PendingTurn) -> int:
    return max((_GRAVITY.index(each) for each in turn.triggers if each in _GRAVITY), default=-1)
