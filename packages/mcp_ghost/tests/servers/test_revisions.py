"""Which revision of MCP is spoken: found out without a setting, with servers of every age."""

import asyncio
import sys
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPServerStartupError
from mcp_ghost.servers.protocol import wire
from mcp_ghost.servers.session import ServerSession
from tests.support import PATIENCE
from tests.support.servers import MODERN, OLD, pids, seen, versions, versions_over_http

pytestmark = pytest.mark.mcp


def methods(log: Path) -> list[str]:
    """What was asked for, the subscription aside, which goes its own way."""
    aside = ("subscriptions/listen", "notifications/cancelled")
    entries = [entry for entry in seen(log) if entry["event"] == "message"]
    return [entry["method"] for entry in entries if entry["method"] not in aside]


async def spoken(config: ServerConfig) -> str:
    """The revision of a session in which a call worked."""
    session = ServerSession("s", config)
    await session.open(PATIENCE)
    try:
        assert (await session.call("echo", {"text": "on"})).content == {"text": "on"}
        assert session.server_info == {"name": "versions", "version": "1.0"}
        return session.protocol_version
    finally:
        await session.close()


@pytest.mark.parametrize("known", [[MODERN], *([version] for version in OLD), [*OLD, MODERN]])
async def test_a_server_is_spoken_to_in_the_newest_revision_that_it_knows(known: list[str]) -> None:
    assert await spoken(versions(*known)) == known[-1]
    with versions_over_http(*known) as config:
        assert await spoken(config) == known[-1]


@pytest.mark.parametrize(
    ("words", "tries"),
    [
        ("Unsupported protocol version (supported: 2025-03-26, 2024-11-05)", 2),
        ("Unsupported protocol version", 3),
    ],
)
async def test_a_server_that_refuses_newer_versions_is_asked_in_older_ones(
    words: str, tries: int, tmp_path: Path
) -> None:
    known, log = ["2024-11-05", "2025-03-26"], tmp_path / "log"
    assert await spoken(versions(*known, STRICT=words, SERVER_LOG=str(log))) == "2025-03-26"
    assert methods(log).count("initialize") == tries
    with versions_over_http(*known, STRICT=words) as config:
        for _ in range(2):  # the second time without asking what it speaks
            assert await spoken(config) == "2025-03-26"
    with pytest.raises(MCPServerStartupError, match="Failed to start"):
        await spoken(versions(*known, STRICT="no handshakes"))


async def test_a_status_that_comes_with_the_known_revisions_is_understood(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with versions_over_http(MODERN, REJECT="1", SERVER_LOG=str(log)) as config:
        assert await spoken(config) == MODERN
    assert methods(log) == ["server/discover", "tools/list", "tools/call"]


@pytest.mark.parametrize("discover", ["-32601", "-32602", "-32000", "ignore", "die", "die later"])
async def test_whatever_an_older_server_makes_of_the_question_it_is_understood(
    discover: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_ANSWER_SECONDS", 0.1)
    log = tmp_path / "log"
    config = versions("2025-06-18", discover=discover, SERVER_LOG=str(log))
    assert await spoken(config) == "2025-06-18"
    assert len(pids(log)) == 1 + discover.startswith("die")
    before = len(methods(log))
    assert await spoken(config) == "2025-06-18"
    handshake = ["initialize", "notifications/initialized"]
    assert methods(log)[before:] == [*handshake, "tools/list", "tools/call"]


async def test_a_revision_without_handshake_costs_no_request_the_second_time(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    config = versions(MODERN, SERVER_LOG=str(log))
    for _ in range(2):
        assert await spoken(config) == MODERN
    assert methods(log) == ["server/discover", *["tools/list", "tools/call"] * 2]


@pytest.mark.parametrize("known", [[MODERN], ["2025-11-25"], ["2025-11-25", MODERN]])
async def test_a_server_that_is_slow_to_start_is_not_misjudged(
    known: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_ANSWER_SECONDS", 0.1)
    log = tmp_path / "log"
    config = versions(*known, SLEEP="0.5", SERVER_LOG=str(log))
    assert await spoken(config) == known[-1]
    assert methods(log).count("server/discover") == 1
    assert ("initialize" in methods(log)) == (MODERN not in known)


@pytest.mark.parametrize("known", [[MODERN], ["2025-11-25", MODERN]])
async def test_an_answer_that_comes_after_all_is_the_one_that_counts(
    known: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_ANSWER_SECONDS", 0.1)
    log = tmp_path / "log"
    assert await spoken(versions(*known, LATE="0.5", SERVER_LOG=str(log))) == MODERN
    asked = ["server/discover", "initialize", "server/discover"]
    assert methods(log) == [*asked, "tools/list", "tools/call"]


async def test_a_server_that_speaks_otherwise_than_before_is_asked_anew(tmp_path: Path) -> None:
    script = tmp_path / "server"
    config = ServerConfig(command="sh", args=[str(script)])

    def become(*known: str) -> None:
        server = versions(*known)
        script.write_text(f"exec {sys.executable} {' '.join(server.args)}\n")

    become(MODERN)
    assert await spoken(config) == MODERN
    become("2025-11-25")
    with pytest.raises(MCPServerStartupError):
        await spoken(config)
    assert await spoken(config) == "2025-11-25"


def test_a_server_that_fails_by_itself_is_started_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    source = f"open({str(log)!r}, 'a').write('x'); raise SystemExit('no key')"
    config = ServerConfig(command=sys.executable, args=["-S", "-c", source])
    with pytest.raises(MCPServerStartupError, match="no key"):
        asyncio.run(spoken(config))
    assert log.read_text() == "x"


@pytest.mark.parametrize("known", ["2025-11-25", MODERN])
async def test_tools_say_what_they_do(known: str) -> None:
    async with ServerSession("s", versions(known)) as session:
        assert session.annotations["echo"] == {"readOnlyHint": True, "idempotentHint": True}
        assert session.annotations["pay"] == {"destructiveHint": True}
        assert session.annotations["ask"] == {}


@pytest.mark.parametrize("known", ["2025-11-25", MODERN])
async def test_of_all_that_a_server_offers_only_its_tools_are_asked_for(
    known: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    await spoken(versions(known, SERVER_LOG=str(log)))
    began = {"2025-11-25": ["initialize", "notifications/initialized"], MODERN: []}[known]
    assert methods(log) == ["server/discover", *began, "tools/list", "tools/call"]


@pytest.mark.parametrize("known", ["2025-11-25", MODERN])
async def test_servers_are_told_of_no_capability(known: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await spoken(versions(known, SERVER_LOG=str(log)))
    said = [entry.get("params", {}) for entry in seen(log)]
    capability = "io.modelcontextprotocol/clientCapabilities"
    announced = [it["capabilities"] for it in said if "capabilities" in it]
    announced += [it["_meta"][capability] for it in said if capability in it.get("_meta", {})]
    assert announced
    assert [it for it in announced if it] == []
