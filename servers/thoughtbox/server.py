"""The tool ``think``, its server, and the chain of thoughts of one session behind it."""

from __future__ import annotations

import json

from tool_server import RefusedCall, ToolServer, one_line, problems

TYPE_CHECKING = False  # typing would double the time that this package takes to import
if TYPE_CHECKING:
    from typing import Any

_OUTLINE_STEPS = 8
_LONGEST_THOUGHT = 20_000
_LONGEST_NUMBER = 9  # Python refuses to read numbers of thousands of digits

_FIELDS = {
    "thought": ("string", "This step: what you conclude or question."),
    "thoughtNumber": ("integer", "Number of this step, from 1."),
    "totalThoughts": ("integer", "How many steps you expect now; change it freely."),
    "nextThoughtNeeded": (
        "boolean",
        "true while another step should follow, false with the conclusion.",
    ),
    "isRevision": ("boolean", "This step corrects an earlier one."),
    "revisesThought": ("integer", "Number of the step that this one corrects."),
    "branchFromThought": ("integer", "Number of the step that this alternative starts from."),
    "branchId": ("string", "Short name of that alternative."),
    "needsMoreThoughts": ("boolean", "You reached the last step but see that more are needed."),
}
_KINDS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "integer": {"type": "integer", "minimum": 1},
    "boolean": {"type": "boolean"},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        name: {**_KINDS[kind], "description": meaning} for name, (kind, meaning) in _FIELDS.items()
    },
    "required": ["thought", "thoughtNumber", "totalThoughts", "nextThoughtNeeded"],
    "additionalProperties": False,
}

THINK: dict[str, Any] = {
    "name": "think",
    "title": "Think in steps",
    "description": (
        "Work through a hard decision one numbered step at a time. Send one thought per call; "
        "the answer shows the chain so far. Correct an earlier step with isRevision and "
        "revisesThought, follow an alternative with branchFromThought and branchId, and set "
        "nextThoughtNeeded to false when you have reached a conclusion. The tool only keeps your "
        "notes: it knows nothing about the world."
    ),
    "inputSchema": SCHEMA,
    # Not read-only: each step adds to the chain, so steps belong one after the other.
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}


class Chain:
    """The steps so far, in the order they came."""

    def __init__(self) -> None:
        self._steps: list[dict[str, Any]] = []

    def add(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Append a step and return the view of the chain.

        Raises:
            RefusedCall: The chain is unchanged.
        """
        step = {name: _coerced(name, value) for name, value in arguments.items()}
        if found := problems(SCHEMA, step, _unmet) or self._reference_problems(step):
            raise RefusedCall(f"Thought not recorded: {'; '.join(found)}.")
        step["totalThoughts"] = max(step["totalThoughts"], step["thoughtNumber"])
        self._steps.append(step)
        view = {
            "thoughtNumber": step["thoughtNumber"],
            "totalThoughts": step["totalThoughts"],
            "nextThoughtNeeded": step["nextThoughtNeeded"] or step.get("needsMoreThoughts", False),
            "thoughtHistoryLength": len(self._steps),
            "branches": sorted({s["branchId"] for s in self._steps if s.get("branchId")}),
            "outline": [_line(s) for s in self._steps[-_OUTLINE_STEPS:]],
        }
        if len(self._steps) > _OUTLINE_STEPS:
            view["earlierThoughts"] = len(self._steps) - _OUTLINE_STEPS
        return view

    def _reference_problems(self, step: dict[str, Any]) -> list[str]:
        known = {earlier["thoughtNumber"] for earlier in self._steps}
        found = [
            f"{name} is {step[name]}, but there is no such thought yet"
            for name in ("revisesThought", "branchFromThought")
            if name in step and step[name] not in known
        ]
        if step.get("isRevision") and "revisesThought" not in step:
            found.append("isRevision needs revisesThought, the number of the corrected thought")
        if "branchFromThought" in step and not step.get("branchId"):
            found.append("branchFromThought needs branchId, a short name for the alternative")
        return found


def _coerced(name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Numbers and truth values that a model wrote as text."""
    expected, _ = _FIELDS.get(name, ("", ""))
    if expected == "boolean" and value in ("true", "false"):
        return value == "true"
    if expected == "integer" and isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _LONGEST_NUMBER
        return int(value) if is_number else value
    if expected == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _unmet(name: str, value: object) -> str:
    expected, _ = _FIELDS[name]
    if expected == "boolean":
        return "" if isinstance(value, bool) else "true or false"
    if expected == "integer":
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        return "" if fits else "a whole number from 1"
    fits = isinstance(value, str) and 0 < len(value.strip()) <= _LONGEST_THOUGHT
    return "" if fits else f"a text of 1 to {_LONGEST_THOUGHT} characters"


def _line(step: dict[str, Any]) -> str:
    """One line for the outline: "3 (revises 1): The key is ..."."""
    note = f" (revises {step['revisesThought']})" if "revisesThought" in step else ""
    note += f" [{step['branchId']}]" if step.get("branchId") else ""
    return f"{step['thoughtNumber']}{note}: {one_line(step['thought'])}"


def serve() -> None:
    """Answer requests until stdin closes."""
    chain = Chain()

    def think(_tool: str, arguments: dict[str, Any], _meta: dict[str, Any]) -> str:
        return json.dumps(chain.add(arguments), ensure_ascii=False)

    ToolServer("thoughtbox", [THINK], think).serve()
