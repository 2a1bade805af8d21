"""Figures of the viewer: how soon an episode shows, how soon a turn, and what that takes.

Part of ``workshop/benchmark.py``, and by itself: ``uv run python -m workshop.benchmarks.viewer``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
from rich.console import Console
from rich.table import Table

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.testing import ModelServer
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE
from viewer.web.watch import watching
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from playwright.sync_api import Browser


ROOT = Path(__file__).parents[2]
LENGTHS = (10, 200, 2000)
_EPISODES, _TURNS_EACH = 301, 20
_TURNS_LIVE = 30
_SNAPSHOT = 8000
"""Characters added to each snapshot: as in a game of the size of Zork I."""
_WALK = ("north", "examine me", "look", "south", "inventory") * 4
_TURNS = ("first_turn", "last_turn")
_ROW = "[data-turn='{}']"
_NOTE_NEXT_ROW = """turn => { window.seenAt = new Promise(done => {
    const see = () => document.querySelector(`[data-turn='${turn}']`) && done(Date.now());
    new MutationObserver(see).observe(document.body, {childList: true, subtree: true});
}) }"""
_FIRST_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def write_long_log(source: Path, folder: Path, turns: int, padding: int = 0) -> Path:
    """An episode of ``turns`` turns made of those of another, over and over; its folder.

    Args:
        source: The folder of an episode that was played.
        folder: Where to write it.
        turns: How many.
        padding: Characters by which each snapshot grows, as those of larger games are.
    """
    events = [json.loads(line) for line in (source / EVENTS_FILE).read_bytes().splitlines()]
    kinds = [event["event_type"] for event in events]
    first, last = kinds.index("turn_start"), len(kinds) - kinds[::-1].index("turn")
    played = kinds.count("turn")
    folder.mkdir(parents=True)
    with (folder / EVENTS_FILE).open("w", encoding="utf-8") as file:
        file.writelines(_line(event) for event in events[:first])
        for before in range(0, turns, played):
            for event in events[first:last]:
                turn = before + event["turn"]
                if turn <= turns:
                    file.write(_line(_moved(event, turn, padding)))
    return folder


def viewer(console: Console) -> None:
    """Print every table."""
    with tempfile.TemporaryDirectory() as folder:
        source = _played(Path(folder) / "source", _WALK)
        index(console, source, Path(folder))
        with chromium() as browser:
            opening(console, source, Path(folder), browser)
            latency(console, source, Path(folder), browser)
        beside_a_game(console, Path(folder))


def index(console: Console, source: Path, folder: Path) -> None:
    """The list of many episodes: the first time, and by another server after that."""
    workdir = folder / "many"
    first = write_long_log(source, workdir / "episodes" / "e0", _TURNS_EACH, _SNAPSHOT)
    for number in range(1, _EPISODES):
        shutil.copytree(first, first.with_name(f"e{number}"))
    size = (first / EVENTS_FILE).stat().st_size * _EPISODES
    table = Table(
        f"{_EPISODES} episodes, {size / 1e6:.0f} MB", "start, s", "first rows, s", "all rows, s"
    )
    for name in ("read for the first time", "summaries on disk"):
        began = time.perf_counter()
        with _server(workdir) as (client, _):
            seconds = [time.perf_counter() - began]
            for query in ({"partial": ""}, {}):
                client.get("data/episodes.json", params=query).raise_for_status()
                seconds.append(time.perf_counter() - began)
        table.add_row(name, *(f"{it:.2f}" for it in seconds))
    console.print(table)


def opening(console: Console, source: Path, folder: Path, browser: Browser | None) -> None:
    """An episode that nobody has looked at yet."""
    table = Table(
        "turns", "log, MB", "to episode, ms", "to turns, ms", "to paint, ms", "to row, ms"
    )
    for turns in LENGTHS:
        workdir = folder / f"of-{turns}"
        log = write_long_log(source, workdir / "episodes" / "long", turns, _SNAPSHOT) / EVENTS_FILE
        with _server(workdir) as (client, process):
            began = time.perf_counter()
            client.get("data/long/episode.json").raise_for_status()
            indexed = time.perf_counter()
            client.get(f"data/long/turns/{(turns - 1) // 50}.json").raise_for_status()
            ready = time.perf_counter()
            memory = _memory(process.pid)
        painted = _painted(browser, workdir, turns)
        numbers = ((indexed - began) * 1000, (ready - indexed) * 1000, *painted)
        table.add_row(
            str(turns), f"{log.stat().st_size / 1e6:.1f}", *(f"{it:.0f}" for it in numbers)
        )
    console.print(table)
    console.print(f"memory of the server after {LENGTHS[-1]} turns: {memory:.0f} MB")


def latency(console: Console, source: Path, folder: Path, browser: Browser | None) -> None:
    """From the instant at which a turn is on the disk."""
    table = Table("a turn, ms (median)", "to its event", "to its row in the page")
    for turns in LENGTHS[1:]:
        long = write_long_log(source, folder / "all" / str(turns), turns + 2 * _TURNS_LIVE)
        workdir = folder / f"live-{turns}"
        write_long_log(source, workdir / "episodes" / "long", turns)
        to_come = _turns_after(long, turns)
        log = workdir / "episodes" / "long" / EVENTS_FILE
        with _server(workdir) as (client, _):
            told = _until_told(client, log, to_come[:_TURNS_LIVE], turns)
            seen = _until_seen(browser, client, log, to_come[_TURNS_LIVE:])
        cells = (statistics.median(told), statistics.median(seen) if seen else float("nan"))
        table.add_row(f"after {turns} turns", *(f"{it * 1000:.0f}" for it in cells))
    console.print(table)


def beside_a_game(console: Console, folder: Path) -> None:
    """What watching costs the game: both are in one process."""
    table = Table("a turn of 100, best of 3", "ms", "ms of the processor")
    for name, is_watched in (("not watched", False), ("watched by one", True)):
        seconds, busy = [], []
        for number in range(3):
            with ExitStack() as stack:
                workdir = folder / f"{name}-{number}"
                if is_watched:
                    address = stack.enter_context(watching(workdir, open_browser=False))
                    stack.enter_context(_reader(address))
                began, used = time.perf_counter(), time.process_time()
                _played(workdir, _WALK * 5)
                seconds.append(time.perf_counter() - began)
                busy.append(time.process_time() - used)
        table.add_row(name, f"{min(seconds) * 10:.1f}", f"{min(busy) * 10:.1f}")
    console.print(table)


def _played(workdir: Path, commands: Sequence[str]) -> Path:
    """The folder of an episode of the bundled story."""
    with ModelServer(ScriptedModel(commands)) as server:
        config = GameConfiguration(
            client_base_url=server.base_url,
            story="bundled",
            seed=7,
            workdir=str(workdir),
            max_turns_per_episode=len(commands),
            max_turns_stuck=len(commands) + 1,
            reflection_enabled=False,
        )
        with ZorkOrchestratorV2("long", config) as episode:
            episode.play_episode()
            return episode.folder


@contextmanager
def _server(workdir: Path) -> Iterator[tuple[httpx2.Client, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "viewer", "--workdir", str(workdir)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            found = re.search(r"(http://\S+/)#/\?token=(\S+)", line)
            if found is None:
                raise RuntimeError("The viewer did not start.")
            address, token = found.groups()
            headers = {"authorization": f"Bearer {token}"}
            with httpx2.Client(
                base_url=address, headers=headers, timeout=60, trust_env=False
            ) as client:
                client.get("").raise_for_status()
                yield client, process
        finally:
            process.terminate()


def _page_of(client: httpx2.Client) -> str:
    """The address of the episode for a browser, which shows the token by itself."""
    token = client.headers["authorization"].removeprefix("Bearer ")
    return f"{client.base_url}#/long?token={token}"


@contextmanager
def _reader(address: str) -> Iterator[None]:
    """A process that follows the episode."""
    process = multiprocessing.get_context("spawn").Process(
        target=_follow, args=(address,), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def _follow(address: str) -> None:
    while True:
        with suppress(httpx2.HTTPError), httpx2.stream("GET", f"{address}data/long/stream") as told:
            for _ in told.iter_lines():
                pass
        time.sleep(0.05)


def _memory(pid: int) -> float:
    """Resident megabytes."""
    listed = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True
    )
    return int(listed.stdout) / 1024


def _turns_after(folder: Path, turns: int) -> list[bytes]:
    lines = (folder / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    return [line for line in lines if b'"event_type": "turn"' in line][turns:]


def _append(log: Path, line: bytes) -> None:
    with log.open("ab", buffering=0) as file:
        file.write(line)


def _until_told(
    client: httpx2.Client, log: Path, to_come: Sequence[bytes], turns: int
) -> list[float]:
    seconds = []
    with client.stream("GET", "data/long/stream", params={"after": turns}) as response:
        lines = response.iter_lines()
        _pass_over(lines, "event: episode")
        for number, line in enumerate(to_come, turns + 1):
            _append(log, line)
            began = time.perf_counter()
            _pass_over(lines, f"id: {number}")
            seconds.append(time.perf_counter() - began)
    return seconds


def _pass_over(lines: Iterator[str], wanted: str) -> None:
    if wanted not in lines:  # reads as far as the first one
        raise RuntimeError("The stream has ended.")


def _until_seen(
    browser: Browser | None, client: httpx2.Client, log: Path, to_come: Sequence[bytes]
) -> list[float]:
    if browser is None:
        return []
    page = browser.new_page()
    page.goto(_page_of(client))
    first = json.loads(to_come[0])["turn"]
    page.wait_for_selector(_ROW.format(first - 1))
    seconds = []
    for number, line in enumerate(to_come, first):
        page.evaluate(_NOTE_NEXT_ROW, number)
        began = time.time()
        _append(log, line)
        seconds.append(page.evaluate("() => window.seenAt") / 1000 - began)
    page.close()
    return seconds


def _painted(browser: Browser | None, workdir: Path, turns: int) -> tuple[float, float]:
    """Milliseconds to the first paint and to the last turn's row, by a server just started."""
    if browser is None:
        return float("nan"), float("nan")
    with _server(workdir) as (client, _):
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(_page_of(client))
        page.wait_for_selector(_ROW.format(turns))
        seen = (time.perf_counter() - began) * 1000
        painted = float(page.evaluate(_FIRST_PAINT))
        page.close()
    return painted, seen


@contextmanager
def chromium() -> Iterator[Browser | None]:
    """Debian's Chromium, where it is and Playwright (of the group "check") can drive it."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=as_root)
        try:
            yield browser
        finally:
            browser.close()


def _moved(event: dict[str, object], turn: int, padding: int) -> dict[str, object]:
    if event["event_type"] == "reflection":
        ahead = turn - int(str(event["turn"]))
        event = {**event, **{name: int(str(event[name])) + ahead for name in _TURNS}}
    if event["event_type"] == "turn":
        event = {**event, "snapshot": str(event["snapshot"]) + "A" * padding}
    return {**event, "turn": turn}


def _line(event: dict[str, object]) -> str:
    return json.dumps(event, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    Parser(prog="python -m workshop.benchmarks.viewer", description=__doc__).parse_args()
    viewer(Console())
