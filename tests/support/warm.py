"""Programs that start warm: processes of their own, forked where their imports are at hand."""

from __future__ import annotations

import atexit
import json
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import PATIENCE, ROOT

POSSIBLE = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
PROGRAM = (
    "main",
    "orchestration.zork_orchestrator_v2",
    "mcp_ghost.servers.session",
    "mcp",
    "httpcore2",
    "anyio._backends._asyncio",
    "game_interface.game",
    "game_interface.engines.glk_engine",
    "langfuse",
    "local_model.transport",
    "storage.store",
    "storage.commands",
    "rich.status",
    "terminal.view",
    "session.record.summary",
    "evaluation.plan",
    "mcp_ghost.ghost",
    "mcp_ghost.cli.program",
    "mcp_ghost.golden",
    "movie_generator.cli.commands",
    "movie_generator.generate",
    "psycopg",
    "trafilatura",
    "yaml",
    "pytest",
    "viewer.drawing",
    "viewer.library",
    "viewer.web.server",
    "mcp.server",
    "uvicorn",
    "uvicorn.protocols.http.auto",
    "uvicorn.lifespan.on",
    "tests.support.first_uses",
)
"""What our programs, a user's test of one, and a tool server built with the SDK need."""


class WarmPopen(subprocess.Popen[str]):
    """``Popen`` of ``[sys.executable, SCRIPT | "-m", MODULE | "-c", CODE, ...]``, as text."""

    def __init__(
        self,
        args: Sequence[str],
        *,
        warm: tuple[str, ...] = PROGRAM,
        start_new_session: bool = False,
        **options: Any,  # noqa: ANN401  those of Popen
    ) -> None:
        self._warm = warm
        self._session = start_new_session
        super().__init__(args, start_new_session=start_new_session, text=True, **options)

    def _execute_child(self, *given: Any) -> None:  # noqa: ANN401  Popen's own
        args, _, preexec_fn, _, pass_fds, cwd, env, _, _, _, *pipes = given[:16]
        if not POSSIBLE or preexec_fn is not None:
            super()._execute_child(*given)  # type: ignore[misc]
            return
        request = {
            "args": [str(each) for each in args[1:]],
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "session": self._session,
            "pass_fds": pass_fds,
        }
        theirs = (pipes[0], pipes[3], pipes[5])
        files = [file if file != -1 else number for number, file in enumerate(theirs)]
        nest = _nest(self._warm)
        socket.send_fds(nest, [json.dumps(request).encode()], [*files, *pass_fds])
        self.pid = int(nest.recv(64))
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def run(
    args: Sequence[str],
    warm: tuple[str, ...] = PROGRAM,
    patience: int = PATIENCE,
    said: str | None = None,
    **options: Any,  # noqa: ANN401  those of Popen
) -> subprocess.CompletedProcess[str]:
    """Run to the end; output and errors are captured, and stdin is a pipe that brings ``said``."""
    pipe = subprocess.PIPE
    if said is not None:
        options["stdin"] = pipe
    with WarmPopen(args, warm=warm, stdout=pipe, stderr=pipe, **options) as process:
        try:
            output, errors = process.communicate(said, timeout=patience)
        finally:
            process.kill()
    return subprocess.CompletedProcess(args, process.returncode, output, errors)


@cache
def _nest(modules: tuple[str, ...]) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.support.processes.nest", str(theirs.fileno()), *modules]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # numpy's threads could not be forked
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, pass_fds=[theirs.fileno()], start_new_session=True
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
