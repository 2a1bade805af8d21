"""Goldens that travel: replays with what the servers listed and answered when it was recorded."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.errors import GoldenError
from mcp_ghost.golden import (
    assert_matches_golden,
    compare_golden,
    load_golden,
    record_golden,
    replay_golden,
)
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Bank, Notes
from tests.support.golden_cases import GOLDENS
from tests.support.servers import faulty
from tests.support.wires import spoken

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp


def recorded(
    golden: Path,
    script: list[Reply | str],
    servers: dict[str, ServerConfig],
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401
) -> dict[str, Any]:
    with ModelServer(script, wire=provider, namespace="mcp_ghost") as model:
        given: dict[str, Any] = {"system_prompt": "", "user_prompt": "Go.", "api_key": KEY}
        given |= {**spoken(provider), "base_url": model.base_url, **options}
        return asyncio.run(record_golden(golden, server_config={"mcpServers": servers}, **given))


def again(golden: Path, **options: Any) -> Any:  # noqa: ANN401
    return asyncio.run(replay_golden(golden, servers="recorded", **options))


@pytest.mark.parametrize("provider", PROVIDERS)
def test_no_server_is_started_and_the_run_is_the_same(tmp_path: Path, provider: WireName) -> None:
    notes = Notes(tmp_path)
    script: list[Reply | str] = [
        tool_reply([("notes.write", {"name": "a", "text": "milk"}), ("notes.count", {})]),
        tool_reply([("notes.read", {"name": "no such note"}), ("notes.read", {"name": "a"})]),
        "Milk.",
    ]
    golden = tmp_path / "g.json"
    first = recorded(golden, script, {"notes": notes.config}, provider)
    shutil.rmtree(notes.folder)
    result = again(golden)
    assert compare_golden(result, golden) == []
    assert result["conversation_history"] == first["conversation_history"]
    assert [it["success"] for it in result["tool_chain"]] == [True, True, False, True]
    assert len(notes.pids) == 1
    assert KEY not in golden.read_text()


def test_deaths_restarts_timeouts_and_servers_that_never_came_up_are_given_again(
    tmp_path: Path,
) -> None:
    script: list[Reply | str] = [
        tool_reply([("bank.put", {"name": "a", "deaths": 1})]),
        tool_reply([("bank.transfer", {"name": "b", "deaths": 1})]),
        tool_reply([("bank.transfer", {"name": "c", "seconds": 30})]),
        tool_reply([("bank.balance", {"name": "d"}), ("bank.nothing", {})]),
        "Done.",
    ]
    golden = tmp_path / "g.json"
    servers = {"bank": Bank(tmp_path).config, "gone": faulty("exit1")}
    first = recorded(golden, script, servers, timeout=2)
    failures = [str(it["error"]) for it in first["tool_chain"] if not it["success"]]
    assert len(failures) == len(first["tool_chain"]) - 2 == 5
    assert "within 2 s" in failures[3]
    assert "Unknown tool" in failures[4]
    shutil.rmtree(tmp_path / "bank")
    result = again(golden)
    assert compare_golden(result, golden) == []
    assert [it["error"] for it in result["errors"]] == [it["error"] for it in first["errors"]]
    assert not (tmp_path / "bank").exists()


def test_another_way_through_the_run_is_named(tmp_path: Path) -> None:
    golden = tmp_path / "g.json"
    call = tool_reply([("notes.write", {"name": "a", "text": "milk"})])
    recorded(golden, [call, "Done."], {"notes": Notes(tmp_path).config})
    content = json.loads(golden.read_text())
    content["servers"]["notes"]["calls"][0]["content"] = "wrote something else"
    golden.write_text(json.dumps(content))
    with pytest.raises(AssertionError, match=r"(?s)golden g:\n- request 2: message 4, .*write"):
        assert_matches_golden(again(golden), golden)
    content["servers"]["notes"]["calls"] = []
    golden.write_text(json.dumps(content))
    assert "has no further result of 'notes.write'" in str(again(golden)["errors"])


def test_goldens_of_earlier_versions_say_what_to_do(tmp_path: Path) -> None:
    known = json.loads((GOLDENS / "openai" / "database_report.json").read_text())
    del known["servers"]
    golden = tmp_path / "earlier.json"
    golden.write_text(json.dumps(known))
    with pytest.raises(GoldenError, match='replay it with servers="live"'):
        again(golden)


def test_where_servers_come_from_is_one_of_two(tmp_path: Path) -> None:
    golden = tmp_path / "g.json"
    recorded(golden, ["Hello."], {})
    with pytest.raises(ValueError, match='must be "live" or "recorded"'):
        asyncio.run(replay_golden(golden, servers="dead"))  # type: ignore[arg-type]
    assert load_golden(golden)["servers"] == {}


@pytest.mark.parametrize(
    ("verdict", "line"),
    [(True, None), (False, "final_result: recorded"), ("another colour", "(another colour)")],
)
def test_what_the_same_answer_is_can_be_said(
    tmp_path: Path, verdict: bool | str, line: str | None
) -> None:
    golden = tmp_path / "g.json"
    result = recorded(golden, ["Three lamps."], {})
    asked: list[object] = []

    def same_answer(*answers: object) -> bool | str:
        asked.extend(answers)
        return verdict

    now = {**result, "final_result": "There are 3 of them."}
    differences = compare_golden(now, golden, same_answer=same_answer)
    assert asked == ["Three lamps.", "There are 3 of them."]
    assert (differences == []) if line is None else (line in differences[0])
