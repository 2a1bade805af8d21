"""Where two JSON values first differ, as a line for people."""

from __future__ import annotations

import json
from collections.abc import Mapping

from mcp_ghost.golden.scrub import same
from mcp_ghost.results import parsed
from mcp_ghost.text import counted, one_line

_SHOWN = 200
_BEFORE = 40
"""Characters shown of what is still the same, in a long text."""


def difference(label: str, recorded: object, now: object) -> str:
    """Such as ``result.rows[2].name: recorded "a", now "b"``, for values that are not the same."""
    values = [parsed(it) if isinstance(it, str) else None for it in (recorded, now)]
    if {type(it) for it in values} in ({dict}, {list}):  # two texts that are JSON
        recorded, now = values
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        for key in {**recorded, **now}:
            if key not in now:
                return f"{label}.{key}: recorded {_short(recorded[key])}, now missing"
            if key not in recorded:
                return f"{label}.{key}: not there when recorded, now {_short(now[key])}"
            if not same(recorded[key], now[key]):
                return difference(f"{label}.{key}", recorded[key], now[key])
    if isinstance(recorded, list) and isinstance(now, list):
        for number, (before, after) in enumerate(zip(recorded, now, strict=False)):
            if not same(before, after):
                return difference(f"{label}[{number}]", before, after)
        if len(recorded) != len(now):
            was, is_now = (counted(len(it), "item") for it in (recorded, now))
            return f"{label}: recorded {was}, now {is_now}"
    start = _first(recorded, now) if isinstance(recorded, str) and isinstance(now, str) else 0
    return f"{label}: recorded {_short(recorded, start)}, now {_short(now, start)}"


def _first(recorded: str, now: str) -> int:
    """The first character of two texts that is worth showing."""
    pairs = enumerate(zip(recorded, now, strict=False))
    shared = min(len(recorded), len(now))
    at = next((number for number, (before, after) in pairs if before != after), shared)
    return at - _BEFORE if at > _SHOWN - _BEFORE else 0


def _short(value: object, start: int = 0) -> str:
    if start and isinstance(value, str):
        value = f"…{value[start:]}"
    return one_line(json.dumps(value, ensure_ascii=False, default=str), _SHOWN)
