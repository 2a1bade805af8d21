"""Looking back with a very small model: it points at a turn, and the game's own words are kept.

Measured with the embedded model: asked to write a memory, it makes up outcomes; asked to pick one
of all turns, it takes the last. So it picks among turns that the facts show to matter.
"""

from collections.abc import Sequence
from typing import Any

from managers.reflection.answer import MemoryProposal, ReflectionAnswer
from managers.reflection.prompt import PendingTurn
from mcp_ghost.text import one_line
from session.knowledge import MemoryCategory
from shared_utils import extract_json

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


def worth_choosing(turns: Sequence[PendingTurn]) -> list[PendingTurn]:
    """The gravest and latest turns, those last: what stands last is taken most often."""
    grave = [turn for turn in turns if _gravity(turn) >= 0]
    return sorted(grave, key=_gravity)[-_MOST_TURNS:]


def choice_message(turns: Sequence[PendingTurn]) -> str:
    """``turns`` in a line each."""
    return "\n".join(
        f"Turn {turn.record.turn}{_where(turn)}: {turn.record.command}. "
        f'"{one_line(turn.record.response, _SHOWN_CHARACTERS)}"'
        for turn in turns
    )


def _where(turn: PendingTurn) -> str:
    return f", {turn.record.place.name}" if turn.record.place else ""


def choice_format(turns: Sequence[PendingTurn]) -> dict[str, Any]:
    """The ``response_format`` that allows the number of one of ``turns``, or 0."""
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
    """The chosen turn as a memory in the game's words; nothing for 0.

    Raises:
        ValueError: No turn was named, or one that was not to be chosen.
    """
    found = extract_json(content)
    if found is None or "turn" not in found:
        raise ValueError("no JSON object with a turn")
    chosen = [turn for turn in turns if turn.record.turn == found["turn"]]
    if not chosen and found["turn"] != 0:
        raise ValueError(f"{found['turn']!r} is not one of the turns to choose from")
    return ReflectionAnswer(memories=[_remembered(turn) for turn in chosen])


def _remembered(turn: PendingTurn) -> MemoryProposal:
    record = turn.record
    category, verdict = _GRAVEST_LAST[_GRAVITY[_gravity(turn)]]
    answer = one_line(record.response, _TEXT_CHARACTERS)
    return MemoryProposal(
        turn=record.turn,
        category=category,
        title=f"{one_line(record.command, _COMMAND_CHARACTERS)}: {verdict}",
        text=f'"{record.command}" brought: {answer}',
        # What was picked up lay there as the game began, mostly; the rest is how things work.
        persistence="core" if turn.gained and not record.scored else "permanent",
    )


def _gravity(turn: PendingTurn) -> int:
    return max((_GRAVITY.index(each) for each in turn.triggers if each in _GRAVITY), default=-1)
