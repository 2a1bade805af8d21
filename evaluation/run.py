"""The episodes of a plan, played by whoever is there, and taken up by another where one is lost.

Before that it is known how long they may take, and which would only fail again.
"""

import fcntl
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from evaluation.figures import EpisodeFigures, LogTail
from evaluation.fleet.limits import USED_UP, Limits
from evaluation.fleet.on_ray import RayEpisode, RayExecutor
from evaluation.fleet.process import EpisodeProcess
from evaluation.plan import Cell, Plan
from evaluation.progress import ProgressBars, say
from mcp_ghost.text import counted, one_line
from session.configuration_file import ConfigurationError
from session.game_state import EndReason
from session.playing import GUEST, REPEATS_ITSELF, USES_MODEL
from session.record.event_log import EVENTS_FILE

_FAILED = (EndReason.ENGINE_FAILED, EndReason.LLM_UNAVAILABLE)
_LONG_SECONDS = 600
"""If it may take longer than this, somebody at a terminal is asked first."""
_TURN_SECONDS = {"embedded": 3.1, "model": 5.0, "none": 0.05}
"""Of one turn, of those that are played at a time, where nothing was played yet: with the embedded
model as measured in docs/evaluation.md, with one elsewhere about as hosted ones answer."""
MOST_LOSSES = 5
"""Workers that one episode may lose without a turn that was finished."""
_POLL = 0.1
_STOP_WAIT = 8.0
"""Seconds for an episode to release what it opened: twice what an MCP server may take."""
_LOCK_WAIT = 5.0
"""Seconds for the episodes of a killed evaluation to be gone."""


Played: TypeAlias = Mapping[Cell, EpisodeFigures]
"""All episodes of a plan, as far as they were played."""


class LocalExecutor:
    """Plays episodes as processes of this machine."""

    def __init__(
        self, plan: Plan, limits: Limits, *, lock: int, threads: int | None = None
    ) -> None:
        self._plan, self._limits = plan, limits
        self._lock, self._threads = lock, threads

    @property
    def used_up(self) -> bool:
        """Whether nothing more may be spent."""
        return self._limits.used_up

    def begin(self, cell: Cell) -> EpisodeProcess:
        """Play, or go on."""
        job, errors = self._plan.job(cell, self._threads), self._plan.errors(cell)
        return EpisodeProcess(job, errors, self._limits.answer, lock=self._lock)

    def update(self) -> None:
        """Do nothing: the logs are here already."""


Running: TypeAlias = EpisodeProcess | RayEpisode
"""An episode being played."""
Executor: TypeAlias = LocalExecutor | RayExecutor
"""What plays episodes: processes here, or workers elsewhere."""


def play(
    plan: Plan,
    lines: Sequence[Sequence[Cell]],
    progress: ProgressBars,
    executor: Executor,
    *,
    jobs: int,
) -> dict[Cell, str]:
    """Play ``lines`` to their ends, ``jobs`` episodes at once; why some did not get there."""
    failures: dict[Cell, str] = {}
    losses: dict[Cell, tuple[int, int]] = {}
    """Turns that were finished when the last worker was lost, and how many were lost then."""
    waiting = deque(deque(line) for line in lines)
    running: dict[Running, tuple[Cell, LogTail, deque[Cell]]] = {}
    """Each with what it plays, its log, and what waits for it."""
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                line = waiting.popleft()
                if executor.used_up and plan.variant(line[0]).player in USES_MODEL:
                    failures[line[0]] = USED_UP
                    continue
                cell = line.popleft()
                tail = LogTail(plan.folder(cell) / EVENTS_FILE)
                running[executor.begin(cell)] = cell, tail, line
            time.sleep(_POLL)
            ended = [episode for episode in running if episode.ended()]
            executor.update()  # after it, so that what has ended is here whole
            progress.show([(cell, tail.update()) for cell, tail, _ in running.values()])
            for episode in ended:
                cell, _, line = running.pop(episode)
                played = EpisodeFigures.read(plan.folder(cell))
                if episode.lost and not played.finished:
                    turns, count = losses.get(cell, (-1, 0))
                    losses[cell] = played.turns, count + 1 if turns == played.turns else 1
                    if losses[cell][1] < MOST_LOSSES:
                        progress.say(f"{cell}: {episode.failure}; another worker continues it")
                        waiting.appendleft(deque([cell, *line]))
                        continue
                progress.ended(cell, played, "" if played.finished else episode.failure)
                if not played.finished:
                    failures[cell] = episode.failure or played.end_reason
                elif line:
                    waiting.appendleft(line)
    finally:
        try:
            for process in running:
                process.stop()
            deadline = time.monotonic() + _STOP_WAIT
            for process in running:
                process.wait(deadline)
            if running:
                executor.update()
        except BaseException:  # a second Ctrl-C, too: nobody else would end them
            for process in running:
                process.kill()
            raise
    return failures


def unfinished(plan: Plan, played: Played, console: Console) -> list[list[Cell]]:
    """List what of each line is still to be played; say what would only fail as it did before."""
    rest = []
    for line in plan.lines():
        left = [cell for cell in line if not played[cell].finished]
        if not left:
            continue
        cell, player = left[0], plan.variant(left[0]).player
        if played[cell].end_reason in _FAILED and player in REPEATS_ITSELF:
            say(
                console,
                f"{cell}: not continued, because {player} would give the same command again "
                f"({one_line(played[cell].last_failure)}). To start it over, remove "
                f"{plan.folder(cell)}",
            )
        else:
            rest.append(left)
    return rest


def declined(
    plan: Plan, lines: Sequence[Sequence[Cell]], played: Played, jobs: int, console: Console
) -> bool:
    """Say how long it may take; whether somebody who was asked would not wait."""
    model = "embedded" if plan.config.uses_embedded_model else "model"
    seconds = 0.0
    for cell in (cell for line in lines for cell in line):
        its, asks = played[cell], plan.variant(cell).player in (*USES_MODEL, GUEST)
        a_turn = _TURN_SECONDS[model if asks else "none"]
        if its.turns:
            a_turn = (its.turn_seconds + its.reflection_seconds) / its.turns
        seconds += a_turn * (plan.turns - its.turns)
    seconds /= min(jobs, len(lines))
    if seconds < _LONG_SECONDS or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    minutes = seconds / 60
    about = counted(round(minutes), "minute")
    if minutes >= 90:
        about = counted(round(minutes / 60), "hour")
    question = (
        f"This may take about {about}: {counted(sum(map(len, lines)), 'episode')} of "
        f"up to {counted(plan.turns, 'turn')}. It can be interrupted and continued at any time.\n"
        "Begin? [y/N] "
    )
    console.print(Text(question), end="", soft_wrap=True)
    return input().strip().lower() not in ("y", "yes")


def cores() -> int:
    """Count the processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def taken(folder: Path) -> Iterator[int]:
    """Take the folder for us alone; gives the descriptor that holds it for what inherits it.

    Raises:
        ConfigurationError: Another evaluation has it, or it cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot write to {folder} ({error.strerror}): choose another --out."
        ) from error
    deadline = time.monotonic() + _LOCK_WAIT
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        f"Another evaluation is playing into {folder}: wait until it ends, "
                        "or choose another --out."
                    ) from error
                time.sleep(_POLL)
        yield lock
    finally:
        os.close(lock)
