"""A turn as the page gets it: what was logged, without the engine's snapshot, and its steps."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from mcp_ghost.results import JSONObject, jsonable
from session.game_state import Observation, TurnRecord
from session.record.schema import Entry, LoggedEvent

TURNS_PER_CHUNK = 50
SHOWN_CHARACTERS = 4000
"""Of a tool's result; the whole is a file of its own."""


class Step(NamedTuple):
    """A stretch of a turn's time."""

    kind: str
    """``model``, ``tool``, ``server`` or ``game``."""
    name: str
    """The model's role, the tool, or its server."""
    start: float
    """Seconds since the turn, or its latest attempt, began."""
    seconds: float


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


class Timeline:
    """The steps of every turn; takes events in the order of the log.

    Lines are written when something has ended, so a step's beginning is that of a line before it,
    or follows from how long it took.
    """

    def __init__(self) -> None:
        self.steps: dict[int, tuple[Step, ...]] = {}
        """Those of each turn, by their beginning."""
        self._steps: list[Step] = []
        self._began: float | None = None
        self._decided = 0.0
        self._calls: dict[str, float] = {}

    def take(self, entry: Entry) -> None:
        """Learn from one line; a time or a number that is none is left out."""
        with suppress(ValueError, TypeError, KeyError):
            match entry.event:
                case LoggedEvent("turn_start"):
                    self._began = self._decided = _seconds(entry)
                    self._steps = []
                    self._calls = {}
                case LoggedEvent("model_call", fields):
                    self._add_ended("model", fields["role"], entry, fields["milliseconds"])
                case LoggedEvent("mcp_server_started", fields):
                    self._add_ended("server", fields["server_name"], entry, fields["duration_ms"])
                case LoggedEvent("mcp_tool_call", fields):
                    self._calls[fields["call_id"]] = _seconds(entry)
                case LoggedEvent("mcp_tool_result" | "mcp_tool_error" | "mcp_tool_timeout", fields):
                    start = self._calls.pop(fields["call_id"])
                    self._add("tool", fields["tool_name"], start, _seconds(entry))
                case LoggedEvent("agent_action"):
                    self._decided = _seconds(entry)
                case TurnRecord(turn=turn) if self._began is not None:
                    self._add("game", "", self._decided, _seconds(entry))
                    self.steps[turn] = tuple(sorted(self._steps, key=lambda it: it.start))
                    self._began = None  # what comes before the next turn belongs to neither

    def _add_ended(self, kind: str, name: object, entry: Entry, milliseconds: float) -> None:
        end = _seconds(entry)
        self._add(kind, name, end - milliseconds / 1000, end)

    def _add(self, kind: str, name: object, start: float, end: float) -> None:
        if self._began is not None:
            start = max(start, self._began)  # a server may have been started before the turn
            seconds = round(max(0.0, end - start), 4)
            self._steps.append(Step(kind, str(name), round(start - self._began, 4), seconds))


def _seconds(entry: Entry) -> float:
    return datetime.fromisoformat(entry.time).timestamp()
