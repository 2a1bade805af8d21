"""Every test runs in a folder of its own and without the keys of whoever runs it."""

from __future__ import annotations

import gc
import os
import re
import signal
import ssl
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import httpcore2
import pytest
from hypothesis import settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from tests.support.ghosts import Bank, Notes
    from tests.support.journal import Journal
    from tests.support.program import Program

# How long an example takes says more about the machine than about us.
settings.register_profile("any machine", deadline=None, max_examples=24)
settings.register_profile("unit", deadline=None, max_examples=20)
settings.register_profile("glance", deadline=None, max_examples=3)

PREFIXES = ("LANGFUSE_", "MOVIE_", "OPENROUTER_", "ZORKGPT_")
STARTED = re.compile(
    r"subprocess|multiprocessing|socket|httpx2|executable|Program\b|ModelServer|ZorkOrchestrator"
    r"|MCPManager\(|Worker\(|open_game\(|hundred_times|support\.(browser|clients|collector|embedded_model"
    r"|ghosts|journal|movie|playing|postgres|servers|stored|viewing)"
    r"|support\.episodes import [^\n]*\bplayed\b|game_server\.guests"
)
"""What a test of one unit has nothing to do with: processes, servers, whole episodes."""
NAMES = frozenset({"CONFIG_PATH", "MCP_CONFIG_PATH"})
TOGETHER = ("tests/viewer/web/pages/", "packages/mcp_ghost/tests/providers/test_sdk")
"""What shares one worker, and with it a browser, or the providers' SDKs: they start slowly."""
NUMBERS = count()
BY_HAND = ("network", "soak")
"""What runs only when it is asked for."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--unit", action="store_true", help="no files that name what is STARTED")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if not config.getoption("--unit") or not collection_path.match("test_*.py"):
        return None
    return _starts_something(collection_path) or None


@cache
def _starts_something(path: Path) -> bool:
    return bool(STARTED.search(path.read_text(encoding="utf-8")))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("unit" if config.getoption("--unit") else "any machine")
    # What a shell starts in the background ignores Ctrl-C, what nohup starts the end of a terminal,
    # and so would the programs of the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return SomeTogether(config, log) if config.getoption("dist") == "loadfile" else None


class SomeTogether(LoadFileScheduling):  # type: ignore[misc]  # xdist is untyped
    """Hands out files, but those TOGETHER as one."""

    def _split_scope(self, nodeid: str) -> str:
        scope: str = super()._split_scope(nodeid)
        return next(filter(nodeid.startswith, TOGETHER), scope)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is imported here stays: to look through it again and again for garbage takes a fifth."""
    gc.disable()
    try:
        _compile_a_share(session.config)
        yield
    finally:
        gc.freeze()
        gc.enable()


def _compile_a_share(config: pytest.Config) -> None:
    """Workers that all began with the first file would each compile every file of a new clone."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    for path in sorted(it for folder in folders for it in folder.rglob("test_*.py"))[number::count]:
        module = ".".join(path.relative_to(config.rootpath).with_suffix("").parts)
        with suppress(Exception, pytest.skip.Exception):  # told when the file is collected
            import_module(module)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    _slow_files_first(items)
    for marker in BY_HAND:
        if marker not in config.getoption("-m"):
            _leave_out(config, items, marker)


def _leave_out(config: pytest.Config, items: list[pytest.Item], marker: str) -> None:
    left_out = [item for item in items if item.get_closest_marker(marker)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker(marker)]


def _slow_files_first(items: list[pytest.Item]) -> None:
    """Whoever hands out files gives away the long ones while there is other work beside them.

    Among files with equally many slow tests, those that start processes come first.
    """
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (-slow[item.path], not _starts_something(item.path)))


@pytest.fixture(scope="session", autouse=True)
def no_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            ours = name.startswith(PREFIXES) or name in NAMES or name.endswith("_API_KEY")
            if ours:
                patch.delenv(name)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        # Requests of the model are those of the turns; tests of reflections switch them on.
        patch.setenv("ZORKGPT_REFLECTION_ENABLED", "false")
        yield


@pytest.fixture(scope="session", autouse=True)
def one_tls_context() -> Iterator[None]:
    """The certificates of all authorities are read once, not by each of a thousand clients."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield


@pytest.fixture(autouse=True)
def no_memory_of_servers() -> None:
    """What a server speaks is asked anew."""
    if revision := sys.modules.get("mcp_ghost.servers.protocol.revision"):
        revision._spoken.clear()


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As pytest's, which goes through all folders there are to number the next."""
    path = tmp_path_factory.getbasetemp() / f"test-{next(NUMBERS)}"
    path.mkdir(mode=0o700)
    return path


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    from tests.support.ghosts import Notes

    return Notes(tmp_path)


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    from tests.support.ghosts import Bank

    return Bank(tmp_path)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    from tests.support.journal import Journal

    return Journal(tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    from tests.support.program import Program

    return Program(tmp_path)
