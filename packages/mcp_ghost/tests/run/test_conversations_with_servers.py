"""What servers say besides results reaches a run: questions, progress, new tools."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_ghost.testing import Reply, tool_reply
from tests.support.ghosts import play, said_to, tools
from tests.support.servers import versions

pytestmark = pytest.mark.mcp

BOTH = ["2025-11-25", "2026-07-28"]


@pytest.mark.parametrize("known", BOTH)
def test_a_server_may_ask_the_user_where_somebody_answers(known: str) -> None:
    async def elicit(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        return {"colour": f"{server} green"}

    script: list[Reply | str] = [tool_reply([("s.ask", {})]), "Done."]
    result, model = play(script, {"s": versions(known)}, elicit=elicit)
    assert result["success"]
    assert "s green" in said_to(model, 1)
    declined, model = play(script, {"s": versions(known)})
    assert declined["success"]
    assert "s green" not in said_to(model, 1)


@pytest.mark.parametrize("known", BOTH)
def test_progress_becomes_events(known: str) -> None:
    events: list[dict[str, Any]] = []
    script: list[Reply | str] = [tool_reply([("s.count", {"to": 2})]), "Done."]
    play(script, {"s": versions(known)}, on_event=events.append)
    told = [event for event in events if event["type"] == "tool_progress"]
    count = {"type": "tool_progress", "tool_name": "s.count", "total": None}
    assert told == [{**count, "progress": it, "message": f"step {it}"} for it in (1, 2)]


@pytest.mark.parametrize("extends", [None, False, True])
def test_progress_extends_the_time_of_a_call_only_where_that_is_asked_for(
    extends: bool | None,
) -> None:
    script: list[Reply | str] = [tool_reply([("s.count", {"to": 6, "pause": 0.5})]), "Done."]
    given: dict[str, Any] = {} if extends is None else {"progress_extends_timeout": extends}
    result, _ = play(script, {"s": versions(BOTH[0])}, timeout=2, **given)
    assert [entry["success"] for entry in result["tool_chain"]] == [bool(extends)]


def test_the_next_request_offers_the_tools_that_a_call_has_brought() -> None:
    events: list[dict[str, Any]] = []
    script: list[Reply | str] = [
        tool_reply([("s.grow", {})]),
        tool_reply([("s.new", {"to": "attic"})]),
        "Done.",
    ]
    result, model = play(script, {"s": versions(BOTH[0])}, on_event=events.append)
    assert tools(result) == ["s.grow", "s.new"]
    assert all(entry["success"] for entry in result["tool_chain"])
    offered = [any("new" in name for name in request.tool_names) for request in model.requests]
    assert offered == [False, True, True]
    assert {"type": "tools_changed", "server": "s", "tools": 6} in events
