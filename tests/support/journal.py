"""The faulty server as the game's configured one, and the journal of what reached it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp_ghost.config import ServerConfig
from tests.support.servers import faulty, seen, write_config

NAME = "journal"


class Journal:
    """One configured server below ``folder``; every start of it writes to the same journal."""

    def __init__(self, folder: Path) -> None:
        self.config_file = folder / "mcp_config.json"
        self._path = folder / "journal.jsonl"
        self._starts = folder / "starts"
        self.configure()

    def configure(
        self, mode: str = "ok", *, failing_starts: Sequence[int] = (), first: str = "", **env: str
    ) -> None:
        """Write the configuration; ``first`` is what a shell does before it becomes the server."""
        server = faulty(
            mode,
            SERVER_LOG=str(self._path),
            START_COUNTER=str(self._starts),
            FAILING_STARTS=",".join(map(str, failing_starts)),
            **env,
        )
        if first:
            script = f"{first}; exec {shlex.join([server.command or '', *server.args])}"
            server = ServerConfig(command="sh", args=["-c", script], env=server.env)
        write_config(self.config_file, **{NAME: server})

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What was written, in order."""
        return seen(self._path)

    @property
    def starts(self) -> list[int]:
        """The process of each start."""
        return [entry["pid"] for entry in self.entries if entry["event"] == "start"]

    @property
    def ends(self) -> list[int]:
        """The processes that were let go by closing their stdin."""
        return [entry["pid"] for entry in self.entries if entry["event"] == "end of input"]

    @property
    def methods(self) -> list[str]:
        """The methods of requests and notifications, in order."""
        return [entry["method"] for entry in self.entries if entry["event"] == "message"]

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The tools that were called, with their arguments."""
        return [
            (entry["params"]["name"], entry["params"]["arguments"])
            for entry in self.entries
            if entry.get("method") == "tools/call"
        ]
