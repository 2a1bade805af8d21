"""What a guest is told: the game's words, and as values no more than the level of observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from game_interface.machine.facts import Waits
    from session.game_state import EndReason, GameState, Observation, TurnRecord
    from session.levels import ObservationLevel


class RefusedError(Exception):
    """Raised when the game was not given a command; the message says why."""


class Told(NamedTuple):
    """What the guest gets to read, and the same as values."""

    text: str
    situation: str
    turn: int
    ended: str | None
    """Why the episode ended; None while it goes on."""
    waits_for: Waits | None
    """What the game waits for: a command, or a key; None where that is not known."""
    facts: dict[str, Any]


def told(
    text: str,
    level: ObservationLevel,
    state: GameState,
    end_reason: EndReason | None,
    situation: str = "",
) -> Told:
    """Put together what is told with ``text`` of ``state``, which was told up to ``level``."""
    return Told(
        text=text,
        situation=situation,
        turn=state.turn_count,
        ended=str(end_reason) if end_reason else None,
        waits_for=state.observation.waits_for if state.observation else None,
        facts=_facts(level, state),
    )


def words_of(turn: TurnRecord) -> str:
    """Give the game's answer, and what else is to be said of the command."""
    return f"{turn.response}\n\n[{turn.advice}]" if turn.advice else turn.response


def _facts(level: ObservationLevel, state: GameState) -> dict[str, Any]:
    """None stands for what is not known."""
    seen = state.observation
    if seen is None or not level.tells_status:
        return {}
    latest = state.history[-1] if state.history else None
    return {
        "score": seen.score,
        "scored": latest.scored if latest else None,
        "moves": seen.moves,
        "room": seen.room.label if seen.room else None,
        "status_line": seen.status_line or None,
        **(_things(state, seen) if level.tells_facts else {}),
        **({"exits": [way.direction for way in seen.exits]} if level.tells_exits else {}),
    }


def _things(state: GameState, seen: Observation) -> dict[str, Any]:
    latest = state.history[-1] if state.history else None
    return {
        "max_score": seen.max_score,
        "inventory": None if seen.inventory is None else list(seen.inventory),
        "visible": list(seen.visible),
        "dark": seen.dark,
        "deaths": state.deaths,
        "died": latest.died if latest else False,
        "won": latest.won if latest else False,
    }
