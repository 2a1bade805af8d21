"""Sessions with real servers: every fault, every way to end, and nothing left behind."""

import asyncio
import contextlib
import logging
import os
import re
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import (
    MCPConfigError,
    MCPError,
    MCPServerDiedError,
    MCPServerStartupError,
    MCPToolCallError,
)
from mcp_ghost.results import ToolCallResult
from mcp_ghost.session import ServerSession
from tests.servers import eventually, faulty, is_running, seen

ROOT = Path(__file__).parent.parent


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def names(session: ServerSession) -> list[str]:
    return [tool["function"]["name"] for tool in session.tools]


async def call_in(config: ServerConfig, tool: str, **arguments: object) -> ToolCallResult:
    async with ServerSession("s", config) as session:
        return await session.call(tool, arguments)


def startup_failure(config: ServerConfig, timeout: float = 10.0) -> str:
    with pytest.raises(MCPServerStartupError) as failure:
        asyncio.run(ServerSession("demo", config).open(timeout))
    return str(failure.value)


def pids(log: Path) -> list[int]:
    return [entry["pid"] for entry in seen(log) if entry["event"] == "start"]


# --- the ordinary life of a session -----------------------------------------------------------


def test_a_session_opens_lists_calls_and_closes(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def life() -> None:
        async with ServerSession("s", faulty(SERVER_LOG=str(log))) as session:
            assert session.is_alive
            assert session.server_info == {"name": "faulty", "version": "1.0"}
            assert "echo" in names(session)
            assert (await session.call("echo", {"text": "hello"})).content == "hello"
        assert not session.is_alive

    asyncio.run(life())
    methods = [entry["method"] for entry in seen(log) if entry["event"] == "message"]
    assert methods == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    assert seen(log)[-1]["event"] == "end of input"
    assert not is_running(pids(log)[0])


@pytest.mark.parametrize("mode", ["oldproto", "garbage"])
def test_old_protocols_and_chatter_on_stdout_do_not_matter(
    mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    assert asyncio.run(call_in(faulty(mode), "echo", text="x")).content == "x"
    assert caplog.records == []


def test_the_server_sees_the_system_environment_with_the_configured_on_top(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FROM_SYSTEM", "system")
    monkeypatch.setenv("IN_BOTH", "system")
    config = faulty(IN_BOTH="configured", EXPANDED="<{env:FROM_SYSTEM}>")
    env = asyncio.run(call_in(config, "environment")).content
    assert env["FROM_SYSTEM"] == "system"
    assert env["IN_BOTH"] == "configured"
    assert env["EXPANDED"] == "<system>"
    assert env["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert env["PATH"].endswith(os.environ["PATH"])


def test_a_configured_path_stands_as_it_is() -> None:
    assert (
        asyncio.run(call_in(faulty(PATH="/nowhere"), "environment")).content["PATH"] == "/nowhere"
    )


def test_the_working_directory_can_be_configured(tmp_path: Path) -> None:
    config = faulty().model_copy(update={"cwd": str(tmp_path)})
    assert asyncio.run(call_in(config, "where")).content == str(tmp_path)
    assert asyncio.run(call_in(faulty(), "where")).content == str(Path.cwd())


# --- listing ----------------------------------------------------------------------------------


def test_every_page_of_tools_is_listed() -> None:
    async def listed() -> list[str]:
        async with ServerSession("s", faulty("paged")) as session:
            return names(session)

    assert asyncio.run(listed()) == ["tool0a", "tool0b", "tool1a", "tool1b", "tool2a", "tool2b"]


def test_a_repeated_cursor_ends_the_listing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    result = asyncio.run(call_in(faulty("loopcursor", SERVER_LOG=str(log)), "echo", text="x"))
    assert result.content == "x"
    assert len([e for e in seen(log) if e.get("method") == "tools/list"]) == 2


def test_malformed_tools_do_not_hide_the_others(caplog: pytest.LogCaptureFixture) -> None:
    async def listed() -> dict[str, object]:
        async with ServerSession("s", faulty("badtools")) as session:
            return {t["function"]["name"]: t["function"]["parameters"] for t in session.tools}

    nothing = {"type": "object", "properties": {}}
    assert asyncio.run(listed()) == {
        "noschema": nothing,
        "badschema": nothing,
        "emptyschema": nothing,
        "echo": {"type": "object", "properties": {"text": {"type": "string"}}},
    }
    assert "without a name" in caplog.text
    assert "second tool of the name 'echo'" in caplog.text


def test_a_server_without_tools_can_be_opened() -> None:
    async def listed() -> list[str]:
        async with ServerSession("s", faulty("toolless")) as session:
            return names(session)

    assert asyncio.run(listed()) == []


# --- calls that go wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("fail", "the lamp is broken"),
        ("refuse", "arguments are wrong"),
        ("refuse_generic", "backend unavailable"),
        ("bad_result", "The server answered with a malformed result."),
        ("bad_reply", "The server sent a malformed reply"),
    ],
)
def test_what_the_server_refuses_is_a_result_and_the_session_goes_on(
    tool: str, message: str
) -> None:
    async def refused() -> ToolCallResult:
        async with ServerSession("s", faulty()) as session:
            result = await session.call(tool, {})
            assert (await session.call("echo", {"text": "on"})).content == "on"
            return result

    result = asyncio.run(refused())
    assert result.is_error
    assert result.error_message == message


def test_a_call_that_takes_too_long_is_cancelled_and_the_session_stays_usable(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"

    async def slow() -> None:
        async with ServerSession("s", faulty(SERVER_LOG=str(log))) as session:
            with pytest.raises(asyncio.TimeoutError, match=r"'hang' within 0\.1 s"):
                await session.call("hang", {}, timeout=0.1)
            assert (await session.call("echo", {"text": "on"})).content == "on"

    asyncio.run(slow())
    assert "notifications/cancelled" in [entry.get("method") for entry in seen(log)]


def test_the_death_of_a_server_is_known_at_once_and_for_later_calls() -> None:
    async def dying() -> None:
        async with ServerSession("demo", faulty()) as session:
            started = time.perf_counter()
            with pytest.raises(MCPServerDiedError) as death:
                await session.call("die", {})
            assert "exited with status 7" in str(death.value)
            assert "fatal: out of cheese" in str(death.value)
            again = time.perf_counter()
            with pytest.raises(MCPServerDiedError):
                await session.call("echo", {})
            assert again - started < 1.0
            assert time.perf_counter() - again < 0.05
            assert not session.is_alive

    asyncio.run(dying())


def test_a_server_killed_between_calls_is_noticed(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def killed() -> None:
        async with ServerSession("demo", faulty(SERVER_LOG=str(log))) as session:
            os.kill(pids(log)[0], signal.SIGKILL)
            with pytest.raises(MCPServerDiedError, match="was ended by SIGKILL"):
                await session.call("echo", {})

    asyncio.run(killed())


def test_a_server_that_closes_its_output_is_gone() -> None:
    async def closing() -> None:
        async with ServerSession("demo", faulty()) as session:
            with pytest.raises(MCPServerDiedError, match="closed its connection"):
                await session.call("close_output", {})

    asyncio.run(closing())


def test_a_long_result_arrives_and_is_cut_visibly() -> None:
    async def long() -> ToolCallResult:
        async with ServerSession("s", faulty(), result_limit=1000) as session:
            return await session.call("huge", {"size": 3_000_000})

    content = asyncio.run(long()).content
    assert content.startswith("x" * 1000 + "\n[cut here: 2999000 of 3000000")


def test_notifications_during_a_call_do_not_disturb_it() -> None:
    assert asyncio.run(call_in(faulty(), "change_list")).content == "changed"


def test_calls_before_open_and_after_close_are_errors() -> None:
    async def misuse() -> None:
        session = ServerSession("demo", faulty())
        with pytest.raises(MCPToolCallError, match="not open"):
            await session.call("echo", {})
        await session.close()
        await session.open()
        with pytest.raises(MCPError, match="opened before"):
            await session.open()
        await session.close()
        await session.close()
        with pytest.raises(MCPToolCallError, match="not open"):
            await session.call("echo", {})

    asyncio.run(misuse())


# --- starts that go wrong ---------------------------------------------------------------------


def test_the_startup_error_has_the_specified_first_lines_and_the_end_of_stderr() -> None:
    message = startup_failure(faulty("exit3"))
    lines = message.splitlines()
    assert lines[0] == (
        "Failed to start MCP server 'demo': it exited with status 3 before it was ready"
    )
    assert lines[1].startswith("Command: ")
    assert lines[1].endswith("faulty.py exit3")
    assert lines[2].startswith("Check that the module or script exists")
    assert lines[-1] == "  fatal: missing API key, got none"


def test_secrets_do_not_reach_the_startup_error() -> None:
    config = faulty("exit3", DEMO_API_KEY="correct-horse-7")
    message = startup_failure(
        config.model_copy(update={"args": [*config.args, "--token", "tr0ub4dor"]})
    )
    assert "fatal: missing API key, got ***" in message
    assert "correct-horse-7" not in message
    assert "tr0ub4dor" not in message


def test_a_server_that_never_answers_is_given_up_in_time(tmp_path: Path) -> None:
    log = tmp_path / "log"
    started = time.perf_counter()
    message = startup_failure(faulty("mute", SERVER_LOG=str(log)), timeout=0.3)
    assert "it did not answer within 0.3 s" in message
    assert time.perf_counter() - started < 3
    assert not is_running(pids(log)[0])


@pytest.mark.parametrize(
    ("config", "details", "hint"),
    [
        (ServerConfig(command="no-such-program"), "command not found: no-such-program", "on PATH"),
        (
            ServerConfig(command="npx", env={"PATH": "/nowhere"}),
            "command not found: npx",
            "'node' was not found: install version 22 or newer from https://nodejs.org.",
        ),
        (
            ServerConfig(command="uvx", env={"PATH": "/nowhere"}),
            "not found: uvx",
            "uv is installed",
        ),
        (ServerConfig(command="docker", env={"PATH": "/x"}), "not found: docker", "Docker is"),
        (ServerConfig(command="/etc/passwd"), "/etc/passwd is not executable", ""),
        (ServerConfig(command="a\0b"), "embedded null byte", ""),
        (faulty().model_copy(update={"cwd": "/nowhere"}), "directory /nowhere cannot be", ""),
        (faulty("badproto"), "Unsupported protocol version from the server: 1999-01-01", ""),
        (faulty("badinit"), "its answer is not MCP", ""),
        (ServerConfig(command="true"), "it exited with status 0 before it was ready", ""),
    ],
)
def test_each_failure_to_start_says_what_to_do(
    config: ServerConfig, details: str, hint: str
) -> None:
    message = startup_failure(config)
    assert details in message.splitlines()[0]
    assert hint in message.splitlines()[2]


def test_a_node_that_is_too_old_is_named(tmp_path: Path) -> None:
    for name, body in {"node": "echo v18.19.1", "npx": "exit 1"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(stat.S_IRWXU)
    config = ServerConfig(command="npx", args=["-y", "x"], env={"PATH": f"{tmp_path}:/bin"})
    message = startup_failure(config)
    assert "Command: npx -y x" in message
    assert "This is Node.js v18.19.1; current servers need more" in message


def test_a_script_without_an_interpreter_line_is_named(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("echo hello\n")
    script.chmod(stat.S_IRWXU)
    assert "is not a program" in startup_failure(ServerConfig(command=str(script)))


def test_an_undefined_variable_is_a_configuration_error() -> None:
    config = faulty(KEY="{env:NO_SUCH_VARIABLE}")
    with pytest.raises(MCPConfigError, match="'demo' needs the environment variable NO_SUCH_VAR"):
        asyncio.run(ServerSession("demo", config).open())


def test_a_url_is_refused_clearly() -> None:
    with pytest.raises(MCPConfigError, match="'demo' has a 'url'"):
        asyncio.run(ServerSession("demo", ServerConfig(url="http://localhost/mcp")).open())


# --- endings ----------------------------------------------------------------------------------


async def open_then(
    log: Path, mode: str, act: Callable[[ServerSession], Awaitable[object]]
) -> float:
    session = ServerSession("s", faulty(mode, SERVER_LOG=str(log)))
    await session.open()
    started = time.perf_counter()
    await act(session)
    return time.perf_counter() - started


@pytest.mark.slow
def test_servers_that_ignore_their_end_are_killed_in_bounded_time(tmp_path: Path) -> None:
    logs = {mode: tmp_path / mode for mode in ("ok", "deaf", "stubborn")}

    async def close_all() -> list[float]:
        return await asyncio.gather(
            *(open_then(log, mode, ServerSession.close) for mode, log in logs.items())
        )

    polite, deaf, stubborn = asyncio.run(close_all())
    assert polite < 1 < deaf < 3 < stubborn < 5
    assert not any(is_running(pids(log)[0]) for log in logs.values())


def test_children_of_the_server_are_gone_after_close() -> None:
    child = int(asyncio.run(call_in(faulty(), "spawn")).content)
    assert not is_running(child)


def test_children_of_a_server_that_died_are_gone_too_and_do_not_hide_its_death(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pid"

    async def dying() -> None:
        async with ServerSession("s", faulty()) as session:
            started = time.perf_counter()
            with pytest.raises(MCPServerDiedError, match="status 7"):
                await session.call("spawn", {"then": "die", "file": str(file)})
            assert time.perf_counter() - started < 1
            assert is_running(int(file.read_text()))  # it holds the server's pipes

    asyncio.run(dying())
    assert not is_running(int(file.read_text()))


def test_open_and_close_may_come_from_different_tasks(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def across_tasks() -> None:
        sessions = [ServerSession(str(i), faulty(SERVER_LOG=str(log))) for i in range(3)]
        await asyncio.gather(*(asyncio.wait_for(s.open(), 10) for s in sessions))
        for session in sessions:  # first in, first out
            await asyncio.create_task(session.close())
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(across_tasks())
    assert len(pids(log)) == 3
    assert not any(is_running(pid) for pid in pids(log))


def test_a_cancelled_open_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def cancelled() -> None:
        opening = asyncio.create_task(
            ServerSession("s", faulty("mute", SERVER_LOG=str(log))).open()
        )
        await asyncio.to_thread(eventually, lambda: bool(seen(log)))
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await opening
        assert not is_running(pids(log)[0])

    asyncio.run(cancelled())


def test_a_forgotten_close_is_made_up_for_when_the_loop_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def forgetful() -> None:
        await ServerSession("s", faulty(SERVER_LOG=str(log))).open()

    started = time.perf_counter()
    asyncio.run(forgetful())
    assert time.perf_counter() - started < 2
    assert not is_running(pids(log)[0])


def test_forty_loops_leave_no_descriptor_thread_or_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    config = faulty(SERVER_LOG=str(log))
    asyncio.run(call_in(config, "echo", text="warm"))
    descriptors, threads = open_descriptors(), threading.active_count()
    for turn in range(40):
        assert asyncio.run(call_in(config, "echo", text=str(turn))).content == str(turn)
    assert open_descriptors() == descriptors
    assert eventually(lambda: threading.active_count() <= threads)
    assert len(set(pids(log))) == 41
    assert not any(is_running(pid) for pid in pids(log))


def test_a_session_works_in_a_thread_that_is_not_the_main_one() -> None:
    results: list[ToolCallResult] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(call_in(faulty(), "echo", text="x")))
    )
    thread.start()
    thread.join(20)
    assert [result.content for result in results] == ["x"]


# --- ends of the whole program ----------------------------------------------------------------

PROGRAM = """
    import asyncio, os, sys
    from tests.servers import faulty
    from mcp_ghost.session import ServerSession

    async def main():
        session = ServerSession("s", faulty(sys.argv[1]))
        await session.open()
        child = (await session.call("spawn", {})).content
        print(child, session._process.pid, flush=True)
        await asyncio.sleep(60)

    asyncio.run(main())
"""


def start_program(mode: str, source: str = PROGRAM) -> tuple[subprocess.Popen[str], list[int]]:
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(source), mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )
    assert program.stdout is not None
    return program, [int(pid) for pid in program.stdout.readline().split()]


def helpers_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in children
        if "reaper.py" in Path(f"/proc/{child}/cmdline").read_text()
    ]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("mode", ["ok", "stubborn"])
def test_nothing_outlives_a_program_that_is_ended_by_a_signal(
    number: signal.Signals, mode: str
) -> None:
    program, servers = start_program(mode)
    with program:
        assert len(servers) == 2
        assert all(is_running(pid) for pid in servers)
        helpers = helpers_of(program.pid)
        assert len(helpers) == 1
        program.send_signal(number)
        assert program.wait(15) != 0
        assert eventually(lambda: not any(is_running(pid) for pid in servers + helpers))


def test_a_helper_that_was_killed_is_replaced_and_knows_the_servers() -> None:
    source = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from tests.servers import eventually, faulty, is_running
        from mcp_ghost.session import ServerSession
        from tests.test_mcp_ghost_session import helpers_of

        async def main():
            first = ServerSession("s", faulty())
            await first.open()
            helper, = helpers_of(os.getpid())
            os.kill(helper, signal.SIGKILL)
            eventually(lambda: not is_running(helper))
            second = ServerSession("s", faulty())
            await second.open()
            print(first._process.pid, second._process.pid, *helpers_of(os.getpid()), flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
    """
    program, pids = start_program("", source)
    with program:
        assert len(pids) == 3
        program.kill()
        assert eventually(lambda: not any(is_running(pid) for pid in pids))


def test_a_forked_child_does_not_keep_the_servers_alive() -> None:
    source = """
        import asyncio, os, time
        from tests.servers import faulty
        from mcp_ghost.session import ServerSession

        async def main():
            session = ServerSession("s", faulty("deaf"))
            await session.open()
            if not (fork := os.fork()):
                time.sleep(60)
            print(fork, session._process.pid, flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
    """
    program, (fork, server) = start_program("", source)
    with program:
        program.kill()
        assert eventually(lambda: not is_running(server))
        assert is_running(fork)
        os.kill(fork, signal.SIGKILL)


def test_a_program_that_used_servers_exits_quietly_and_at_once() -> None:
    source = """
        import asyncio
        from tests.servers import faulty
        from mcp_ghost.session import ServerSession
        async def main():
            async with ServerSession("s", faulty()) as session:
                print((await session.call("echo", {"text": "done"})).content)
        asyncio.run(main())
    """
    finished = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=30,
        cwd=ROOT,
        check=False,
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == ("done\n", "", 0)


def test_the_sdk_is_not_imported_before_a_server_is_opened() -> None:
    code = "import sys, mcp_ghost.session; print([m for m in ('mcp', 'anyio') if m in sys.modules])"
    output = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=30)
    assert re.fullmatch(r"\[\]\n", output)
