"""The command line as a process of its own, for tests."""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost import trust
from tests.support import PATIENCE, ROOT
from tests.support.warm import PROGRAM, WarmPopen

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelServer

MAIN = str(ROOT / "main.py")
MARK = "TEST_RUN"
"""An environment variable that the program hands on to all of its children."""


class Program:
    """The command line in a working directory of its own."""

    warm: tuple[str, ...] = PROGRAM

    def __init__(self, folder: Path, *command: str) -> None:
        self.folder = folder
        self.command = [sys.executable, *(command or (MAIN,))]
        self.mark = uuid.uuid4().hex
        foreign = ("ZORKGPT_", "LANGFUSE_", "OPENAI_", "OPENROUTER_", "ZORK1_", "NO_COLOR")
        self.env = {key: it for key, it in os.environ.items() if not key.startswith(foreign)}
        self.env |= {MARK: self.mark, "ZORKGPT_RETRY_MAX_ATTEMPTS": "1", "TERM": "xterm"}
        self.env[trust.VARIABLE] = str(folder)  # each test writes its own files
        self.env["ZORKGPT_REFLECTION_ENABLED"] = "false"  # requests are those of the turns

    def start(
        self,
        *flags: str,
        stdin: int | None = None,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
        limit: Callable[[], None] | None = None,
    ) -> subprocess.Popen[str]:
        return WarmPopen(
            [*self.command, *flags],
            warm=self.warm,
            cwd=self.folder,
            env=self.env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            preexec_fn=limit,
        )

    def run(
        self,
        *flags: str,
        said: str | None = None,
        limit: Callable[[], None] | None = None,
        patience: float = PATIENCE,
    ) -> subprocess.CompletedProcess[str]:
        with self.start(*flags, stdin=subprocess.PIPE if said else None, limit=limit) as process:
            try:
                output, errors = process.communicate(said, timeout=patience)
            finally:
                process.kill()
        assert "Traceback" not in errors
        return subprocess.CompletedProcess(flags, process.returncode, output, errors)

    def play(self, model: ModelServer, *flags: str) -> subprocess.CompletedProcess[str]:
        """A short episode of the bundled story."""
        return self.run(*self.flags(model.base_url), *flags)

    def flags(self, base_url: str, turns: int = 2) -> list[str]:
        story = ["--story", "bundled", "--seed", "7"]
        return [*story, "--max-turns", str(turns), "--base-url", base_url]

    def configure(self, text: str) -> None:
        (self.folder / "pyproject.toml").write_text(text)

    def serve_tools(self, command: str = sys.executable, *args: str) -> None:
        server = {
            "command": command,
            "args": list(args or ("-m", "thoughtbox")),
            "env": {"PYTHONPATH": str(ROOT)},
        }
        config = {"mcpServers": {"thoughtbox": server}}
        (self.folder / "mcp_config.json").write_text(json.dumps(config))

    def episodes(self) -> list[Path]:
        return sorted((self.folder / "game_files" / "episodes").iterdir())

    def leftovers(self) -> list[str]:
        """Processes of this run that are still there, after all the time they need to go."""
        found: list[str] = []
        for _ in range(50 * PATIENCE):
            found = [line for line in _marked(self.mark) if line]
            if not found:
                break
            select.select([], [], [], 0.02)
        return found


HEAVY = frozenset(
    {
        "asyncio",
        "httpx",
        "httpx2",
        "mcp",
        "openai",
        "pydantic",
        "rich",
        "sqlalchemy",
        "tenacity",
    }
)


def heavy_imports(*command: str) -> set[str]:
    """What a Python program that starts cold imports of ``HEAVY``."""
    cold = [sys.executable, "-X", "importtime", *command]
    done = subprocess.run(
        cold, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()} & HEAVY


@contextmanager
def unread() -> Iterator[int]:
    """A pipe to write to whose reader is gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@contextmanager
def killed_at_last(process: subprocess.Popen[str]) -> Iterator[None]:
    with process:
        try:
            yield
        finally:
            process.kill()


def converse(
    process: subprocess.Popen[str], keyboard: int, *said: tuple[str, bytes]
) -> tuple[str, str]:
    """Type each answer when its question is there; returns the output, and what was shown."""
    assert process.stderr
    shown, at = "", 0
    for question, answer in said:
        while (found := shown.find(question, at)) < 0:
            assert select.select([process.stderr], [], [], PATIENCE)[0], (question, shown)
            piece = os.read(process.stderr.fileno(), 65536).decode(errors="replace")
            assert piece, (question, shown)
            shown += piece
        at = found + len(question)
        os.write(keyboard, answer)
    output, rest = process.communicate(timeout=PATIENCE)
    return output, shown + rest


@contextmanager
def terminal() -> Iterator[tuple[int, Callable[[], str]]]:
    """A pseudo-terminal: the program's end, and a function that reads until it is closed."""
    ours, theirs = pty.openpty()

    def read_all() -> str:
        read = bytearray()
        while select.select([ours], [], [], PATIENCE)[0]:
            try:
                read += os.read(ours, 65536)
            except OSError:  # Linux's way to say that the other end is closed
                break
        return read.decode()

    try:
        yield theirs, read_all
    finally:
        os.close(ours)


def _marked(mark: str) -> Sequence[str]:
    """The command lines of the processes with this run's mark in their environment."""
    if shutil.which("ps") and not Path("/proc/self/environ").exists():
        listed = subprocess.run(["ps", "axeww"], capture_output=True, text=True, check=True)
        return [line for line in listed.stdout.splitlines() if mark in line]
    return [
        folder.joinpath("cmdline").read_text().replace("\0", " ")
        for folder in Path("/proc").glob("[0-9]*")
        if mark.encode() in _bytes(folder / "environ")
    ]


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # gone, or somebody else's
