"""What servers report while a session lives: progress of a call, and changes of their tools."""

import asyncio
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.servers.protocol import patience
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.toolsets.union import Toolbox
from tests.support.servers import pids, seen, versions, versions_over_http

pytestmark = pytest.mark.mcp

BOTH = ["2025-11-25", "2026-07-28"]


def names(session: ServerSession) -> list[str]:
    return [tool["function"]["name"] for tool in session.tools]


@pytest.mark.parametrize("link", ["stdio", "http"])
@pytest.mark.parametrize("known", BOTH)
async def test_a_tool_that_appears_is_listed_and_can_be_called(known: str, link: str) -> None:
    here = nullcontext(versions(known))
    with here if link == "stdio" else versions_over_http(known) as config:
        async with ServerSession("s", config) as session:
            assert await session.refresh() is False
            while "new" not in names(session):
                await session.call("grow", {})  # the first may come before anybody listens
                assert await session.refresh() or known != BOTH[0]
            said = await session.call("new", {"to": "attic"})
            assert said.content == ["new", {"to": "attic"}]


async def test_a_tool_that_wants_arguments_in_headers_gets_them_before_it_was_listed() -> None:
    with versions_over_http("2026-07-28") as config:
        async with ServerSession("s", config) as session, ServerSession("t", config) as other:
            await other.call("grow", {"name": "routed"})
            said = await session.call("routed", {"to": "attic"})
            assert said.content == ["routed", {"to": "attic"}]
            assert await session.refresh()
            assert "routed" in names(session)


async def test_a_server_that_does_not_list_its_changed_tools_is_reported_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    async with ServerSession("s", versions(BOTH[0], SERVER_LOG=str(log))) as session:
        while not session.is_stale:
            await session.call("grow", {})
        monkeypatch.setattr("mcp_ghost.servers.session.DEFAULT_CALL_TIMEOUT", 0.1)
        (pid,) = pids(log)
        os.kill(pid, signal.SIGSTOP)
        try:
            assert await session.refresh() is False
        finally:
            os.kill(pid, signal.SIGCONT)
    assert "'s' did not list its tools again: no answer within 0.1 s" in caplog.text


async def test_tools_are_listed_anew_once_they_are_no_longer_fresh(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def listings(ttl: str) -> int:
        before = len([e for e in seen(log) if e.get("method") == "tools/list"])
        config = versions("2026-07-28", TTL=ttl, SERVER_LOG=str(log))
        async with ServerSession("s", config) as session:
            await asyncio.sleep(0.02)
            assert await session.refresh() is (ttl == "1")
        return len([e for e in seen(log) if e.get("method") == "tools/list"]) - before

    assert [await listings(ttl) for ttl in ("0", "1", "600000")] == [1, 2, 1]


async def test_a_toolbox_knows_what_is_new_and_what_tools_say_of_themselves() -> None:
    servers = {"a": versions(BOTH[0]), "b": versions(BOTH[0])}
    async with Toolbox(servers, deny=["b.new"]) as toolbox:
        assert await toolbox.refresh() == []
        for server in servers:
            await toolbox.result(f"{server}.grow", {})
        assert await toolbox.refresh() == ["a", "b"]
        offered = [tool["function"]["name"] for tool in toolbox.schemas]
        assert ("a.new" in offered, "b.new" in offered) == (True, False)
        assert toolbox.tools["a.pay"].hints == {"destructiveHint": True}
        assert toolbox.tools["a.new"].hints == {}


# --- progress ---------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["stdio", "http"])
@pytest.mark.parametrize("known", BOTH)
async def test_progress_keeps_a_call_alive_where_it_may_and_is_reported(
    known: str, link: str
) -> None:
    told: list[object] = []

    async def on_progress(*progress: object) -> None:
        told.append(progress)

    async def counted(config: ServerConfig) -> None:
        toolbox = Toolbox({"s": config}, on_progress=on_progress, progress_extends_timeout=True)
        async with toolbox:
            await toolbox.result("s.count", {"to": 5, "pause": 0.7}, timeout=3)

    here = nullcontext(versions(known))
    with here if link == "stdio" else versions_over_http(known) as config:
        await counted(config)
    assert told == [("s.count", step, None, f"step {step}") for step in range(1, 6)]


@pytest.mark.parametrize("known", BOTH)
async def test_the_time_of_a_call_is_a_hard_limit_whatever_progress_is_reported(
    known: str,
) -> None:
    async with ServerSession("s", versions(known)) as session:
        with pytest.raises(TimeoutError, match=r"did not answer 'count' within 0\.5 s"):
            await session.call("count", {"to": 100, "pause": 0.1}, timeout=0.5)


async def test_progress_does_not_keep_a_call_alive_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "MOST", 2)
    async with ServerSession("s", versions("2025-11-25"), progress_extends_timeout=True) as session:
        with pytest.raises(TimeoutError, match=r"did not finish 'count' within 3 s"):
            await session.call("count", {"to": 100, "pause": 0.1}, timeout=1.5)


async def test_a_call_that_stops_reporting_progress_is_given_up() -> None:
    async with ServerSession("s", versions("2025-11-25"), progress_extends_timeout=True) as session:
        with pytest.raises(TimeoutError, match=r"no progress with 'count' for 2 s"):
            await session.call("count", {"to": 1, "then": 60}, timeout=2)
