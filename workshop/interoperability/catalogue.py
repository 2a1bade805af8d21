"""The servers that are played: who publishes them, how they are started, and what they are asked.

Each is asked for something that it alone can know: what is in a file, a page or a database that
was made for this run, or what it works out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

EVERYTHING = "@modelcontextprotocol/server-everything"
FILESYSTEM = "@modelcontextprotocol/server-filesystem"
MEMORY = "@modelcontextprotocol/server-memory"
SEQUENTIAL_THINKING = "@modelcontextprotocol/server-sequential-thinking"
TIME, GIT, FETCH = "mcp-server-time", "mcp-server-git", "mcp-server-fetch"
MOTHERDUCK = "mcp-server-motherduck"
ONLY_HERE = "the kettle is made of copper"
_PAGE = f"<html><body><article><h1>Kettles</h1><p>Note: {ONLY_HERE}.</p></article></body>"


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, object]
    tells: str
    """Part of the result, which nobody but the server can have said."""


@dataclass(frozen=True)
class Server:
    """Somebody's server, as it is published."""

    name: str
    installer: Literal["npx", "uvx"]
    package: str
    call: Call
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    needs: str | None = None
    """A program that the server asks for what it is asked for."""

    @property
    def command(self) -> list[str]:
        """What its users write."""
        yes = ["-y"] if self.installer == "npx" else []
        return [self.installer, *yes, self.package, *self.args]

    @property
    def entry(self) -> dict[str, object]:
        """The same in a configuration."""
        program, *args = self.command
        return {"command": program, "args": args, **({"env": dict(self.env)} if self.env else {})}


@dataclass(frozen=True)
class Place:
    """A folder with something to find for each server, and the address of a page."""

    folder: Path
    page: str

    @property
    def files(self) -> Path:
        """Notes, a page, and what is remembered."""
        return self.folder / "files"

    @property
    def repository(self) -> Path:
        """A git repository with one commit."""
        return self.folder / "repository"

    def furnish(self) -> None:
        """Make it all."""
        for each in (self.files, self.repository):
            each.mkdir(parents=True)
        (self.files / "note.txt").write_text(f"Note: {ONLY_HERE}.\n")
        (self.files / "index.html").write_text(_PAGE)
        observed = {"type": "entity", "name": "kettle", "entityType": "thing"}
        remembered = json.dumps({**observed, "observations": [ONLY_HERE]})
        (self.files / "memory.jsonl").write_text(f"{remembered}\n")
        if shutil.which("git"):
            who = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.com")
            self._git("init", "--quiet")
            self._git(*who, "commit", "--quiet", "--allow-empty", "-m", ONLY_HERE)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.repository, check=True)


def over_stdio(place: Place) -> list[Server]:
    """The servers that a client starts."""
    note, memory = str(place.files / "note.txt"), str(place.files / "memory.jsonl")
    repository, told = str(place.repository), ONLY_HERE
    thought = {"thought": "Why?", "thoughtNumber": 1, "totalThoughts": 1}
    thought |= {"nextThoughtNeeded": False}
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Kolkata"}
    return [
        Server("everything", "npx", EVERYTHING, _SUM),
        Server(
            "filesystem",
            "npx",
            FILESYSTEM,
            Call("read_text_file", {"path": note}, told),
            (str(place.files),),
        ),
        Server(
            "memory",
            "npx",
            MEMORY,
            Call("read_graph", {}, told),
            env={"MEMORY_FILE_PATH": memory},
        ),
        Server(
            "thinking",
            "npx",
            SEQUENTIAL_THINKING,
            Call("sequentialthinking", thought, "thoughtHistoryLength"),
        ),
        Server("time", "uvx", TIME, Call("convert_time", noon, "17:30")),
        Server(
            "git",
            "uvx",
            GIT,
            Call("git_log", {"repo_path": repository}, told),
            ("--repository", repository),
            needs="git",
        ),
        Server(
            "fetch",
            "uvx",
            FETCH,
            Call("fetch", {"url": place.page}, told),
            ("--allow-private-ips",),
        ),
    ]


def over_http(ports: tuple[int, int]) -> dict[str, Server]:
    """The servers that somebody else has started, by the address at which they are then."""
    query = {"sql": f"SELECT replace('{ONLY_HERE}', 'copper', 'silver') AS note"}
    duck = ("--transport", "http", "--host", "127.0.0.1", "--port", str(ports[1]))
    servers = [
        Server("everything-http", "npx", EVERYTHING, _SUM, ("streamableHttp",), _port(ports[0])),
        Server(
            "motherduck-http",
            "uvx",
            MOTHERDUCK,
            Call("execute_query", query, ONLY_HERE.replace("copper", "silver")),
            (*duck, "--db-path", ":memory:", "--read-write"),
        ),
    ]
    addresses = [f"http://127.0.0.1:{port}/mcp" for port in ports]
    return dict(zip(addresses, servers, strict=True))


def _port(port: int) -> dict[str, str]:
    return {"PORT": str(port)}


_SUM = Call("get-sum", {"a": 17, "b": 25}, "42")
