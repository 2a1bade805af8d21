"""Ghost: request after request, with servers that stay connected, in one process or several."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import Ghost, mcp_ghost
from mcp_ghost.run.settings import Settings
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from tests.support.ghosts import KEY, PROVIDERS, Notes, assert_well_formed, said_to, tools
from tests.support.servers import eventually, is_running
from tests.support.wires import spoken

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
WRITE = tool_reply([("notes.write", {"name": "a", "text": "milk"})], reasoning="Milk.")
READ = tool_reply([("notes.read", {"name": "a"})])


def talk(
    notes: Notes,
    script: list[Reply | str],
    told: Callable[[Ghost], Awaitable[Any]],
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401  what Ghost takes
) -> tuple[Any, ModelServer]:
    """What ``told`` returns of a Ghost, and the model as it was left; it refused nothing."""

    async def main(base_url: str) -> object:
        given: Any = {"system_prompt": "Keep notes.", "api_key": KEY, **options}
        config = {"mcpServers": {"notes": notes.config}}
        ghost = Ghost(server_config=config, base_url=base_url, **spoken(provider), **given)
        async with ghost:
            return await told(ghost)

    with ModelServer(script, wire=provider, namespace="mcp_ghost") as model:
        outcome = asyncio.run(main(model.base_url))
    assert model.refusals == []
    return outcome, model


@every_provider
def test_the_second_request_knows_of_the_first_and_meets_the_same_server(
    notes: Notes, provider: WireName
) -> None:
    async def told(ghost: Ghost) -> list[dict[str, Any]]:
        return [await ghost.run("Note that the milk is gone."), await ghost.run("And now?")]

    (first, second), model = talk(notes, [WRITE, "Noted.", READ, "No milk."], told, provider)
    for result in (first, second):
        assert_well_formed(result)
        assert result["success"]
        assert result["execution_metadata"]["total_iterations"] == 2
        assert result["execution_metadata"]["servers_connected"] == 1
    assert (tools(first), tools(second)) == (["notes.write"], ["notes.read"])
    assert [second["final_result"], len(second["conversation_history"])] == ["No milk.", 9]
    assert [call for call, _ in notes.calls] == ["write", "read"]
    assert "the milk is gone" in said_to(model, 2)
    (pid,) = notes.pids
    assert not is_running(pid)


@every_provider
def test_a_conversation_goes_on_in_another_process_and_with_another_provider(
    notes: Notes, provider: WireName
) -> None:
    async def begun(ghost: Ghost) -> str:
        await ghost.run("Note that the milk is gone.")
        return json.dumps(ghost.messages)

    async def gone_on(ghost: Ghost) -> Any:  # noqa: ANN401
        return await ghost.run("And now?")

    kept, _ = talk(notes, [WRITE, "Noted."], begun, provider)
    for other in PROVIDERS:
        result, model = talk(notes, ["No milk."], gone_on, other, messages=json.loads(kept))
        assert_well_formed(result)
        roles = [message["role"] for message in result["conversation_history"]]
        assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
        assert all(text in said_to(model, 0) for text in ("milk is gone", "Noted.", "And now?"))


@every_provider
def test_after_a_request_that_was_cut_short_the_next_one_goes_on(
    notes: Notes, provider: WireName
) -> None:
    async def told(ghost: Ghost) -> Any:  # noqa: ANN401
        request = asyncio.create_task(ghost.run("Wait for it."))
        await asyncio.to_thread(eventually, lambda: bool(notes.calls))
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        return await ghost.run("Never mind.")

    hanging = tool_reply([("notes.sleep", {"seconds": 600}), ("notes.read", {"name": "a"})])
    result, model = talk(notes, [hanging, "Fine."], told, provider)
    assert_well_formed(result)
    assert result["final_result"] == "Fine."
    assert said_to(model, 1).count("the run was interrupted. It may have taken effect") == 2


def test_a_server_that_dies_between_requests_is_started_again(notes: Notes) -> None:
    async def told(ghost: Ghost) -> Any:  # noqa: ANN401
        await ghost.run("Note that the milk is gone.")
        os.kill(notes.pids[-1], signal.SIGKILL)
        await asyncio.to_thread(eventually, lambda: not is_running(notes.pids[-1]))
        return await ghost.run("And now?")

    result, _ = talk(notes, [WRITE, "Noted.", READ, "No milk."], told)
    assert result["success"]
    assert result["tool_chain"][-1]["result"] == "milk"
    assert len(notes.pids) == 2


def test_a_start_that_the_deadline_cut_short_is_made_again(notes: Notes) -> None:
    gate = notes.folder.parent / "gate"
    os.mkfifo(gate)
    command = f"read line < {gate}; exec {notes.config.command} {' '.join(notes.config.args)}"
    slow = notes.config.model_copy(update={"command": "sh", "args": ["-c", command]})

    async def told(ghost: Ghost) -> Any:  # noqa: ANN401
        late = await ghost.run("Note that the milk is gone.")
        opened = asyncio.create_task(asyncio.to_thread(gate.write_text, "go\n"))
        return late, await ghost.run("Again: the milk is gone."), await opened

    notes.config = slow
    (late, result, _), _ = talk(notes, [WRITE, "Noted."], told, deadline=5)
    assert "the deadline of 5 s for the whole run has passed" in late["summary"]
    assert result["final_result"] == "Noted."
    assert [message["role"] for message in result["conversation_history"]][:2] == ["system", "user"]


@pytest.mark.parametrize(
    "messages",
    ["hello", [{"content": "hello"}], [{"role": "robot", "content": "hello"}], ["hello"]],
)
def test_messages_that_are_none_are_an_error(messages: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"like Ghost\.messages"):
        Ghost(server_config={"mcpServers": {}}, provider="openai", api_key=KEY, messages=messages)


def test_what_cannot_be_done_is_said(notes: Notes) -> None:
    async def told(ghost: Ghost) -> None:
        with pytest.raises(ValueError, match="user_prompt is empty"):
            await ghost.run(" ")
        request = asyncio.create_task(ghost.run("Hello."))
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already running a request"):
            await ghost.run("Hello?")
        assert (await request)["final_result"] == "Hello."

    talk(notes, ["Hello."], told)
    outside = Ghost(server_config={"mcpServers": {}}, provider="openai", api_key=KEY)
    with pytest.raises(RuntimeError, match="inside 'async with Ghost"):
        asyncio.run(outside.run("Hello."))
    with pytest.raises(TypeError, match="Ghost takes no user_prompt"):
        Ghost(server_config={"mcpServers": {}}, provider="openai", user_prompt="Hello.")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing a required argument: 'provider'"):
        Ghost(server_config={"mcpServers": {}})  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="tiemout"):
        Ghost(server_config={"mcpServers": {}}, provider="openai", tiemout=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="temperature must be"):
        Ghost(server_config={"mcpServers": {}}, provider="openai", temperature=-1)


def test_without_asyncio_it_says_what_it_needs() -> None:
    with pytest.raises(RuntimeError, match="needs asyncio's event loop"):
        mcp_ghost({"mcpServers": {}}, "", "openai", KEY, "Hello.").send(None)


async def test_another_event_loop_is_refused() -> None:
    ghost = Ghost(server_config={"mcpServers": {}}, provider="openai", api_key=KEY)
    async with ghost:
        with pytest.raises(RuntimeError, match="was entered in another event loop"):
            await asyncio.to_thread(asyncio.run, ghost.run("Hello."))


@pytest.mark.parametrize(
    "message",
    [
        "Hello.",
        {"role": "system", "content": "Hello."},
        {"role": "user", "content": 3},
        {"role": "assistant", "tool_calls": "none"},
        {"role": "assistant", "tool_calls": [{"id": "c1"}]},
    ],
)
def test_what_is_no_conversation_is_refused(message: Any) -> None:  # noqa: ANN401
    given: Any = {"server_config": {"mcpServers": {}}, "provider": "openai", "api_key": KEY}
    with pytest.raises(ValueError, match="messages must be a list like"):
        Ghost(**given, messages=[message])


def test_its_options_are_those_of_the_function() -> None:
    given = [*inspect.signature(mcp_ghost).parameters]
    given.remove("user_prompt")
    assert sorted(Settings.__annotations__) == sorted(given)
