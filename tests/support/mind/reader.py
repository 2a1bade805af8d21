"""A model that reads everything it is told, and acts on nothing else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_ghost.testing import content_reply
from tests.support.episodes import answer, system_text, user_text, wanted

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

_LEDGER = re.compile(r"^## What scored in earlier episodes\n(.*?)(?=^## |\Z)", re.M | re.S)
_LINE = re.compile(r"^- turn \d+, [^:\n]*: (.+)$", re.MULTILINE)
_PLAN = re.compile(r"^## Your plan, made in turn \d+\nNext: line (\d+), command (\d+)\.$", re.M)
_HERE = re.compile(r"^Here: (.*)$", re.MULTILINE)
_TURN = re.compile(r"^Turn (\d+) of at most", re.MULTILINE)
_DIRECTIONS = ("north", "east", "south", "west", "up", "down", "in", "out")


def perfect_reader(request: ModelRequest) -> Reply:
    """Follows the ledger of an earlier episode by its own plan; without one it looks around."""
    if wanted(request) == "ReflectionAnswer":
        return content_reply("{}")
    now = user_text(request, message=-1)
    ledger = _LEDGER.search(system_text(request))
    lines = [it.split("; ") for it in _LINE.findall(ledger[1])] if ledger else []
    plan = _PLAN.search(now)
    line, place = (int(plan[1]), int(plan[2])) if plan else (1, 1)
    if line > len(lines):
        return answer(_at_a_venture(now))
    command = lines[line - 1][place - 1]
    is_last = place == len(lines[line - 1])
    following = (line + 1, 1) if is_last else (line, place + 1)
    return answer(command, plan="Next: line {}, command {}.".format(*following))


def _at_a_venture(now: str) -> str:
    found = _TURN.search(now)
    if found is None:  # a refusal
        return "look"
    turn = int(found[1])
    here = _HERE.search(now)
    things = re.sub(r" \(in [^)]*\)", "", here[1]).split(", ") if here else []
    if turn % 3 and things and things != ["nothing of note"]:
        return f"{('take', 'open')[turn % 2]} {things[turn % len(things)]}"
    return _DIRECTIONS[turn * turn % len(_DIRECTIONS)]
