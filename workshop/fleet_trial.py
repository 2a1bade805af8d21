"""Tries fleets on this machine: killed workers, a lost node, and what Ray costs beside processes.

    uv run poe fleet
    uv run poe fleet --episodes 30

Needs the extra fleet. Times are printed, and nothing is concluded from them.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from evaluation.fleet.cluster import import_ray
from mcp_ghost.cli.arguments import Parser, whole_number
from session.record.event_log import EVENTS_FILE

ROOT = Path(__file__).parents[1]
_MARK = "FLEET_TRIAL"
_TESTS = "tests/evaluation/test_on_ray.py"
_WORKERS, _TURNS = 4, 10
_KILL_SECONDS = 10.0
_GONE_SECONDS = 20.0
_TIMES = {"time", "seconds", "uid"}
"""What differs from run to run; an episode's uid is drawn anew for each."""


def main() -> int:
    """Try everything; the exit code is 1 if something was lost, played twice or left behind."""
    flags = _parser().parse_args()
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="fleet-trial-") as name:
        folder = Path(name)
        plain = _evaluate(folder / "plain", flags.episodes, [])
        on_ray = _evaluate(folder / "ray", flags.episodes, ["--on", "ray"])
        print(f"plain processes {plain:.1f} s, on Ray {on_ray:.1f} s: ratio {on_ray / plain:.3f}")
        found += _compared(folder / "plain", folder / "ray", flags.episodes)
        with _killing() as killed:
            seconds = _evaluate(folder / "killed", flags.episodes, ["--on", "ray"])
        print(f"with {len(killed)} workers killed: {seconds:.1f} s, {seconds / plain:.3f} of plain")
        found += _compared(folder / "plain", folder / "killed", flags.episodes)
        found += _two_nodes(folder, flags.episodes)
        found += _interrupted(folder)
    found += _tested()
    found += [f"left behind: {line}" for line in _left_behind()]
    print(
        "\n".join(it.rstrip() for it in found) or "Nothing was lost, played twice or left behind."
    )
    return 1 if found else 0


def _parser() -> Parser:
    it = Parser(prog="fleet_trial.py", description=(__doc__ or "").splitlines()[0])
    it.add_argument(
        "--episodes",
        metavar="N",
        type=whole_number(),
        default=300,
        help="episodes of each run (default 300)",
    )
    return it


def _command(out: Path, episodes: int, more: Sequence[str]) -> list[str]:
    command = [sys.executable, str(ROOT / "scripts/evaluate.py"), "--story", "bundled"]
    command += ["--player", "random", "--turns", str(_TURNS), "--seeds", "1,2,3"]
    command += ["--episodes", str(-(-episodes // 3)), "--jobs", str(_WORKERS), "--name", "trial"]
    return [*command, "--out", str(out), *more]


def _environment() -> dict[str, str]:
    return {**os.environ, _MARK: str(os.getpid())}


def _evaluate(out: Path, episodes: int, more: Sequence[str]) -> float:
    """Seconds from the first turn to the last: a cluster's start is not the episodes'."""
    command = _command(out, episodes, more)
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{out.name}: exit code {done.returncode}: {done.stderr[-2000:]}")
    for line in done.stderr.splitlines():
        if line.startswith("Ray did not start"):
            print(line)
    return _played_seconds(out)


def _played_seconds(out: Path) -> float:
    """From when the folder was agreed on; on Ray, from when its cluster was there."""
    begun = min(path.stat().st_mtime for path in out.glob("*/seed-*/episodes/*"))
    logs = [path.stat().st_mtime for path in _logs(out)]
    begins = min(_first_time(path) for path in _logs(out))
    return max(logs) - min(begun, begins)


def _first_time(log: Path) -> float:
    from datetime import datetime

    with log.open(encoding="utf-8") as file:
        return datetime.fromisoformat(json.loads(file.readline())["time"]).timestamp()


def _logs(out: Path) -> list[Path]:
    return sorted(out.glob(f"*/seed-*/episodes/*/{EVENTS_FILE}"))


def _compared(plain: Path, other: Path, episodes: int) -> Iterator[str]:
    """What is missing, or was played twice, or differs."""
    logs = _logs(other)
    if len(logs) != 3 * -(-episodes // 3):
        yield f"{other.name}: {len(logs)} logs"
    for log in logs:
        numbers = [event["turn"] for event in _events(log) if event["event_type"] == "turn"]
        if numbers != list(range(1, _TURNS + 1)):
            yield f"{log}: turns {numbers}"
        same = plain / log.relative_to(other)
        if _told(log) != _told(same):
            yield f"{log} differs from {same}"


def _events(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def _told(log: Path) -> list[dict[str, Any]]:
    """Beginning, turns and end, without times and the node's own folder."""
    told = []
    for event in _events(log):
        if event["event_type"] in ("episode_start", "turn", "episode_end"):
            event.get("settings", {}).pop("workdir", None)
            told.append({name: it for name, it in event.items() if name not in _TIMES})
    return told


@contextmanager
def _killing() -> Iterator[list[int]]:
    """Kill a worker that plays every ten seconds; their process ids."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(_KILL_SECONDS):
            with suppress(OSError):  # it has just ended
                forks = [pid for pid, _ in _ours("evaluation.fleet.process")]
                playing = {_parent(pid) for pid in forks}.difference(forks)
                for pid in sorted(playing)[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def _two_nodes(folder: Path, episodes: int) -> Iterator[str]:
    """A cluster of two nodes, of which one is removed in the middle, reached as a client does."""
    os.environ[_MARK] = str(os.getpid())
    import_ray()
    utilities = importlib.import_module("ray.cluster_utils")
    place = {"ray_client_server_port": 23456, "include_dashboard": False}
    cluster = utilities.Cluster(initialize_head=True, head_node_args={"num_cpus": 2, **place})
    second = cluster.add_node(num_cpus=2)
    out = folder / "nodes"
    command = _command(out, episodes, ["--on", "ray://127.0.0.1:23456"])
    try:
        with subprocess.Popen(
            command, env=_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            said: list[bytes] = []
            reader = threading.Thread(target=lambda: said.extend(process.stderr or ()))
            reader.start()
            _until(lambda: len(_logs(out)) >= episodes // 3 or process.poll() is not None)
            cluster.remove_node(second, allow_graceful=False)
            process.wait()
            reader.join()
        lost = sum(b"another worker continues it" in line for line in said)
        print(f"two nodes, one removed: exit code {process.returncode}, {lost} episodes went on")
        if process.returncode:
            print(b"".join(said)[-2000:].decode(errors="replace"))
        yield from _compared(folder / "plain", out, episodes)
    finally:
        cluster.shutdown()


def _interrupted(folder: Path) -> Iterator[str]:
    """Nothing is left of an evaluation on Ray that is interrupted, or killed."""
    for number in (signal.SIGINT, signal.SIGKILL):
        out = folder / f"ended-{number}"
        command = _command(out, 300, ["--on", "ray"])
        with subprocess.Popen(
            command, env=_environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        ) as process:
            _until(lambda: bool(_logs(out)) or process.poll() is not None)  # noqa: B023
            process.send_signal(number)
            code = process.wait()
        left = _left_behind()
        print(f"{signal.Signals(number).name}: exit code {code}, {len(left)} processes left")
        yield from (f"{signal.Signals(number).name} left {line}" for line in left)


def _tested() -> Iterator[str]:
    """What has no figures: knowledge through PostgreSQL, and a start of Ray that fails at first."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "soak", "--timeout", "600"]
    if subprocess.run([*command, str(ROOT / _TESTS)], cwd=ROOT, check=False).returncode:
        yield f"{_TESTS} failed"


def _until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.1)


def _left_behind() -> list[str]:
    end = time.monotonic() + _GONE_SECONDS
    while (left := _ours("")) and time.monotonic() < end:
        time.sleep(0.2)
    return [command for _, command in left]


def _ours(word: str) -> list[tuple[int, str]]:
    """Processes of this trial with the word in their command line."""
    mark = f"{_MARK}={os.getpid()}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            marked = mark in (process / "environ").read_bytes().split(b"\0")
            if marked and word in command and int(process.name) != os.getpid():
                found.append((int(process.name), command))
    return found


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


if __name__ == "__main__":
    sys.exit(main())
