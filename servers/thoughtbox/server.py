"""The tool ``think``, and the server that has it."""

from __future__ import annotations

import json

from thoughtbox.chain import SCHEMA, Chain, InvalidThought
from tool_server import RefusedCall, ToolServer

TYPE_CHECKING = False  # see chain.py
if TYPE_CHECKING:
    from typing import Any

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


def serve() -> None:
    """Answer requests until stdin closes."""
    chain = Chain()

    def think(_tool: str, arguments: dict[str, Any], _meta: dict[str, Any]) -> str:
        try:
            return json.dumps(chain.add(arguments), ensure_ascii=False)
        except InvalidThought as error:
            raise RefusedCall(f"Thought not recorded: {error}.") from error

    ToolServer("thoughtbox", [THINK], think).serve()
