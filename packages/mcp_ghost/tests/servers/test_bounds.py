"""What a server may do at most: in one message, on stderr, with its list of tools."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config.server import MOST_MESSAGE_BYTES
from mcp_ghost.errors import MCPServerDiedError
from mcp_ghost.servers.process import STDERR_BYTES, ServerProcess, child_environment
from mcp_ghost.servers.protocol import wire
from mcp_ghost.servers.protocol.reading import MOST_VALUES
from mcp_ghost.servers.session import ServerSession
from mcp_ghost.servers.tools import MOST_TOOL_CHARACTERS, MOST_TOOLS
from tests.support import PATIENCE, ROOT
from tests.support.servers import call_in, wild

pytestmark = pytest.mark.mcp

CALLS = ROOT / "tests/support/processes/wild_calls.py"
TOO_LONG = f"of more than {MOST_MESSAGE_BYTES:,} bytes"
TOO_LONG_IN_ONE_STREAM = "of more than 1,048,576 bytes"
SAID = {
    "large": "[cut here: ",
    "long": TOO_LONG,
    "values": f"of more than {MOST_VALUES:,} values",
    "nested": "malformed reply: recursion limit exceeded",
    "not UTF-8": "\N{REPLACEMENT CHARACTER}",
    "digits": "malformed reply: number out of range",
}


def calls(transport: str, kinds: Sequence[str]) -> tuple[dict[str, list[str]], int]:
    """What calls of ``kinds`` said, and the MiB that the client took."""
    done = subprocess.run(
        [sys.executable, str(CALLS), transport, *kinds],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        timeout=PATIENCE * 10,
        check=True,
    )
    found = json.loads(done.stdout)
    return found["said"], found["most_mib"]


@pytest.mark.parametrize(
    "transport",
    ["stdio", *(pytest.param(it, marks=pytest.mark.soak) for it in ("json", "events", "sse"))],
)
def test_a_message_that_cannot_be_read_is_an_error_at_once_and_the_session_goes_on(
    transport: str,
) -> None:
    said, most_mib = calls(transport, [*SAID])
    for kind, words in SAID.items():
        if transport == "sse" and kind in ("large", "long"):
            words = TOO_LONG_IN_ONE_STREAM
        before, good, after, good_too = said[kind]
        assert words in before
        assert words in after
        assert (good, good_too) == ("on", "on")
    assert most_mib < 200


@pytest.mark.soak
@pytest.mark.slow
def test_a_line_of_tens_of_megabytes_takes_no_memory() -> None:
    said, most_mib = calls("stdio", ["blocks", "brackets"])
    assert [TOO_LONG in words for words in (*said["blocks"][::2], *said["brackets"][::2])]
    assert said["blocks"][1::2] == said["brackets"][1::2] == ["on", "on"]
    assert most_mib < 200


async def test_what_a_message_may_have_is_a_setting() -> None:
    with wild("stdio") as config:
        small = config.model_copy(update={"max_message_bytes": 100_000})
        result = await call_in(small, "answer", kind="large")
    assert "of more than 100,000 bytes (see max_message_bytes)" in (result.error_message or "")


async def test_a_line_without_end_ends_the_connection() -> None:
    with wild("stdio") as config:
        async with ServerSession("s", config) as session:
            with pytest.raises(MCPServerDiedError, match="it sent a message that is too long"):
                await session.call("answer", {"kind": "endless"}, PATIENCE)
            assert not session.is_alive


async def test_a_session_whose_reader_ends_is_dead_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:  # noqa: ANN401 - never returns
        raise RuntimeError("a fault of ours")

    with wild("stdio") as config:
        async with ServerSession("s", config) as session:
            monkeypatch.setattr(wire, "readable", fail)
            for _ in range(2):
                with pytest.raises(MCPServerDiedError, match="'s' is gone"):
                    await session.call("answer", {"kind": "fine"}, PATIENCE)
                assert not session.is_alive


async def test_of_a_flood_on_stderr_the_end_is_kept_and_nothing_on_disk() -> None:
    flood = (
        "import sys; sys.stderr.write('flood ' * 2_000_000 + '\\nthe last words\\n'); "
        "print('done', flush=True); input()"
    )
    command = [sys.executable, "-c", flood]
    process = await ServerProcess.start(command, child_environment(None), None)
    try:
        assert Path(f"/proc/{process.pid}/fd/2").readlink().name.startswith("pipe:")
        async with asyncio.timeout(PATIENCE):
            await process.stdout.readline()
        process.write(b"\n")
        assert await process.exits_within(PATIENCE)
    finally:
        await process.stop()
    assert process.stderr_tail() == "the last words\n"  # the flood's line has no beginning
    assert len(process._stderr) == STDERR_BYTES


async def test_what_a_server_says_is_harmless_on_a_terminal_and_holds_no_key() -> None:
    with wild("stdio") as config:
        async with ServerSession("s", config) as session:
            failed = await session.call("answer", {"kind": "failing"})
            assert failed.error_message == "wrong api_key: ***"
            with pytest.raises(MCPServerDiedError) as caught:
                await session.call("answer", {"kind": "last words"}, PATIENCE)
    assert str(caught.value).splitlines()[-1] == "  fatal --token ***"


async def test_only_so_many_tools_are_offered_and_others_can_be_chosen(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    with wild("stdio", TOOLS=str(MOST_TOOLS + 200)) as config:
        async with ServerSession("s", config) as session:
            assert len(session.tools) == MOST_TOOLS
        assert "MCP server 's': It lists more than 1000 tools; the others are" in caplog.text
        assert "include_tools" in caplog.text
        chosen = config.model_copy(update={"include_tools": ["tool1150"]})
        async with ServerSession("s", chosen) as session:
            assert [tool["function"]["name"] for tool in session.tools] == ["tool1150"]


@pytest.mark.parametrize(("place", "is_left"), [("description", True), ("title", False)])
async def test_of_a_tool_of_absurd_size_the_description_is_cut(
    place: str, is_left: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mcp_ghost.servers.tools")
    with wild("stdio", TOOL_SIZE=str(MOST_TOOL_CHARACTERS), TOOLS="1", PLACE=place) as config:
        async with ServerSession("s", config) as session:
            tools = {tool["function"]["name"]: tool for tool in session.tools}
    assert [*tools] == ["answer", *(["big"] if is_left else []), "tool0"]
    (record,) = caplog.records
    if is_left:
        assert len(json.dumps(tools["big"])) == MOST_TOOL_CHARACTERS
        assert "the description of the tool 'big' is cut by" in record.getMessage()
    else:
        assert "Skipping the tool 'big'" in record.getMessage()


@pytest.mark.parametrize("support", ["optional", "required"])
async def test_a_tool_that_runs_only_as_a_task_is_left_out(
    support: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with wild("stdio", TASKS=support) as config:
        async with ServerSession("s", config) as session:
            names = [tool["function"]["name"] for tool in session.tools]
    assert ("task" in names) is (support == "optional")
    assert ("Skipping the tool 'task'" in caplog.text) is (support == "required")
