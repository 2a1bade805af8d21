"""Deaths, restarts and ends of toolboxes: nothing is left, nothing mixes."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.errors import MCPError, MCPServerDiedError, MCPServerStartupError, MCPToolCallError
from mcp_ghost.toolsets.union import Toolbox
from tests.support import PATIENCE
from tests.support.servers import eventually, faulty, is_running, open_descriptors, pids, seen

pytestmark = pytest.mark.mcp


def names(toolbox: Toolbox) -> list[str]:
    return [schema["function"]["name"] for schema in toolbox.schemas]


def methods(log: Path) -> list[str]:
    return [entry["method"] for entry in seen(log) if entry["event"] == "message"]


# --- death and restart ------------------------------------------------------------------------


def test_a_killed_server_is_restarted_while_the_others_live_on(tmp_path: Path) -> None:
    logs = {name: tmp_path / name for name in "ab"}

    async def life() -> None:
        servers = {name: faulty(SERVER_LOG=str(log)) for name, log in logs.items()}
        async with Toolbox(servers) as toolbox:
            before = names(toolbox)
            os.kill(pids(logs["a"])[0], signal.SIGKILL)
            with pytest.raises(MCPServerDiedError, match="ended by SIGKILL"):
                await toolbox.result("a.echo", {})
            assert [it.name for it in toolbox.alive] == ["b"]
            assert names(toolbox) == before
            # Several callers notice, one restart helps them all.
            await asyncio.gather(toolbox.restart("a"), toolbox.restart("a"))
            assert [it.name for it in toolbox.alive] == ["a", "b"]
            assert names(toolbox) == before
            for name in "ab":
                assert (await toolbox.result(f"{name}.echo", {"text": name})).content == name

    asyncio.run(life())
    assert {name: len(pids(log)) for name, log in logs.items()} == {"a": 2, "b": 1}
    assert not any(is_running(pid) for log in logs.values() for pid in pids(log))


async def test_a_restarted_server_may_die_and_be_restarted_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with Toolbox({"a": faulty(SERVER_LOG=str(log))}) as toolbox:
        for _ in range(3):
            with pytest.raises(MCPServerDiedError, match="status 7"):
                await toolbox.result("a.die", {})
            await toolbox.restart("a")
        assert (await toolbox.result("a.echo", {"text": "on"})).content == "on"
    assert len(set(pids(log))) == 4


async def test_a_failed_restart_withdraws_the_tools_until_another_one_succeeds(
    tmp_path: Path,
) -> None:
    dying = faulty(START_COUNTER=str(tmp_path / "starts"), FAILING_STARTS="2")
    async with Toolbox({"a": dying, "b": faulty()}, allow=["echo", "die"]) as toolbox:
        with pytest.raises(MCPServerDiedError):
            await toolbox.result("a.die", {})
        with pytest.raises(MCPServerStartupError, match="start 2 fails as told"):
            await toolbox.restart("a")
        assert list(toolbox.failures) == ["a"]
        assert names(toolbox) == ["b.echo", "b.die"]
        assert toolbox.tools["a.echo"].server == "a"
        with pytest.raises(MCPServerDiedError, match="'a' is gone and could not be started"):
            await toolbox.result("a.echo", {})
        await toolbox.restart("a")
        assert toolbox.failures == {}
        assert (await toolbox.result("a.echo", {"text": "on"})).content == "on"


async def test_a_server_that_failed_at_first_can_be_started_later(tmp_path: Path) -> None:
    late = faulty(START_COUNTER=str(tmp_path / "starts"), FAILING_STARTS="1")
    async with Toolbox({"a": late}) as toolbox:
        assert names(toolbox) == []
        await toolbox.restart("a")
        assert (await toolbox.result("a.echo", {"text": "on"})).content == "on"
        with pytest.raises(MCPError, match=r"No MCP server 'c' here\. Servers: a"):
            await toolbox.restart("c")


# --- endings ----------------------------------------------------------------------------------


async def cancel_while_opening(log: Path) -> None:
    servers = {"a": faulty(SERVER_LOG=str(log)), "b": faulty("mute", SERVER_LOG=str(log))}
    opening = asyncio.create_task(Toolbox(servers).__aenter__())
    await asyncio.to_thread(
        eventually, lambda: {"tools/list", "initialize"} <= set(methods(log)) and len(pids(log)) > 1
    )
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await opening
    assert opening.cancelled()


async def cancel_during_calls(log: Path) -> None:
    async def work() -> None:
        async with Toolbox({n: faulty(SERVER_LOG=str(log)) for n in "ab"}) as toolbox:
            await asyncio.gather(*(toolbox.result(f"{n}.hang", {}) for n in "aab"))

    working = asyncio.create_task(work())
    await asyncio.to_thread(eventually, lambda: methods(log).count("tools/call") == 3)
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working
    assert working.cancelled()


async def fail_inside(log: Path) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with Toolbox({n: faulty(SERVER_LOG=str(log)) for n in "ab"}) as toolbox:
            await toolbox.result("a.spawn", {})
            raise ZeroDivisionError


async def close_during_a_call(log: Path) -> None:
    toolbox = await Toolbox({"a": faulty(SERVER_LOG=str(log))}).__aenter__()
    calls = [asyncio.create_task(toolbox.result("a.hang", {})) for _ in range(2)]
    await asyncio.to_thread(eventually, lambda: "tools/call" in methods(log))
    await toolbox.close()
    for call in calls:
        with pytest.raises(MCPToolCallError):
            await asyncio.wait_for(call, PATIENCE)


@pytest.mark.parametrize(
    "ending", [cancel_while_opening, cancel_during_calls, fail_inside, close_during_a_call]
)
def test_no_process_descriptor_or_task_is_left(
    tmp_path: Path, ending: Callable[[Path], Awaitable[None]]
) -> None:
    async def counted(log: Path) -> None:
        await ending(log)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert not any(is_running(pid) for pid in pids(log))

    asyncio.run(counted(tmp_path / "warm"))  # the first server brings a helper process
    before = open_descriptors()
    asyncio.run(counted(tmp_path / "log"))
    assert open_descriptors() == before
    assert pids(tmp_path / "log")


def test_five_toolboxes_in_one_loop_do_not_mix(tmp_path: Path) -> None:
    logs = [tmp_path / str(number) for number in range(5)]

    async def work(log: Path) -> list[Any]:
        async with Toolbox({n: faulty(SERVER_LOG=str(log)) for n in "ab"}) as toolbox:
            calls = [
                toolbox.result(f"{n}.echo", {"text": f"{log.name}{n}{i}"})
                for n in "ab"
                for i in range(3)
            ]
            return [result.content for result in await asyncio.gather(*calls)]

    async def all_of_them() -> list[list[Any]]:
        return await asyncio.gather(*(work(log) for log in logs))

    for log, contents in zip(logs, asyncio.run(all_of_them()), strict=True):
        assert contents == [f"{log.name}{n}{i}" for n in "ab" for i in range(3)]
        calls = [entry for entry in seen(log) if entry.get("method") == "tools/call"]
        assert {call["params"]["arguments"]["text"] for call in calls} == set(contents)
        assert len(pids(log)) == 2


async def test_toolboxes_close_in_any_order_and_from_any_task(tmp_path: Path) -> None:
    log = tmp_path / "log"
    boxes = [
        await Toolbox({"a": faulty(SERVER_LOG=str(log)), "b": faulty()}).__aenter__()
        for _ in range(3)
    ]
    await boxes[1].close()
    await asyncio.create_task(boxes[0].close())
    assert (await boxes[2].result("b.echo", {"text": "on"})).content == "on"
    await asyncio.wait_for(boxes[2].close(), PATIENCE)
    assert len(pids(log)) == 3
    assert not any(is_running(pid) for pid in pids(log))
