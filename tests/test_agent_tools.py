"""What tools say of themselves and what they return, in a turn: side by side, in pictures, anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import Reply, error_reply, tool_reply
from tests.support.episodes import answer
from tests.support.ghosts import Bank
from tests.support.journal import Journal
from tests.support.playing import Player, events
from tests.support.servers import faulty, listing, seen, versions, write_config

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.testing.refusals import ServerDialect

pytestmark = pytest.mark.mcp
SHOW: tuple[str, dict[str, Any]] = ("bank.show", {})
LOOK = answer("look")


def player(
    folder: Path,
    script: list[Reply],
    servers: dict[str, ServerConfig],
    **settings: Any,  # noqa: ANN401  whatever the configuration has
) -> Player:
    path = write_config(folder / "servers.json", **servers)
    names = tuple(servers)
    given = {"mcp_config_file": str(path), "mcp_servers": names, **settings}
    return Player(script, Journal(folder), **given)


# --- side by side


@pytest.mark.parametrize("most", [None, 1, 2, 8])
def test_calls_that_only_read_run_side_by_side_only_up_to_a_limit_that_is_set(
    most: int | None, tmp_path: Path, bank: Bank
) -> None:
    limit = {} if most is None else {"mcp_max_parallel_calls": most}
    script = [tool_reply([("bank.crowd", {})] * 5), LOOK]
    with player(tmp_path, script, {"bank": bank.config}, **limit) as playing:
        playing.play()
    assert max(bank.book) == f"{min(most or 1, 5)} here"


@pytest.mark.parametrize("most", [None, 8])
def test_a_call_that_times_out_skips_the_rest_even_of_calls_that_only_read(
    most: int | None, tmp_path: Path, bank: Bank
) -> None:
    calls = [("bank.balance", {"name": name, "seconds": 60 * (name == "a")}) for name in "abc"]
    limit = {} if most is None else {"mcp_max_parallel_calls": most}
    settings = {"mcp_tool_call_timeout_seconds": 1.5, **limit}
    with player(tmp_path, [tool_reply(calls), LOOK], {"bank": bank.config}, **settings) as playing:
        playing.play()
    first, *rest = playing.answers()
    assert "timed out" in first["error"]
    if most is None:
        assert bank.book == ["a"]
        assert ["Skipped" in answer["error"] for answer in rest] == [True, True]
    else:  # under way already
        assert [answer["content"] for answer in rest] == ["done: b", "done: c"]


def test_calls_that_may_write_wait_for_those_before_and_hold_up_those_after(
    tmp_path: Path, bank: Bank
) -> None:
    names = [("balance", "a"), ("insert", "b"), ("transfer", "c"), ("balance", "d")]
    calls = [(f"bank.{tool}", {"name": name, "seconds": 0.05}) for tool, name in names]
    servers = {"bank": bank.config}
    with player(tmp_path, [tool_reply(calls), LOOK], servers, mcp_max_parallel_calls=8) as playing:
        playing.play()
    assert bank.book == [line for _, name in names for line in (name, f"end of {name}")]


def test_answers_and_record_keep_the_order_of_the_calls_whoever_ends_first(
    tmp_path: Path, bank: Bank
) -> None:
    calls = [("bank.balance", {"name": str(n), "seconds": (3 - n) / 5}) for n in range(4)]
    broken = ("bank.balance", "{not json")
    script, together = [tool_reply([*calls, broken]), LOOK], {"mcp_max_parallel_calls": 8}
    with player(tmp_path, script, {"bank": bank.config}, **together) as playing:
        playing.play()
        decision = playing.agent.last_decision
    assert [it.get("content") for it in playing.answers()][:4] == [f"done: {n}" for n in range(4)]
    assert decision is not None
    assert [use.result for use in decision.tools][:4] == [f"done: {n}" for n in range(4)]
    assert [use.is_error for use in decision.tools] == [False] * 4 + [True]


def test_a_server_that_dies_of_one_of_several_calls_is_started_again_once(
    tmp_path: Path, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    calls = [
        ("bank.balance", {"name": "a", "deaths": 1, "once": ["b", "c"]}),
        ("bank.balance", {"name": "b", "seconds": 30}),
        ("bank.balance", {"name": "c", "seconds": 30}),
    ]
    again = ("bank.balance", {"name": "again"})
    script = [tool_reply(calls), tool_reply([again]), LOOK]
    settings = {"mcp_session": "episode", "mcp_max_parallel_calls": 8}
    with player(tmp_path, script, {"bank": bank.config}, **settings) as playing:
        playing.play()
    first = playing.answers(1)
    assert len(first) == 3
    assert all("was started again" in it["error"] for it in first)
    assert all("was not repeated" in it["error"] for it in first)
    assert playing.answers(2)[-1] == {"content": "done: again"}
    assert len(events(caplog, "mcp_server_restarted")) == 1
    assert not events(caplog, "mcp_disabled")


@pytest.mark.parametrize("extends", [None, True])
def test_progress_extends_the_time_of_a_call_only_where_the_settings_say_so(
    extends: bool | None,
    tmp_path: Path,
) -> None:
    given = {} if extends is None else {"mcp_progress_extends_timeout": extends}
    script = [tool_reply([("s.count", {"to": 6, "pause": 0.5})]), LOOK]
    server = {"s": versions("2025-11-25")}
    with player(tmp_path, script, server, mcp_tool_call_timeout_seconds=2, **given) as playing:
        playing.play()
    (answered,) = playing.answers()
    assert ("error" in answered) is (extends is None)


# --- images


def shown(playing: Player, request: int) -> list[str]:
    """The kinds of images in a request."""
    urls = [
        part["image_url"]["url"]
        for message in playing.model.requests[request].messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    return [url.partition(";")[0] for url in urls]


@pytest.mark.parametrize("told", [True, False])
def test_the_agent_is_told_what_servers_say_of_their_use(told: bool, tmp_path: Path) -> None:
    server = faulty(INSTRUCTIONS='"Think before you act."')
    script = [LOOK, LOOK]
    with player(tmp_path, script, {"s": server}, mcp_server_instructions=told) as playing:
        playing.play()
        playing.play()
    heads = [request.messages[0] for request in playing.model.requests]
    assert heads[0] == heads[1]
    assert ("Think before you act." in str(heads[0])) is told


@pytest.mark.parametrize("images", ["auto", "never"])
def test_the_model_sees_the_images_of_tools_unless_it_is_not_to(
    images: str, tmp_path: Path, bank: Bank
) -> None:
    script = [tool_reply([SHOW, ("bank.balance", {})]), LOOK]
    with player(tmp_path, script, {"bank": bank.config}, mcp_images=images) as playing:
        assert playing.play()["action"] == "look"
        decision = playing.agent.last_decision
    assert shown(playing, 1) == (["data:image/png"] if images == "auto" else [])
    told = json.dumps(playing.answers(1)[0])
    assert "Look at this:" in told
    assert ('"attached"' in told) is (images == "auto")
    assert ("images are switched off" in told) is (images == "never")
    assert decision is not None
    assert "image/png" in decision.tools[0].result
    assert len(decision.tools[0].result) < 500  # in words


def test_a_model_that_refuses_images_is_asked_without_them(tmp_path: Path, bank: Bank) -> None:
    refusal = error_reply(404, "No endpoints found that support image input")
    script = [tool_reply([SHOW]), refusal, LOOK]
    with player(tmp_path, script, {"bank": bank.config}) as playing:
        assert playing.play()["action"] == "look"
    assert [len(shown(playing, request)) for request in (1, 2)] == [1, 0]


def test_images_use_up_what_tools_may_add_to_a_turn(tmp_path: Path, bank: Bank) -> None:
    script = [tool_reply([SHOW] * 3), LOOK]
    limit = {"mcp_max_result_tokens_per_turn": 6500}
    with player(tmp_path, script, {"bank": bank.config}, **limit) as playing:
        playing.play()
    assert len(shown(playing, 1)) == 2
    assert "this turn's results have become too long" in json.dumps(playing.answers(1)[2])


# --- tools that change


def test_the_next_request_of_the_turn_offers_the_tools_that_a_call_has_brought(
    tmp_path: Path,
) -> None:
    script = [tool_reply([("s.grow", {})]), tool_reply([("s.new", {"to": "attic"})]), LOOK]
    with player(tmp_path, script, {"s": versions("2025-11-25")}) as playing:
        playing.play()
    offered = [any("new" in name for name in it.tool_names) for it in playing.model.requests]
    assert offered == [False, True, True]


def test_a_list_that_no_longer_holds_is_asked_for_whoever_was_called(
    tmp_path: Path, bank: Bank
) -> None:
    log = tmp_path / "seen.jsonl"
    brief = versions("2026-07-28", TTL="1", SERVER_LOG=str(log))
    call = tool_reply([("bank.balance", {"seconds": 0.05})])
    with player(tmp_path, [call, LOOK], {"bank": bank.config, "s": brief}) as playing:
        playing.play()
    listed = [entry for entry in seen(log) if entry.get("method") == "tools/list"]
    assert len(listed) >= 2


# --- odd tools, and many

BROKEN: dict[str, object] = {
    "array_without_items": {"properties": {"ids": {"type": "array"}}},
    "odd_names": {"properties": {"$top": {"type": "integer"}, "uids[]": {}}, "required": ["$top"]},
    "null_for_lists": {"properties": {"a": {"required": None, "enum": None}}, "required": None},
    "draft_4": {"properties": {"a": {"minimum": 1, "exclusiveMinimum": True, "required": True}}},
    "lost_reference": {"properties": {"a": {"$ref": "#/$defs/none"}}},
    "unknown_type": {"properties": {"a": {"type": "any"}, "b": "string", "c": True}},
    "lookaround": {"properties": {"a": {"type": "string", "pattern": "^(?!x)\\p{L}"}}},
    "no_schema": "object",
}


@pytest.mark.parametrize("dialect", ["openai", "openrouter"])
def test_a_turn_is_played_with_tools_that_are_broken_in_every_way(
    dialect: ServerDialect, tmp_path: Path
) -> None:
    server = listing(tmp_path, "odd", [*BROKEN], BROKEN)
    script = [tool_reply([("odd.odd_names", {"$top": 5})]), LOOK]
    with player(tmp_path, script, {"odd": server}, dialect=dialect) as playing:
        assert playing.play()["action"] == "look"
    assert playing.model.refusals == []
    assert len(playing.model.requests[0].tool_names) == len(BROKEN)
    assert playing.answers()[0]["content"] == "odd_names"


def test_a_turn_is_played_without_the_tool_that_the_model_refuses(
    tmp_path: Path, bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    refused = error_reply(400, "Invalid schema for function 'odd_worst'.")
    servers = {"bank": bank.config, "odd": listing(tmp_path, "odd", ["worst"])}
    with player(tmp_path, [refused, tool_reply([SHOW]), LOOK], servers) as playing:
        assert playing.play()["action"] == "look"
    assert all("odd_worst" not in it.tool_names for it in playing.model.requests[1:])
    assert [it.tool for it in events(caplog, "llm_tool_refused")] == ["odd.worst"]


def test_more_tools_than_the_model_takes_are_searched(tmp_path: Path) -> None:
    server = listing(tmp_path, "many", [f"tool_{number}" for number in range(150)])
    script = [
        tool_reply([("find_tools", {"query": "tool 77"})]),
        tool_reply([("many.tool_77", {})]),
        LOOK,
    ]
    with player(tmp_path, script, {"many": server}, dialect="openai") as playing:
        assert playing.play()["action"] == "look"
    assert playing.model.refusals == []
    assert [it.tool_names[:1] for it in playing.model.requests] == [["find_tools"]] * 3
    assert "many_tool_77" in playing.model.requests[1].tool_names
    assert playing.answers()[-1]["content"] == "tool_77"
