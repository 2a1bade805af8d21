"""A turn as the page gets it: what was logged, without the engine's snapshot."""

import json
from collections.abc import Sequence

from mcp_ghost.results import JSONObject, jsonable
from session.game_state import Observation, TurnRecord
from viewer.timeline import Step

TURNS_PER_CHUNK = 50
SHOWN_CHARACTERS = 4000
"""Of a tool's result; the whole is a file of its own."""


def encoded(value: object) -> bytes:
    """Encode ``value`` as JSON that every browser reads, whatever is in it."""
    return json.dumps(jsonable(value), ensure_ascii=False, separators=(",", ":")).encode()


def turn_json(record: TurnRecord, time: str, steps: Sequence[Step] = ()) -> JSONObject:
    """Return a turn, with long results of tools cut; ``steps`` are what its time went into."""
    tools = [
        {
            **tool.model_dump(mode="json"),
            "result": tool.result[:SHOWN_CHARACTERS],
            "cut": len(tool.result) > SHOWN_CHARACTERS,
            "length": len(tool.result),
        }
        for tool in record.tools
    ]
    fields = record.model_dump(mode="json", exclude={"snapshot", "tools", "ended", "after"})
    after = observation_json(record.after)
    return {"time": time, **fields, "after": after, "tools": tools, "steps": steps}


def observation_json(observation: Observation) -> JSONObject:
    """Return the game's facts at one instant."""
    carried = observation.inventory
    return {
        **observation.model_dump(mode="json", exclude={"world_hash", "inventory", "visible"}),
        "inventory": None if carried is None else [str(it) for it in carried],
        "visible": [str(it) for it in observation.visible],
    }
