"""Sessions with real servers: opening, listing, calling, and every fault of a call."""

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from mcp_ghost.errors import MCPError, MCPServerDiedError, MCPToolCallError
from mcp_ghost.servers.session import ServerSession
from tests.support.servers import call_in, faulty, is_running, pids, seen

pytestmark = pytest.mark.mcp


def names(session: ServerSession) -> list[str]:
    return [tool["function"]["name"] for tool in session.tools]


# --- the ordinary life of a session -----------------------------------------------------------


async def test_a_session_opens_lists_calls_and_closes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with ServerSession("s", faulty(SERVER_LOG=str(log))) as session:
        assert session.is_alive
        assert session.server_info == {"name": "faulty", "version": "1.0"}
        assert "echo" in names(session)
        assert (await session.call("echo", {"text": "hello"})).content == "hello"
    assert not session.is_alive
    methods = [entry["method"] for entry in seen(log) if entry["event"] == "message"]
    handshake = ["initialize", "notifications/initialized"]
    assert methods == ["server/discover", *handshake, "tools/list", "tools/call"]
    assert seen(log)[-1]["event"] == "end of input"
    assert not is_running(pids(log)[0])


@pytest.mark.parametrize("mode", ["oldproto", "garbage", "indented"])
async def test_old_protocols_and_chatter_on_stdout_do_not_matter(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert (await call_in(faulty(mode), "echo", text="x")).content == "x"
    assert caplog.records == []


async def test_the_server_sees_the_system_environment_with_the_configured_on_top(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FROM_SYSTEM", "ours")
    monkeypatch.setenv("IN_BOTH", "system")
    config = faulty(IN_BOTH="configured", EXPANDED="<{env:FROM_SYSTEM}>")
    env = (await call_in(config, "environment")).content
    assert env["FROM_SYSTEM"] == "ours"
    assert env["IN_BOTH"] == "configured"
    assert env["EXPANDED"] == "<ours>"
    assert env["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert env["PATH"].endswith(os.environ["PATH"])


async def test_a_configured_path_stands_as_it_is() -> None:
    assert (await call_in(faulty(PATH="/nowhere"), "environment")).content["PATH"] == "/nowhere"


def test_the_working_directory_can_be_configured(tmp_path: Path) -> None:
    config = faulty().model_copy(update={"cwd": str(tmp_path)})
    assert asyncio.run(call_in(config, "where")).content == str(tmp_path)
    assert asyncio.run(call_in(faulty(), "where")).content == str(Path.cwd())


# --- listing ----------------------------------------------------------------------------------


async def test_every_page_of_tools_is_listed() -> None:
    async with ServerSession("s", faulty("paged")) as session:
        assert names(session) == ["tool0a", "tool0b", "tool1a", "tool1b", "tool2a", "tool2b"]


def test_a_repeated_cursor_ends_the_listing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = asyncio.run(call_in(faulty("loopcursor", SERVER_LOG=str(log)), "echo", text="x"))
    assert result.content == "x"
    assert len([e for e in seen(log) if e.get("method") == "tools/list"]) == 2


def test_a_page_that_is_refused_does_not_hide_the_others() -> None:
    assert asyncio.run(call_in(faulty("lostpage"), "echo", text="x")).content == "x"


async def test_malformed_tools_do_not_hide_the_others(caplog: pytest.LogCaptureFixture) -> None:
    nothing = {"type": "object", "properties": {}}
    async with ServerSession("s", faulty("badtools")) as session:
        assert {t["function"]["name"]: t["function"]["parameters"] for t in session.tools} == {
            "noschema": nothing,
            "badschema": nothing,
            "emptyschema": nothing,
            "echo": {"type": "object", "properties": {"text": {"type": "string"}}},
        }
    assert "without a name" in caplog.text
    assert "second tool with the name 'echo'" in caplog.text


async def test_a_server_without_tools_can_be_opened() -> None:
    async with ServerSession("s", faulty("toolless")) as session:
        assert names(session) == []


# --- calls that go wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("fail", "the lamp is broken"),
        ("refuse", "arguments are wrong"),
        ("refuse_generic", "backend unavailable"),
        ("bad_reply", "The server sent a malformed reply: key must be a string"),
    ],
)
async def test_what_the_server_refuses_is_a_result_and_the_session_goes_on(
    tool: str, message: str
) -> None:
    async with ServerSession("s", faulty()) as session:
        result = await session.call(tool, {})
        assert (await session.call("echo", {"text": "on"})).content == "on"
        result = result
    assert result.is_error
    assert result.error_message == message


async def test_a_call_that_takes_too_long_is_cancelled_and_the_session_stays_usable(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    async with ServerSession("s", faulty(SERVER_LOG=str(log))) as session:
        with pytest.raises(asyncio.TimeoutError, match=r"'hang' within 0\.1 s"):
            await session.call("hang", {}, timeout=0.1)
        assert (await session.call("echo", {"text": "on"})).content == "on"
    assert "notifications/cancelled" in [entry.get("method") for entry in seen(log)]


async def test_the_death_of_a_server_is_known_to_its_call_and_to_later_ones() -> None:
    async with ServerSession("demo", faulty()) as session:
        with pytest.raises(MCPServerDiedError) as death:
            await session.call("die", {})
        assert "exited with status 7" in str(death.value)
        assert "fatal: out of cheese" in str(death.value)
        with pytest.raises(MCPServerDiedError):
            await session.call("echo", {})
        assert not session.is_alive


async def test_a_server_killed_between_calls_is_noticed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with ServerSession("demo", faulty(SERVER_LOG=str(log))) as session:
        os.kill(pids(log)[0], signal.SIGKILL)
        with pytest.raises(MCPServerDiedError, match="was ended by SIGKILL"):
            await session.call("echo", {})


async def test_a_server_that_closes_its_output_is_gone() -> None:
    async with ServerSession("demo", faulty()) as session:
        with pytest.raises(MCPServerDiedError, match="closed its connection"):
            await session.call("close_output", {})


async def test_a_long_result_arrives_and_is_cut_visibly() -> None:
    async with ServerSession("s", faulty(), result_limit=1000) as session:
        content = (await session.call("huge", {"size": 3_000_000})).content
    assert content.startswith("x" * 1000 + "\n[cut here: 2999000 of 3000000")


async def test_notifications_during_a_call_do_not_disturb_it() -> None:
    assert (await call_in(faulty(), "change_list")).content == "changed"


async def test_calls_before_open_and_after_close_are_errors() -> None:
    session = ServerSession("demo", faulty())
    with pytest.raises(MCPToolCallError, match="not open"):
        await session.call("echo", {})
    await session.open()
    with pytest.raises(MCPError, match="opened before"):
        await session.open()
    await session.close()
    await session.close()
    with pytest.raises(MCPToolCallError, match="not open"):
        await session.call("echo", {})
    with pytest.raises(MCPError, match="opened before"):
        await session.open()
