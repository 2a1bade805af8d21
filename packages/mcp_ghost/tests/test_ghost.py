"""mcp_ghost(): its arguments, its result, and what reaches real servers and a scripted model."""

from __future__ import annotations

import asyncio
import inspect
import pydoc
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import GhostResult, mcp_ghost, mcp_ghost_sync, run_ghost, run_sync
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support.ghosts import (
    KEY,
    PROVIDERS,
    Notes,
    assert_well_formed,
    ghost,
    play,
    said_to,
    tools,
)
from tests.support.program import heavy_imports
from tests.support.servers import is_running, write_config
from tests.support.wires import name_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)


# --- arguments --------------------------------------------------------------------------------


def test_the_signature_is_the_specified_one() -> None:  # B1
    parameters = inspect.signature(mcp_ghost).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == [
        "server_config",
        "system_prompt",
        "provider",
        "api_key",
        "user_prompt",
        "model",
        "namespace",
        "timeout",
        "max_iterations",
        "enable_backtracking",
        "conversation_memory",
    ]
    defaults = {"model": None, "namespace": "mcp_ghost", "timeout": 30.0, "max_iterations": 10}
    defaults |= {"enable_backtracking": True, "conversation_memory": True}
    assert {name: parameters[name].default for name in defaults} == defaults
    for other in (run_ghost, mcp_ghost_sync, run_sync):
        assert inspect.signature(other).parameters == parameters


def test_help_names_every_option_with_its_type_its_default_and_its_meaning() -> None:
    shown = pydoc.plain(pydoc.render_doc(mcp_ghost))
    for written in (
        "deadline: 'float | None' = None",
        "images: \"Literal['auto', 'never']\" = 'auto'",
        "loop_limit: 'int | None' = 2",
        "transport: 'httpx2.AsyncBaseTransport | None' = None",
    ):
        assert written in shown
    explained = shown.partition("Args:")[2].partition("Returns:")[0]
    meanings = re.findall(r"^ {8}(\w+): \S", explained, re.MULTILINE)
    assert meanings == [*inspect.signature(mcp_ghost).parameters]


async def test_arguments_go_by_position_too(notes: Notes) -> None:  # B1
    with ModelServer(["Done."]) as model:
        result = await mcp_ghost(
            {"mcpServers": {"notes": notes.config}},
            "Be brief.",
            "openai",
            KEY,
            "Hello?",
            "gpt-test",
            "space",
            5.0,
            3,
            False,
            False,
            base_url=model.base_url,
        )
    assert result["final_result"] == "Done."
    (request,) = model.requests
    assert request.body["model"] == "gpt-test"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.messages[-1]["content"] == "Hello?"
    assert "space_notes_read" in request.tool_names


@pytest.mark.parametrize("suffix", ["json", "jsonc"])
async def test_the_configuration_may_be_a_file(
    notes: Notes, tmp_path: Path, suffix: str
) -> None:  # B2
    path = write_config(tmp_path / f"servers.{suffix}", notes=notes.config)
    with ModelServer([tool_reply([("notes.write", {"name": "a", "text": "b"})]), "ok"]) as model:
        options: dict[str, Any] = {"user_prompt": "Go.", "base_url": model.base_url}
        assert (await mcp_ghost(path, "", "openai", KEY, **options))["success"]
    assert notes.file("a") == "b"


@every_provider
def test_the_key_comes_from_the_environment_or_a_file(  # B4
    provider: WireName, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = "GOOGLE_API_KEY" if provider == "gemini" else f"{name_of(provider).upper()}_API_KEY"
    Path(".env").write_text(f"{variable}=from-the-file-0123\n")
    _, model = play(["Done."], {}, provider, api_key=None)
    assert "from-the-file-0123" in str(model.requests[0].headers)
    monkeypatch.setenv(variable, "from-the-environment-0123")
    _, model = play(["Done."], {}, provider, api_key=None)
    assert "from-the-environment-0123" in str(model.requests[0].headers)


@every_provider
def test_there_is_a_model_for_those_who_name_none(provider: WireName) -> None:  # B5
    result, model = play(["Done."], {}, provider)
    assert result["success"]
    assert len(model.requests[0].chat["model"]) > 5


# --- the result -------------------------------------------------------------------------------


USAGE = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
CHAIN = [
    tool_reply([("notes.write", {"name": "a", "text": "milk"})], "I note it.", usage=USAGE),
    tool_reply([("notes.read", {"name": "a"}), ("notes.count", {})], usage=USAGE),
    content_reply("There is milk.", usage=USAGE),
]


def link(
    iteration: int, tool: str, arguments: dict[str, Any], result: object, said: str = ""
) -> dict[str, Any]:
    """An entry of a chain, but for its time."""
    return {
        "iteration": iteration,
        "tool_name": tool,
        "arguments": arguments,
        "success": True,
        "result": result,
        "error": None,
        "reasoning": said,
        "retry_attempt": 0,
        "depends_on": [],
    }


@every_provider
def test_a_chain_gives_the_specified_account(provider: WireName, notes: Notes) -> None:
    # B6, B7, B8, B10, B12, B13
    result, _ = play(CHAIN, {"notes": notes.config}, provider)
    assert result["success"] is True
    assert result["final_result"] == "There is milk."
    for entry in result["tool_chain"]:
        assert entry.pop("execution_time") > 0
    assert result["tool_chain"] == [
        link(1, "notes.write", {"name": "a", "text": "milk"}, "wrote a", "I note it."),
        link(2, "notes.read", {"name": "a"}, "milk"),
        link(2, "notes.count", {}, {"notes": 1}),
    ]
    assert result["errors"] == []
    history = result["conversation_history"]
    assert [message["role"] for message in history] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    assert history[2]["content"] == "I note it."
    (call,) = history[2]["tool_calls"]
    assert call["function"]["name"] == "notes.write"
    assert history[-1]["content"] == "There is milk."
    metadata = result["execution_metadata"]
    assert metadata.pop("total_execution_time") > 0
    assert metadata == {
        "total_iterations": 3,
        "tools_discovered": 8,
        "servers_connected": 1,
        "backtrack_count": 0,
        "success_rate": 1.0,
        "token_usage": {"prompt_tokens": 300, "completion_tokens": 21, "total_tokens": 321},
    }


@every_provider
def test_calls_reach_one_server_and_their_results_the_model(
    provider: WireName, notes: Notes
) -> None:
    # B16, B17, B18, B21, B22
    _, model = play(CHAIN, {"notes": notes.config}, provider)
    assert [name for name, _ in notes.calls] == ["write", "read", "count"]
    assert notes.file("a") == "milk"
    (pid,) = notes.pids
    assert not is_running(pid)
    assert "wrote a" in said_to(model, 1)
    assert "milk" in str(model.requests[2].messages[-2]["content"])


def test_every_tool_is_offered_under_the_namespace_and_its_schema(notes: Notes) -> None:  # B35
    _, model = play(["Done."], {"notes": notes.config}, namespace="work")
    assert model.requests[0].tool_names[:2] == ["work_notes_write", "work_notes_read"]
    _, model = play(["Done."], {"notes": notes.config}, namespace="")
    assert model.requests[0].tool_names[:2] == ["notes_write", "notes_read"]


async def test_names_as_offered_and_names_without_the_namespace_both_reach_the_tool(  # B36
    notes: Notes,
) -> None:
    def script(request: ModelRequest) -> Reply | str:
        if request.last["role"] == "tool":
            return "Done."
        return tool_reply([(request.tool_names[2], {}), ("notes_count", {})])

    with ModelServer(script) as model:
        result = await ghost(model, {"notes": notes.config})
    assert tools(result) == ["notes.count", "notes.count"]
    assert [entry["success"] for entry in result["tool_chain"]] == [True, True]


@every_provider
def test_five_dependent_calls_over_two_servers_with_the_same_tools(  # B22, B36, B40
    provider: WireName, tmp_path: Path
) -> None:
    left, right = Notes(tmp_path, "left"), Notes(tmp_path, "right")

    def last_result(request: ModelRequest) -> str:
        return str(request.last["content"])

    steps = [
        lambda _: ("left.write", {"name": "a", "text": "7"}),
        lambda _: ("left.read", {"name": "a"}),
        lambda said: ("right.write", {"name": "b", "text": f"{said}7"}),
        lambda _: ("right.read", {"name": "b"}),
        lambda said: ("left.write", {"name": "c", "text": f"{int(said) + 1}"}),
    ]

    def script(request: ModelRequest) -> Reply | str:
        turn = sum(message["role"] == "assistant" for message in request.messages)
        if turn == len(steps):
            return "Done."
        return tool_reply([steps[turn](last_result(request))])

    result, _ = play(script, {"left": left.config, "right": right.config}, provider)
    assert result["success"]
    assert tools(result) == ["left.write", "left.read", "right.write", "right.read", "left.write"]
    assert [entry["iteration"] for entry in result["tool_chain"]] == [1, 2, 3, 4, 5]
    assert (left.file("c"), right.file("b")) == ("78", "77")
    assert len(left.calls) == 3
    assert len(right.calls) == 2


async def test_the_typed_result_says_the_same_and_more(notes: Notes) -> None:
    script: list[Reply | str] = [
        content_reply("Hm.", usage={"prompt_tokens": 9, "completion_tokens": 1, "cost": 0.5})
    ]

    async def typed() -> GhostResult:
        servers = {"mcpServers": {"notes": notes.config}}
        with ModelServer(script) as model:
            options: dict[str, Any] = {"user_prompt": "Go.", "base_url": model.base_url}
            return await run_ghost(servers, "", "openai", KEY, **options)

    result = await typed()
    assert result.execution_metadata.cost == 0.5
    assert result.execution_metadata.token_usage.total_tokens == 10
    assert "cost" not in result.to_dict()["execution_metadata"]
    assert_well_formed(result.to_dict())


def test_programs_without_an_event_loop_have_a_way_in(notes: Notes) -> None:
    servers = {"mcpServers": {"notes": notes.config}}
    with ModelServer(["Done."]) as model:
        options: dict[str, Any] = {"user_prompt": "Go.", "base_url": model.base_url}
        assert mcp_ghost_sync(servers, "", "openai", KEY, **options)["success"]

    async def inside() -> None:
        mcp_ghost_sync(servers, "", "openai", KEY, user_prompt="Go.")

    with pytest.raises(RuntimeError, match="await mcp_ghost"):
        asyncio.run(inside())


# --- what users expect of a package -----------------------------------------------------------


def test_importing_it_is_quick_because_libraries_wait() -> None:
    code = "from mcp_ghost import mcp_ghost, run_ghost, mcp_ghost_sync"
    assert heavy_imports("-c", code) <= {"asyncio"}


def test_every_public_name_can_be_imported() -> None:
    import mcp_ghost as package

    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        getattr(package, "nonsense")  # noqa: B009  the point of the test
