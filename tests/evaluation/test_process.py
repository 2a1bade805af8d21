"""Episodes are forks, which play what cold processes play, and of which nothing is left."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evaluation.fleet.on_ray import Coordinator
from evaluation.fleet.process import PRELOADED, EpisodeProcess
from evaluation.fleet.worker import play
from evaluation.run import taken
from session.configuration_file import ConfigurationError
from session.record.event_log import EVENTS_FILE
from tests.evaluation.test_fleet import CELL, FREE, Node, order_of, plan_of
from tests.support import PATIENCE, ROOT
from tests.support.servers import eventually

pytestmark = pytest.mark.mcp
TIMES = {"time", "seconds", "uid"}
PLAIN = """\
import json, sys
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration

job = json.loads(sys.argv[1])
with ZorkOrchestratorV2(job["episode"], GameConfiguration(**job["settings"])) as episode:
    episode.play_episode()
"""


def played(folder: Path) -> Node:
    node = Node(plan_of(folder), Coordinator(*FREE))
    node.coordinator.expect("e", 1)
    assert play(order_of(node.plan, 1), node.ask) == ("", "")
    return node


def test_forks_play_what_a_process_of_its_own_plays(tmp_path: Path) -> None:
    """One after the other: nothing of the first is left for the second."""
    plain = Node(plan_of(tmp_path / "plain"), Coordinator(*FREE))
    job = json.dumps(plain.plan.job(CELL, None))
    subprocess.run([sys.executable, "-c", PLAIN, job], cwd=ROOT, check=True, timeout=PATIENCE)
    for fork in (played(tmp_path / "first"), played(tmp_path / "second")):
        assert fork.turns() == [1, 2, 3, 4, 5, 6]
        assert told(fork) == told(plain)


def test_what_is_imported_beforehand_is_there() -> None:
    """Python says nothing of modules that are missing; each fork would import them."""
    assert [name for name in PRELOADED if find_spec(name) is None] == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_does_not_reach_the_fork_server_even_as_it_starts(tmp_path: Path) -> None:
    """Its traceback would stand below what the program says to that."""
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]
    multiprocessing.resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    played(tmp_path)
    server = multiprocessing.forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    status = Path(f"/proc/{server}/status").read_text(encoding="ascii")
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    assert blocked & 1 << signal.SIGINT - 1


def test_a_fork_has_a_session_signals_a_folder_and_files_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in the working directory replaces no module, and the lock is held for the fork."""
    monkeypatch.setattr("evaluation.run._LOCK_WAIT", 0)
    for module in ("json", "signal"):
        (tmp_path / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    (cwd := tmp_path / "cwd").mkdir()
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]
    multiprocessing.resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    with taken(tmp_path / "lock") as lock:
        episode = waiting(tmp_path, lock=lock, cwd=cwd)
    assert not (tmp_path / "ran").exists()
    process = Path(f"/proc/{episode._pid}")
    assert os.getsid(episode._pid) == episode._pid
    assert (process / "cwd").readlink() == cwd
    files = {int(it.name): str(it.readlink()) for it in (process / "fd").iterdir()}
    assert [files[it] for it in range(3)] == ["/dev/null", "/dev/null", str(tmp_path / "errors")]
    open_files = {it for it in files.values() if not it.startswith(("/dev", "pipe:", "socket:"))}
    # It may be importing a module just now.
    assert {it for it in open_files if Path(it).suffix not in (".py", ".pyc", ".so")} == {
        str(tmp_path / "errors"),
        str(tmp_path / "lock"),
        *(str(plan_of(tmp_path).folder(CELL) / name) for name in ("episode.log", EVENTS_FILE)),
    }
    assert sum(it.startswith("socket:") for it in files.values()) == 1
    # For an instant, while the C library starts a process or a thread, all are blocked.
    blocked = re.compile(r"^SigBlk:\s+0+$", re.MULTILINE)
    assert eventually(lambda: bool(blocked.search((process / "status").read_text())))
    with pytest.raises(ConfigurationError, match="Another evaluation"), taken(tmp_path / "lock"):
        pass
    episode.kill()
    with taken(tmp_path / "lock"):
        pass


@pytest.mark.soak
def test_the_program_that_starts_a_fork_is_not_run_in_it(tmp_path: Path) -> None:
    """Python's own way would run all of it but what is behind ``__name__ == "__main__"``."""
    program = tmp_path / "program.py"
    program.write_text(
        f"print('run')\nimport sys\nsys.path.append({str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from evaluation.fleet.process import EpisodeProcess\n"
        "episode = EpisodeProcess({}, Path('errors'), lambda *_: 0.0)\n"
        "import time; episode.wait(time.monotonic() + 60)\n"
        "print(Path('errors').exists())\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    assert (done.stdout, done.stderr) == ("run\nFalse\n", "")


def test_a_guest_gets_neither_the_clusters_token_nor_our_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its environment is that of now, not of when the first episode began."""
    played(tmp_path / "before")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "opens-the-cluster")
    monkeypatch.setenv("PYTHONPATH", "/modules/of/the/user")
    node, seen = Node(plan_of(tmp_path / "out"), Coordinator(*FREE)), tmp_path / "seen"
    node.coordinator.expect("e", 1)
    order = order_of(node.plan, 1)
    order.job["guest"] = f"sh -c 'env > {seen}'"
    play(order, node.ask)
    variables = dict(line.partition("=")[::2] for line in seen.read_text().splitlines())
    assert variables["PYTHONPATH"] == "/modules/of/the/user"
    assert "RAY_AUTH_TOKEN" not in variables


def told(node: Node) -> list[dict[str, Any]]:
    """What happened, without times."""
    log = (node.plan.folder(CELL) / EVENTS_FILE).read_text(encoding="utf-8")
    events = [json.loads(line) for line in log.splitlines()]
    kept = [it for it in events if it["event_type"] in ("turn", "episode_end")]
    return [{key: it for key, it in event.items() if key not in TIMES} for event in kept]


def waiting(folder: Path, **how: Any) -> EpisodeProcess:  # noqa: ANN401  as its own
    """An episode that plays until somebody ends it."""
    plan = plan_of(folder, max_turns_per_episode=100000)
    episode = EpisodeProcess(plan.job(CELL, None), folder / "errors", lambda *_: 0.0, **how)
    log = plan.folder(CELL) / "episode.log"
    assert eventually(log.is_file)
    assert not episode.ended()
    return episode


def test_a_fork_is_stopped_and_killed_as_a_process_is(tmp_path: Path) -> None:
    stopped = waiting(tmp_path / "stopped")
    stopped.stop()
    stopped.wait(time.monotonic() + PATIENCE)
    assert stopped.failure == "exit code 143, without a message"
    killed = waiting(tmp_path / "killed")
    killed.kill()
    assert killed.ended()
    assert killed.failure == "killed by SIGKILL"


@pytest.mark.soak
def test_without_the_fork_server_its_episode_ends_and_the_next_has_another(tmp_path: Path) -> None:
    episode = waiting(tmp_path / "first")
    child = episode._pid
    os.kill(int(_stat(child)[1]), signal.SIGKILL)
    assert eventually(episode.ended)
    assert episode.failure == "killed by SIGKILL"
    assert eventually(lambda: not Path(f"/proc/{child}").exists() or _stat(child)[0] == "Z")
    assert played(tmp_path / "second").turns() == [1, 2, 3, 4, 5, 6]


def _stat(pid: int) -> list[str]:
    """Its state, and its parent."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]


def test_an_episode_that_nobody_waits_for_ends_before_the_next_begins(tmp_path: Path) -> None:
    left = waiting(tmp_path / "first")
    assert played(tmp_path / "second").turns() == [1, 2, 3, 4, 5, 6]
    assert left.ended()
    assert left.failure == "killed by SIGKILL"
