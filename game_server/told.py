"""What a guest is told, as values: no more than the level of observation tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from session.game_state import GameState, Observation
    from session.levels import ObservationLevel


def facts_told(level: ObservationLevel, state: GameState) -> dict[str, Any]:
    """The facts of ``state``, which was told up to ``level``; None stands for what is not known."""
    seen = state.observation
    if seen is None or not level.tells_status:
        return {}
    latest = state.history[-1] if state.history else None
    return {
        "score": seen.score,
        "scored": latest.scored if latest else None,
        "moves": seen.moves,
        "room": seen.room.label if seen.room else None,
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
