"""Turn records made up for tests."""

from __future__ import annotations

from mcp_ghost.messages import Usage
from session.game_state import Observation, Place, TurnRecord


def observation(room: int | None, **changes: object) -> Observation:
    """What is seen in a room; None is one that is not known."""
    values: dict[str, object] = {
        "room": _place(room),
        "score": 0,
        "moves": 0,
        "world_hash": str(room),
    }
    return Observation.model_validate({**values, **changes})


def record(
    turn: int,
    command: str,
    start: int | None,
    end: int | None,
    after: Observation | None = None,
    **changes: object,
) -> TurnRecord:
    """A turn that leads from room ``start`` to room ``end``."""
    values: dict[str, object] = {
        "turn": turn,
        "place": _place(start),
        "command": command,
        "proposed": command,
        "thinking": f"thought {turn}",
        "response": f"answer {turn}",
        "after": after or observation(end),
        "usage": Usage(calls=1, prompt_tokens=10),
        "seconds": 0.1,
        "snapshot": "",
    }
    return TurnRecord.model_validate({**values, **changes})


def _place(room: int | None) -> Place | None:
    return None if room is None else Place(id=room, name=f"Room {room}")
