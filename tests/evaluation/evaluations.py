"""An evaluation as its user has it, and the model that plays in it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.testing import ModelRequest, Reply, error_reply
from scripts import evaluate
from session.record.event_log import EVENTS_FILE
from tests.support import FOREVER, ROOT
from tests.support.episodes import read_events
from tests.support.program import MARK, Program
from workshop.scripted_model import ScriptedModel, action_reply

KEY = "sk-made-up-key-of-nobody"
FORK_SERVER = b"evaluation.fleet.process"
"""In the command of the process that episodes are forked from, and of its forks."""
COMMANDS = ["north", "north", "examine me"]


class Model:
    """Plays ``COMMANDS``; can be told to fail, or to keep everybody waiting."""

    def __init__(self) -> None:
        self.failing = False
        self.fails_from = sys.maxsize
        """The number of the first request that fails."""
        self.waits_from = sys.maxsize
        """The number of the first request that waits."""
        self.waiting = threading.Event()
        self.answered = 0
        self._script = ScriptedModel(COMMANDS, think_every=2)

    def __call__(self, request: ModelRequest) -> Reply:
        self.answered += not self.failing
        if self.failing or self.answered >= self.fails_from:
            return error_reply(500)
        if self.answered < self.waits_from:
            return self._script(request)
        self.waiting.set()
        return action_reply("look").after(FOREVER)

    def wait_from(self, request: int) -> None:
        self.waits_from = self.answered + request
        self.waiting.clear()

    def fail_from(self, request: int) -> None:
        self.fails_from = self.answered + request

    def go_on(self) -> None:
        self.waits_from = self.fails_from = sys.maxsize


class Evaluation:
    """One evaluation of the bundled story, run as often as a test wants."""

    def __init__(self, folder: Path, base_url: str, sources: Path = ROOT) -> None:
        self.program = Program(folder, str(sources / "scripts" / "evaluate.py"))
        self._cold: Callable[[], None] | None = None
        if sources != ROOT:
            self.program.env["PYTHONPATH"] = str(sources)
            self._cold = _nothing  # but in an interpreter that has imported nothing yet
        self.program.env["ZORKGPT_CLIENT_API_KEY"] = KEY
        self.out = folder / "out"
        self._always = ["--story", "bundled", "--base-url", base_url, "--model", "scripted"]
        self._always += ["--out", "out", "--turns", "3", "--jobs", "2"]

    def run(self, *flags: str) -> subprocess.CompletedProcess[str]:
        return self.program.run(*self._always, *flags, limit=self._cold)

    def run_here(self, monkeypatch: pytest.MonkeyPatch, *flags: str) -> int:
        """In this process; the episodes have theirs. Returns the exit code."""
        monkeypatch.chdir(self.program.folder)
        for name in self.program.env.keys() - {MARK}:  # which the reaper of this process would bear
            monkeypatch.setenv(name, self.program.env[name])
        return evaluate.main([*flags, "--out", "out"])

    def start(self, *flags: str) -> subprocess.Popen[str]:
        return self.program.start(*self._always, *flags, limit=self._cold)

    @property
    def results(self) -> dict[str, Any]:
        return dict(json.loads((self.out / "results.json").read_text()))

    def episodes(self) -> dict[str, list[dict[str, Any]]]:
        """Folder below the evaluation's -> events."""
        logs = sorted(self.out.glob(f"*/seed-*/episodes/*/{EVENTS_FILE}"))
        folders = [log.parent for log in logs]  # one that was just made has no log yet
        return {str(it.relative_to(self.out)): list(read_events(it)) for it in folders}

    def turns(self) -> dict[str, list[Any]]:
        """Folder -> the numbers of the turns played."""
        return {
            name: [event["turn"] for event in events if event["event_type"] == "turn"]
            for name, events in self.episodes().items()
        }

    def children(self) -> list[int]:
        """The processes that play an episode."""
        mark = f"{MARK}={self.program.mark}".encode()
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                ours = mark in (process / "environ").read_bytes().split(b"\0")
                command = (process / "cmdline").read_bytes()
                parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if ours and FORK_SERVER in command:
                found[int(process.name)] = int(parent)
        return [process for process, parent in found.items() if parent in found]


def _nothing() -> None:
    """What a new process does before it becomes the program."""


def editable_sources(folder: Path, *copied: str) -> Path:
    """The repository as links, but for the parts that a test is going to edit."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name in copied:
            shutil.copytree(path, folder / path.name)
        elif not path.name.startswith(".") and path.name != "tests":
            (folder / path.name).symlink_to(path)
    return folder
