"""Runs the tests in processes that are forked once all are collected: ``pytest --forks N``.

Each worker of pytest-xdist imports and collects everything by itself, which takes eight of them a
tenth of all the CPU that the tests need. A fork has everything from the start.
"""

from __future__ import annotations

import atexit
import os
import traceback
from collections import defaultdict, deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any

import pytest
from _pytest.capture import CaptureManager
from _pytest.terminal import TerminalReporter

_PAGES = "tests/viewer/web/pages/"
"""A browser takes seconds to start: the tests of the pages share one worker."""
BESIDE = 6
"""Workers more than cores: many tests wait for processes to start and to end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", default="0", metavar="N", help="processes; or auto")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    asked = session.config.getoption("--forks")
    count = (os.cpu_count() or 1) + BESIDE if asked == "auto" else int(asked)
    if not count or session.testsfailed or session.config.option.collectonly:
        return None
    Crew(session).run(count)
    return True


class Crew:
    """Hands out files to whoever is idle, and tells pytest how the tests went."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        files: dict[str, deque[int]] = defaultdict(deque)
        for place, item in enumerate(session.items):
            file = _PAGES if item.nodeid.startswith(_PAGES) else item.nodeid.split("::")[0]
            files[file].append(place)
        self._files = deque(files.values())
        self._pids: dict[Connection, int] = {}
        self._tests: dict[Connection, deque[int]] = {}
        """What each worker still has to run; the first test may have begun."""
        self._broken = ""

    def run(self, count: int) -> None:
        """Run all; raises what pytest's own loop raises where it is to stop early."""
        session = self._session
        try:
            for _ in range(min(count, len(self._files))):
                self._begin_worker()
            while self._pids:
                for link in wait([*self._pids]):
                    self._listen(link)  # type: ignore[arg-type]
                    if session.shouldfail:
                        raise session.Failed(session.shouldfail)
                    if session.shouldstop:
                        raise session.Interrupted(session.shouldstop)
            if self._broken:
                session.shouldfail = self._broken
                raise session.Failed(self._broken)
        finally:
            for link in self._pids:  # whose connection is lost cleans up and ends
                link.close()
            for pid in self._pids.values():
                os.waitpid(pid, 0)

    def _begin_worker(self) -> None:
        ours, theirs = Pipe()
        if (pid := os.fork()) == 0:
            code = 1
            try:
                for link in (ours, *self._pids):
                    link.close()
                code = _work(self._session, theirs)
            finally:
                os._exit(code)
        theirs.close()
        self._pids[ours], self._tests[ours] = pid, deque()

    def _listen(self, link: Connection) -> None:
        hook, tests = self._session.config.hook, self._tests[link]
        try:
            said: dict[str, Any] | str | None = link.recv()
        except (EOFError, OSError):
            said = "The worker ended in the middle of the test"
        if said is None:
            if self._files:
                tests.extend(self._files.popleft())
            link.send([*tests])
        elif isinstance(said, dict):
            report = hook.pytest_report_from_serializable(config=self._session.config, data=said)
            hook.pytest_runtest_logreport(report=report)
            if report.when == "teardown":
                tests.popleft()
        else:
            self._end_worker(link, said)

    def _end_worker(self, link: Connection, why: str) -> None:
        link.close()
        tests = self._tests.pop(link)
        _, status = os.waitpid(self._pids.pop(link), 0)
        if tests:
            item = self._session.items[tests.popleft()]
            report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
            self._session.config.hook.pytest_runtest_logreport(report=report)
            self._files.extendleft([tests] if tests else [])
        elif status:
            self._broken = why
        if self._files:
            self._begin_worker()


def _work(session: pytest.Session, link: Connection) -> int:
    """Run what the link says until it says nothing; the exit code is 0 unless the worker failed."""
    atexit._clear()
    plugins = session.config.pluginmanager
    terminal = plugins.unregister(name="terminalreporter")
    assert isinstance(terminal, TerminalReporter)
    plugins.register(_Teller(session.config, link, terminal), "terminalreporter")
    capturing = plugins.getplugin("capturemanager")
    assert isinstance(capturing, CaptureManager)
    capturing.stop_global_capturing()  # into files that all of us would write
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    folders = session.config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.mktemp(f"worker-{os.getpid()}", numbered=False)
    try:
        try:
            while tests := _asked(link):
                for place, after in zip(tests, [*tests[1:], None], strict=True):
                    # After the last test of a file, only what belongs to the session stays.
                    following = session if after is None else session.items[after]
                    session.config.hook.pytest_runtest_protocol(
                        item=session.items[place], nextitem=following
                    )
        finally:
            session._setupstate.teardown_exact(None)
            atexit._run_exitfuncs()
    except (KeyboardInterrupt, BrokenPipeError, EOFError):
        return 0
    except Exception:  # noqa: BLE001  the first process tells it, whatever it was
        link.send(traceback.format_exc())
        return 1
    return 0


def _asked(link: Connection) -> list[int]:
    link.send(None)
    tests: list[int] = link.recv()
    return tests


class _Teller:
    """Stands in a worker where the terminal stood, and tells the reports to the first process."""

    def __init__(self, config: pytest.Config, link: Connection, terminal: TerminalReporter) -> None:
        self._config = config
        self._link = link
        self._tw = terminal._tw  # to which pytest-timeout writes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        self._link.send(hook.pytest_report_to_serializable(config=self._config, report=report))
