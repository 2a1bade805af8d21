"""The tool-calling loop as a user meets it: a real client, a strict model server, real servers."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from managers.mcp_manager import MCPError
from mcp_ghost.errors import LLMStatusError
from mcp_ghost.providers.transport import Transport
from mcp_ghost.testing import ModelRequest, Reply, content_reply, error_reply, tool_reply
from tests.support import ROOT
from tests.support.fakes import FakeManager, Turn
from tests.support.journal import NAME, Journal
from tests.support.playing import ECHO, Player, events
from tests.support.servers import is_running
from workshop.scripted_model import action_reply
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from mcp_ghost.testing.refusals import ServerDialect

pytestmark = pytest.mark.mcp


@pytest.fixture(autouse=True)
def every_level(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


@pytest.mark.parametrize("dialect", ["generic", "openai", "openrouter"])
def test_a_batch_runs_in_order_and_its_results_reach_the_model(
    dialect: ServerDialect, journal: Journal
) -> None:
    batch = tool_reply([ECHO, (f"{NAME}.echo", {"text": "world"})], text="Let me think.")
    with Player([batch, action_reply("open door")], journal, dialect=dialect) as player:
        assert player.play() == {
            "action": "open door",
            "reasoning": "As planned.",
            "new_objective": None,
        }
    assert journal.calls == [("echo", {"text": "hello"}), ("echo", {"text": "world"})]
    assert player.answers() == [{"content": "hello"}, {"content": "world"}]
    assert "Let me think." in str(player.model.requests[1].messages)
    assert player.model.refusals == []


@pytest.mark.parametrize("with_tools", [True, False])
def test_from_the_agent_to_the_socket_a_turn_passes_at_most_14_of_our_frames(
    with_tools: bool, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    post, roads = Transport.post, list[list[str]]()

    async def noting_post(*args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        codes = [frame.f_code for frame, _ in traceback.walk_stack(sys._getframe(1))]
        names = [
            code.co_name
            for code in codes
            if Path(code.co_filename).is_relative_to(ROOT)
            and not Path(code.co_filename).is_relative_to(sys.prefix)
        ]
        roads.append(["post", *names[: names.index("get_action_with_reasoning") + 1]])
        return await post(*args, **kwargs)

    monkeypatch.setattr(Transport, "post", noting_post)
    with Player([action_reply("look")], journal if with_tools else None) as player:
        player.play()
    (road,) = roads
    assert "run_loop" in road
    assert len(road) <= 14, road


def test_the_model_sees_prompt_game_and_memories_and_every_tool(journal: Journal) -> None:
    with Player([action_reply("look")], journal) as player:
        player.play()
    (request,) = player.model.requests
    system, user = request.messages
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"] == "You are in a hall.\n\nYou have been here."
    assert f"{NAME}_echo" in request.tool_names
    assert "response_format" not in request.body
    assert request.body["tool_choice"] == "auto"


@pytest.mark.parametrize("dialect", ["generic", "openai", "openrouter"])
def test_a_timeout_ends_its_batch_with_every_id_answered_and_the_model_goes_on(
    dialect: ServerDialect, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    script = [
        tool_reply([ECHO, (f"{NAME}.hang", {}), ECHO, ECHO]),
        tool_reply([ECHO]),
        action_reply("look"),
    ]
    with Player(script, journal, dialect=dialect, mcp_tool_call_timeout_seconds=0.3) as player:
        player.play()
    first, timed_out, *skipped = player.answers(1)
    assert first == {"content": "hello"}
    assert "timed out" in timed_out["error"]
    assert len(skipped) == 2
    assert all("kipped" in each["error"] for each in skipped)
    assert [name for name, _ in journal.calls] == ["echo", "hang", "echo"]
    assert player.model.refusals == []
    assert len(events(caplog, "mcp_tool_timeout")) == 1
    assert "notifications/cancelled" in journal.methods  # the call was given up


@pytest.mark.parametrize("dialect", ["generic", "openai", "openrouter"])
def test_a_dead_server_ends_the_loop_with_a_forced_answer(
    dialect: ServerDialect, journal: Journal
) -> None:
    script = [tool_reply([ECHO, (f"{NAME}.die", {}), ECHO]), action_reply("go north")]
    with Player(script, journal, dialect=dialect, llm_wire="chat") as player:
        assert player.play()["action"] == "go north"
    _, died, skipped = player.answers()
    assert "exited with status 7" in died["error"]
    assert died["error"].endswith("taken effect nonetheless; find out before you repeat it")
    assert "kipped" in skipped["error"]
    forced = player.model.requests[-1]
    # Some servers want the tools that the history mentions, as they were.
    offered = player.model.requests[0].body["tools"]
    assert forced.body.get("tools", []) == (offered if dialect == "openrouter" else [])
    assert forced.body.get("tool_choice") == ("none" if dialect == "openrouter" else None)
    assert forced.body["response_format"]["type"] == "json_schema"
    assert forced.last["role"] == "user"
    assert player.model.refusals == []


def test_after_a_death_the_next_turn_has_tools_again(journal: Journal) -> None:
    die = tool_reply([(f"{NAME}.die", {})])
    script = [die, action_reply("look"), tool_reply([ECHO]), action_reply("wait")]
    with Player(script, journal) as player:
        assert [player.play()["action"] for _ in (1, 2)] == ["look", "wait"]
    assert player.answers() == [{"content": "hello"}]
    assert len(journal.starts) == 2


@pytest.mark.parametrize(("tokens", "first"), [(1000, 2990), (None, 32_000)])
def test_what_tools_add_to_a_turn_is_limited(
    tokens: int | None, first: int, journal: Journal
) -> None:
    huge = tool_reply([(f"{NAME}.huge", {"size": 2_000_000})])
    replies = [tool_reply([ECHO]), huge, huge, action_reply("north"), huge, action_reply("south")]
    with Player(replies, journal, mcp_max_result_tokens_per_turn=tokens) as player:
        assert player.play()["action"] == "north"
        hello, one, other = (str(it["content"]) for it in player.answers(3))
        assert hello == "hello"
        assert one.count("x") == pytest.approx(first, abs=20)
        assert (other.count("x") > 10) is (tokens is None)
        assert "of 2000000 characters left out]" in one
        assert ("limited to about 1,000 tokens" in other) is (tokens is not None)
        player.play()
        assert str(player.answers(5)[0]["content"]).count("x") == pytest.approx(first, abs=20)


def test_an_unknown_tool_is_told_with_the_names_that_exist(journal: Journal) -> None:
    script = [tool_reply([("crystal_ball.gaze", {}), ECHO]), action_reply("look")]
    with Player(script, journal) as player:
        player.play()
    unknown, echoed = player.answers()
    assert "crystal_ball" in unknown["error"]
    assert f"{NAME}.echo" in unknown["error"]
    assert echoed == {"content": "hello"}
    assert len(journal.calls) == 1


@pytest.mark.parametrize(
    "text", ["{not json", '["a", "list"]', "17", '{"text": "hel', "[" * 100_000]
)
def test_arguments_that_are_not_a_json_object_are_answered_and_not_executed(
    text: str, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    script = [tool_reply([(ECHO[0], text), ECHO]), action_reply("look")]
    with Player(script, journal) as player:
        player.play()
    refused, echoed = player.answers()
    assert refused["error"].startswith("Tool call failed: ")
    assert echoed == {"content": "hello"}
    assert len(journal.calls) == len(events(caplog, "mcp_tool_call")) == 1
    assert player.model.refusals == []


def test_calls_in_a_reply_that_was_cut_off_are_answered_and_not_executed(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    script = [tool_reply([ECHO, ECHO], finish_reason="length"), action_reply("look")]
    with Player(script, journal) as player:
        assert player.play()["action"] == "look"
    said = [answer["error"] for answer in player.answers()]
    assert len(said) == 2
    assert all("not executed: the reply was cut off" in each for each in said)
    assert journal.calls == events(caplog, "mcp_tool_call") == []
    assert len(events(caplog, "mcp_tool_error")) == 2
    assert player.model.refusals == []


def test_arguments_nested_deeper_than_a_log_can_hold_are_recorded_as_far_as_it_can(
    journal: Journal,
) -> None:
    deep = '{"text": ' * 400 + '"hello"' + "}" * 400
    with Player([tool_reply([(ECHO[0], deep)]), action_reply("look")], journal) as player:
        player.play()
    assert player.agent.last_decision is not None
    used = player.agent.last_decision.tools[0].model_dump_json()
    assert used.count('"text":') == 50
    assert "[nested too deeply]" in used


@pytest.mark.parametrize("dialect", ["generic", "openai", "openrouter"])
def test_at_the_limit_the_answer_is_forced_without_tools_and_with_the_schema(
    dialect: ServerDialect, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    def never_satisfied(request: ModelRequest) -> Reply:
        return tool_reply([ECHO]) if request.tool_names else action_reply("go north")

    options = {"mcp_max_tool_iterations": 3, "llm_wire": "chat"}
    with Player(never_satisfied, journal, dialect=dialect, **options) as player:
        assert player.play()["action"] == "go north"
    assert len(journal.calls) == 3
    assert len(player.model.requests) == 4
    forced = player.model.requests[-1]
    assert "final action" in str(forced.last["content"])
    assert forced.body["response_format"]["json_schema"]["name"] == "AgentResponse"
    assert player.model.refusals == []
    (event,) = events(caplog, "mcp_no_content")
    assert event.iterations == 3


@pytest.mark.parametrize("rounds", [19, 20, 21])
def test_twenty_rounds_of_tools_are_played_and_no_more(rounds: int, journal: Journal) -> None:
    asked = 0

    def script(request: ModelRequest) -> Reply:
        nonlocal asked
        asked += 1
        call = (f"{NAME}.echo", {"text": f"round {asked}"})
        return tool_reply([call]) if asked <= rounds and request.tool_names else action_reply("dig")

    with Player(script, journal) as player:  # the limit is the default one
        assert player.play()["action"] == "dig"
    played = min(rounds, 20)
    said = [f"round {number}" for number in range(1, played + 1)]
    assert [arguments["text"] for _, arguments in journal.calls] == said
    assert [answer["content"] for answer in player.answers()] == said
    assert len(player.model.requests) == played + 1
    forced = [not request.tool_names for request in player.model.requests]
    assert forced == [False] * played + [rounds >= 20]
    assert player.model.refusals == []


def test_an_empty_reply_is_warned_about_and_the_answer_is_forced(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    def silent(request: ModelRequest) -> Reply:
        return content_reply("") if request.tool_names else action_reply("go north")

    with Player(silent, journal, retry_max_attempts=2) as player:
        assert player.play()["action"] == "go north"
    (event,) = events(caplog, "mcp_unexpected_state")
    assert (event.levelno, event.finish_reason) == (logging.WARNING, "stop")


@pytest.mark.parametrize("reply", [content_reply(""), content_reply("", finish_reason="length")])
def test_a_turn_without_any_reply_costs_two_requests(reply: Reply, journal: Journal) -> None:
    with Player(lambda _: reply, journal) as player:
        assert player.play()["action"] == "look"
    assert len(player.model.requests) == 2


def test_a_call_in_words_is_asked_for_as_a_call(journal: Journal) -> None:
    written = json.dumps({"name": f"{NAME}_echo", "arguments": {"text": "a"}})
    with Player([written, action_reply("go north")], journal) as player:
        assert player.play()["action"] == "go north"
    assert "as text, so nothing was called" in str(player.model.requests[1].last["content"])


def test_an_answer_that_is_not_a_decision_gets_one_more_chance_then_the_safe_command(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    with Player([content_reply("Hm."), content_reply("I would rather not.")], journal) as player:
        decision = player.play()
    assert decision["action"] == "look"
    assert len(player.model.requests) == 2
    (event,) = events(caplog, "agent_parse_error")
    assert (event.levelno, event.raw_response) == (logging.ERROR, "I would rather not.")
    assert (event.episode_id, event.turn) == ("played", 1)
    assert player.agent.last_decision is not None
    assert player.agent.last_decision.failure


def test_a_bad_answer_can_be_mended_by_the_forced_call(journal: Journal) -> None:
    with Player([content_reply("Hm."), action_reply("go north")], journal) as player:
        assert player.play()["action"] == "go north"
    assert "Hm." in str(player.model.requests[-1].messages)


@pytest.mark.parametrize("command", ["save", "quit", "n. restore", "RESTART", "take all then q"])
@pytest.mark.parametrize("with_tools", [True, False])
def test_orders_to_the_interpreter_never_come_out(
    command: str, with_tools: bool, journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    with Player(lambda _: action_reply(command), journal if with_tools else None) as player:
        assert player.play()["action"] == "look"
    assert len(player.model.requests) == 1 + with_tools
    assert len(events(caplog, "agent_parse_error")) == 1


def test_a_model_without_tool_support_is_an_error_that_says_what_to_do(journal: Journal) -> None:
    player = Player([], journal, agent_model="deepseek/deepseek-r1")
    with player, pytest.raises(MCPError) as error:
        player.play()
    assert str(error.value) == (
        "Model 'deepseek/deepseek-r1' does not support tool calling.\n"
        "Please either:\n"
        "  1. Set mcp.enabled = false in pyproject.toml, or\n"
        "  2. Use a compatible model (gpt-5.4, claude-sonnet-5-5, etc.)\n"
        "To play once without tools, give --no-mcp."
    )
    assert player.model.requests == []
    assert journal.starts == []


@pytest.mark.parametrize(
    ("model", "said", "asked"),
    [
        ("deepseek/deepseek-r1", "nothing", 0),
        ("gemma:2b", "registry.ollama.ai/library/gemma:2b does not support tools", 1),
    ],
)
def test_no_client_can_get_around_that(model: str, said: str, asked: int) -> None:
    refusal = LLMStatusError(said, 400)
    turn = Turn([refusal], FakeManager(), agent_model=model)
    with pytest.raises(MCPError, match=f"Model '{model}' does not support tool calling"):
        turn.play()
    assert len(turn.client.requests) == asked
    assert turn.manager is not None
    assert turn.manager.log[-1:] in ([], ["disconnect"])


def test_tool_support_can_be_forced(journal: Journal) -> None:
    script = [tool_reply([ECHO]), action_reply("look")]
    model = "deepseek/deepseek-r1"
    with Player(script, journal, agent_model=model, mcp_force_tool_support=True) as player:
        assert player.play()["action"] == "look"
    assert len(journal.calls) == 1


def test_without_mcp_one_request_carries_the_schema() -> None:
    with Player([action_reply("look")], None) as player:
        player.play()
    (request,) = player.model.requests
    assert "tools" not in request.body
    assert request.body["response_format"]["json_schema"]["strict"] is True


def test_a_manager_without_the_setting_is_not_used(journal: Journal) -> None:
    with Player([action_reply("look")], journal) as player:
        off = player.agent.config.model_copy(update={"mcp_enabled": False})
        agent = ZorkAgent(config=off, client=player.client, mcp_manager=player.manager)
        agent.get_action_with_reasoning("You are in a hall.")
    assert journal.starts == []


def test_a_provider_that_fails_costs_the_turn_only(
    journal: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    script = [error_reply(401, "no such key"), action_reply("go north")]
    with Player(script, journal) as player:
        assert [player.play()["action"] for _ in (1, 2)] == ["look", "go north"]
    (event,) = events(caplog, "agent_parse_error")
    assert "no such key" in event.error
    assert not any(map(is_running, journal.starts))
