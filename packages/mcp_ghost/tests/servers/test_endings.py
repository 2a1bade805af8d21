"""Ends of sessions and of the whole program: no process, descriptor or thread is left."""

import asyncio
import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from mcp_ghost.errors import MCPServerDiedError
from mcp_ghost.servers import reaper
from mcp_ghost.servers.links.stdio import StdioLink
from mcp_ghost.servers.process import ServerProcess
from mcp_ghost.servers.session import ServerSession
from tests.support import PATIENCE, ROOT
from tests.support.servers import (
    call_in,
    eventually,
    faulty,
    helpers_of,
    is_running,
    open_descriptors,
    pids,
    seen,
)
from tests.support.warm import WarmPopen

pytestmark = pytest.mark.mcp
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "ends"),
    [("ok", [0, -15]), ("deaf", [-signal.SIGTERM]), ("stubborn", [-signal.SIGKILL])],
)
async def test_servers_that_ignore_their_end_are_told_again_and_then_killed(
    mode: str, ends: list[int]
) -> None:
    async def closed() -> int | None:
        session = ServerSession("s", faulty(mode))
        await session.open()
        assert isinstance(session._link, StdioLink)
        process = session._link.process
        assert process is not None
        await session.close()
        assert not is_running(process.pid)
        return process.returncode

    assert await closed() in ends


async def test_children_of_the_server_are_gone_after_close() -> None:
    child = int((await call_in(faulty(), "spawn")).content)
    assert not is_running(child)


async def test_children_of_a_server_that_died_are_gone_too_and_do_not_hide_its_death(
    tmp_path: Path,
) -> None:
    file = tmp_path / "pid"
    async with ServerSession("s", faulty()) as session:
        with pytest.raises(MCPServerDiedError, match="status 7"):
            await session.call("spawn", {"then": "die", "file": str(file)})
        assert is_running(int(file.read_text()))  # it holds the server's pipes
    assert not is_running(int(file.read_text()))


@linux
@pytest.mark.parametrize("few", [0, 1_000_000])
async def test_what_leaves_the_session_of_a_server_is_gone_after_close(
    monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Where all processes are listed, and where only the newer numbers are tried."""
    monkeypatch.setattr(reaper, "_FEW", few)
    stray = int((await call_in(faulty(), "daemonize")).content)
    assert not is_running(stray)


@linux
async def test_a_stray_that_takes_long_to_die_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reaper, "_ROUNDS", round(PATIENCE / reaper._PAUSE))
    stray = int((await call_in(faulty(), "daemonize", megabytes=256)).content)
    assert not is_running(stray)


@linux
async def test_what_left_the_session_of_a_server_that_died_is_gone_too(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    async with ServerSession("s", faulty()) as session:
        with pytest.raises(MCPServerDiedError, match="status 7"):
            await session.call("daemonize", {"then": "die", "file": str(file)})
    assert not is_running(int(file.read_text()))


async def test_open_and_close_may_come_from_different_tasks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sessions = [ServerSession(str(i), faulty(SERVER_LOG=str(log))) for i in range(3)]
    await asyncio.gather(*(asyncio.wait_for(s.open(), PATIENCE) for s in sessions))
    for session in sessions:  # first in, first out
        await asyncio.create_task(session.close())
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    assert len(pids(log)) == 3
    assert not any(is_running(pid) for pid in pids(log))


async def test_a_cancelled_open_leaves_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    opening = asyncio.create_task(ServerSession("s", faulty("mute", SERVER_LOG=str(log))).open())
    await asyncio.to_thread(eventually, lambda: bool(seen(log)))
    opening.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await opening
    assert not is_running(pids(log)[0])


@pytest.mark.parametrize("between", [0, 1, 2])
@pytest.mark.parametrize("before", range(1, 10))
async def test_a_start_that_is_cancelled_twice_leaves_no_process_and_no_pipe(
    before: int, between: int
) -> None:
    start = asyncio.ensure_future(ServerProcess.start(["sleep", "1000"], os.environ, None))
    for rounds in (before, between):
        for _ in range(rounds):
            await asyncio.sleep(0)
        start.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await (await start).stop(0)
    gc.collect()  # whatever was left says so, and that fails the test


async def test_a_start_that_is_cancelled_is_cancelled_though_it_fails() -> None:
    start = asyncio.ensure_future(ServerProcess.start(["/no/such/program"], os.environ, None))
    await asyncio.sleep(0)
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start


async def test_processes_that_are_stopped_in_a_hurry_are_reaped_without_a_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stopped_at_once() -> None:
        process = await ServerProcess.start(["sleep", "60"], os.environ, None)
        stopping = asyncio.create_task(process.stop())
        await asyncio.sleep(0)
        stopping.cancel()
        await asyncio.wait([stopping])
        assert not is_running(process.pid)

    for _ in range(20):
        await asyncio.gather(*(stopped_at_once() for _ in range(10)))
    assert not caplog.records


async def test_a_stop_whose_loop_ends_leaves_no_pipe() -> None:
    process = await ServerProcess.start(["sleep", "60"], os.environ, None)
    stop = asyncio.ensure_future(process.stop(0.0))
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await stop
    assert process._transport.is_closing()
    assert await process.exits_within(PATIENCE)  # else a later test would hear of it


def test_a_forgotten_close_is_made_up_for_when_the_loop_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def forgetful() -> None:
        await ServerSession("s", faulty(SERVER_LOG=str(log))).open()

    asyncio.run(forgetful())
    assert not is_running(pids(log)[0])


@pytest.mark.soak
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
    results: list[object] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(call_in(faulty(), "echo", text="x")).content)
    )
    thread.start()
    thread.join(PATIENCE)
    assert results == ["x"]


# --- ends of the whole program ----------------------------------------------------------------

PROGRAM = """
    import asyncio, os, sys
    from tests.support.servers import faulty
    from mcp_ghost.servers.session import ServerSession

    async def main():
        session = ServerSession("s", faulty(sys.argv[1]))
        await session.open()
        child = (await session.call("spawn", {})).content
        print(child, session._link.process.pid, flush=True)
        await asyncio.sleep(1000)

    asyncio.run(main())
"""


def start_program(mode: str, source: str = PROGRAM) -> tuple[subprocess.Popen[str], list[int]]:
    program = WarmPopen(
        [sys.executable, "-c", textwrap.dedent(source), mode],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    assert program.stdout is not None
    return program, [int(pid) for pid in program.stdout.readline().split()]


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
        assert program.wait(PATIENCE) != 0
        assert eventually(lambda: not any(is_running(pid) for pid in servers + helpers))


STRAYS = """
    import asyncio, sys
    from tests.support.servers import faulty
    from mcp_ghost.servers.session import ServerSession

    async def main():
        sessions = [ServerSession(f"s{i}", faulty()) for i in range(int(sys.argv[1]))]
        for session in sessions:
            await session.open()
        pids = [(await session.call("daemonize", {})).content for session in sessions]
        print(*pids, flush=True)
        await asyncio.sleep(1000)

    asyncio.run(main())
"""


@linux
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_that_left_its_session_outlives_a_program_that_is_ended(
    number: signal.Signals,
) -> None:
    """By hand with more of them: ``STRAYS=40 uv run poe tests -k left_its_session``."""
    program, strays = start_program(os.environ.get("STRAYS", "2"), STRAYS)
    with program:
        assert strays
        assert all(is_running(pid) for pid in strays)
        program.send_signal(number)
        assert program.wait(PATIENCE) != 0
        assert eventually(lambda: not any(is_running(pid) for pid in strays))


def test_a_helper_that_was_killed_is_replaced_and_knows_the_servers() -> None:
    source = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from tests.support.servers import eventually, is_running
        from tests.support.servers import faulty
        from mcp_ghost.servers.session import ServerSession
        from tests.support.servers import helpers_of

        async def main():
            first = ServerSession("s", faulty())
            await first.open()
            helper, = helpers_of(os.getpid())
            os.kill(helper, signal.SIGKILL)
            eventually(lambda: not is_running(helper))
            second = ServerSession("s", faulty())
            await second.open()
            servers = [session._link.process.pid for session in (first, second)]
            print(*servers, *helpers_of(os.getpid()), flush=True)
            await asyncio.sleep(1000)

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
        from tests.support.servers import faulty
        from mcp_ghost.servers.session import ServerSession

        async def main():
            session = ServerSession("s", faulty("deaf"))
            await session.open()
            if not (fork := os.fork()):
                time.sleep(1000)
            print(fork, session._link.process.pid, flush=True)
            await asyncio.sleep(1000)

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
        from tests.support.servers import faulty
        from mcp_ghost.servers.session import ServerSession
        async def main():
            async with ServerSession("s", faulty()) as session:
                print((await session.call("echo", {"text": "done"})).content)
        asyncio.run(main())
    """
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        cwd=ROOT,
        check=False,
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == ("done\n", "", 0)


def test_the_sdk_is_not_imported_before_a_server_is_opened() -> None:
    loaded = "[m for m in ('mcp', 'anyio') if m in sys.modules]"
    code = f"import sys, mcp_ghost.servers.session; print({loaded})"
    output = subprocess.check_output([sys.executable, "-c", code], text=True, timeout=PATIENCE)
    assert re.fullmatch(r"\[\]\n", output)
