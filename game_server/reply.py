"""What a guest is told: the game's words, and as values no more than the level of observation."""

from typing import Any, NamedTuple

from game_interface.machine.facts import Waits
from session.game_state import EndReason, GameState, TurnRecord
from session.levels import ObservationLevel


class RefusedError(Exception):
    """Raised when the game was not given a command; the message says why."""


class GuestReply(NamedTuple):
    """An answer to a guest: text to read, and values."""

    text: str
    situation: str
    turn: int
    ended: str | None
    """Why the episode ended; None while it goes on."""
    waits_for: Waits | None
    """What the game waits for: a command, or a key; None where that is not known."""
    facts: dict[str, Any]


def reply_of(
    text: str,
    level: ObservationLevel,
    state: GameState,
    end_reason: EndReason | None,
    situation: str = "",
) -> GuestReply:
    """Put together a reply with ``text`` of ``state``, which was told up to ``level``."""
    seen = state.observation
    latest = state.history[-1] if state.history else None
    facts: dict[str, Any] = {}  # None stands for what is not known
    if level.tells_status:
        facts["score"] = seen.score
        facts["scored"] = latest.scored if latest else None
        facts["moves"] = seen.moves
        facts["room"] = seen.room.label if seen.room else None
        facts["status_line"] = seen.status_line or None
    if level.tells_facts:
        facts["max_score"] = seen.max_score
        facts["inventory"] = None if seen.inventory is None else [str(it) for it in seen.inventory]
        facts["visible"] = [str(it) for it in seen.visible]
        facts["dark"] = seen.dark
        facts["deaths"] = state.deaths
        facts["died"] = latest.died if latest else False
        facts["won"] = latest.won if latest else False
    if level.tells_exits:
        facts["exits"] = [way.direction for way in seen.exits]
    ended = str(end_reason) if end_reason else None
    return GuestReply(text, situation, state.turn_count, ended, seen.waits_for, facts)


def words_of(turn: TurnRecord) -> str:
    """Give the game's answer, and what else is to be said of the command."""
    return f"{turn.response}\n\n[{turn.advice}]" if turn.advice else turn.response
