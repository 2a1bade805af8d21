"""Turn records made up for tests."""

from __future__ import annotations

from mcp_ghost.messages import Usage
from session.game_state import Observation, Place, TurnRecord


def observation(room: int, **changes: object) -> Observation:
    """What is seen in a room."""
    values: dict[str, object] = {
        "room": Place(id=room, name=f"Room {room}"),
        "score": 0,
        "moves": 0,
        "world_hash": str(room),
    }
    return Observation.model_validate({**values, **changes})


def record(
    turn: int,
    command: str,
    start: int,
    end: int,
    after: Observation | None = None,
    **changes: object,
) -> TurnRecord:
    """A turn that leads from room ``start`` to room ``end``."""
    values: dict[str, object] = {
        "turn": turn,
        "place": Place(id=start, name=f"Room {start}"),
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
