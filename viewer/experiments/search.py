"""Words in the turns of an episode, found without reading more of its log than it takes.

What is looked through is what the page shows of a turn, as `texts` in `static/search.js` has it.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_ghost.files import open_regular
from mcp_ghost.results import JSONObject
from session.game_state import TurnRecord
from session.record.event_log import EVENTS_FILE
from session.record.schema import Entry, fields_of, parse
from viewer.turns import turn_json

MOST_TURNS = 20
MOST_SOUGHT_CHARACTERS = 200
_AROUND = 70
"""Characters that an excerpt has at most on each side of the words."""
_TURN = b'"event_type": "turn"'
_SIMPLE = re.compile("[a-z0-9]+")
"""What a log holds as it is, and not escaped."""


def turns_with(folder: Path, text: str) -> JSONObject:
    """Return the first turns of the episode with ``text`` in them, and whether there are more."""
    words = _plain(text[:MOST_SOUGHT_CHARACTERS])
    found: dict[int, JSONObject] = {}
    for entry in _candidates(folder / EVENTS_FILE, words) if words else ():
        record = entry.event
        if isinstance(record, TurnRecord) and (it := _excerpt(record, entry.time, words)):
            if len(found) == MOST_TURNS:
                return {"turns": list(found.values()), "more": True}
            found[record.turn] = {"turn": record.turn, "command": record.command, "excerpt": it}
    return {"turns": list(found.values()), "more": False}


def _candidates(log: Path, words: str) -> Iterator[Entry]:
    """Yield turns whose lines have the words, perhaps elsewhere; others are not parsed."""
    needed = [part.encode() for part in _SIMPLE.findall(words)]
    # The log may have been removed since.
    with suppress(OSError), os.fdopen(open_regular(log), "rb") as file:
        for raw in file:
            if _TURN not in raw or not raw.endswith(b"\n"):
                continue
            line = raw.lower()
            if all(part in line for part in needed):
                with suppress(ValueError):  # a damaged line is told elsewhere
                    yield parse(fields_of(raw))


def _excerpt(record: TurnRecord, time: str, words: str) -> str | None:
    """Return the words with what stands around them; None where they do not."""
    for text in _texts(turn_json(record, time)):
        at = _plain(text).find(words)
        if at >= 0:
            shown = " ".join(text.split())
            end = at + len(words)
            first = min(at, shown.find(" ", at - _AROUND) + 1 or at) if at > _AROUND else 0
            last = max(end, shown.rfind(" ", 0, end + _AROUND)) if shown[end + _AROUND :] else None
            return ("… " if first else "") + shown[first:last] + (" …" if last else "")
    return None


def _texts(turn: JSONObject) -> Iterator[str]:
    names = ("thinking", "command", "response", "advice", "failure", "new_objective", "nav_target")
    place = turn["place"] or {}
    yield from (it for it in (place.get("name"), *(turn.get(name) for name in names)) if it)
    for refused in turn["refused"]:
        yield from (it for name in ("command", "reason", "thinking") if (it := refused.get(name)))
    for tool in turn["tools"]:
        arguments = json.dumps(tool["arguments"], ensure_ascii=False, separators=(",", ":"))
        yield from (tool["name"], arguments, tool["result"])


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()
