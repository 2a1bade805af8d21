"""Strangers who open connections to the page of a game that is being played."""

from __future__ import annotations

import re
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from tests.support import PATIENCE, free_port
from tests.support.episodes import read_events
from tests.support.games import BUNDLED_COMMANDS
from tests.support.program import Program
from tests.support.viewing import recorded
from workshop.scripted_model import ScriptedModel

pytestmark = pytest.mark.mcp

TURNS = 4
BEGUN = (b"", b"G", b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"POST / HTTP/1.1\r\nContent-Le")
STREAM = "GET /data/latest/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\r\n"


@contextmanager
def flooded(address: str, connections: int, *sent: bytes) -> Iterator[None]:
    """So many connections that stay open and send no more than these beginnings of a request."""
    place = urlsplit(address)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    try:
        with ExitStack() as stack:
            for number in range(connections):
                stranger = stack.enter_context(socket.socket())
                stranger.setblocking(False)
                stranger.connect_ex((place.hostname, place.port))
                with suppress(OSError):  # it still waits in the queue, as floods do
                    stranger.sendall(sent[number % len(sent)])
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def played(folder: Path) -> list[tuple[str, str, int]]:
    turns = [event for event in read_events(folder) if event["event_type"] == "turn"]
    return [(it["command"], it["response"], it["after"]["score"]) for it in turns]


def said(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(words, line):
            return found[0]
    raise AssertionError(f"It never said {words}.")


@pytest.mark.parametrize(
    ("descriptors", "connections"),
    [
        (256, 400),
        *(pytest.param(it, 2000, marks=pytest.mark.soak) for it in (256, 1024, 65_536)),
    ],
)
def test_a_game_ends_as_if_nobody_had_flooded_its_page_which_answers_again(
    tmp_path: Path, descriptors: int, connections: int
) -> None:
    flood, script = threading.Event(), ScriptedModel(BUNDLED_COMMANDS)

    def reply(request: ModelRequest) -> Reply:
        if len(server.requests) == 2:
            waits.set()
            assert flood.wait(PATIENCE)
        return script(request)

    waits = threading.Event()
    program = Program(tmp_path)
    program.serve_tools()
    with ModelServer(reply) as server:
        flags = [*program.flags(server.base_url, TURNS), "--mcp", "--no-open"]
        process = program.start(*flags, "--watch", str(free_port()))
        try:
            address, _, token = said(process, r"http://127\.0\.0\.1:\d+/\S+").partition(
                "#/latest?token="
            )
            stream = STREAM.format(token).encode()
            most = min(descriptors, resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[1])
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, most))
            assert waits.wait(PATIENCE)
            with flooded(address, connections, *BEGUN), flooded(address, 200, stream):
                flood.set()
                said(process, "stays up until")
            assert httpx2.get(f"{address}alive", timeout=PATIENCE).status_code == 204
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE)
        finally:
            flood.set()
            process.kill()
            process.communicate()
    assert (process.returncode, errors) == (143, "")
    (episode,) = program.episodes()
    assert played(episode) == played(recorded(tmp_path))[:TURNS]
    assert program.leftovers() == []
