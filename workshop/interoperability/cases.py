"""What is played: every server alone, all of them at once, and each program's configuration."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from workshop.interoperability.catalogue import FILESYSTEM, Place, Server, over_http, over_stdio
from workshop.interoperability.dialects import EXAMPLES, NOTES, SERVE, URL, Example
from workshop.interoperability.run import COMMAND_LINE, GAME, LIBRARY, Front, Outcome, play

_PATIENCE = 180.0
"""Seconds until a server by URL listens, which may have to be downloaded first."""
_VARIABLES = {"MY_TOKEN": "t0ken", "LANG_OF_GAME": "en"}
"""What the programs' examples refer to."""
_HANDED_ON = '"PATH", "HOME", "NODE_EXTRA_CA_CERTS", "npm_config_cache", '
"""What npx needs where a configuration names the variables that a server inherits."""


@dataclass(frozen=True, eq=False)
class Case:
    """One row of the table."""

    name: str
    transport: str
    front: Front
    folder: Path
    """Where it is played."""
    config: Path
    servers: Mapping[str, Server]
    """By the names that the configuration gives them."""
    caches: Path | None
    """What installers keep is below this folder; None where the servers run already."""

    @property
    def label(self) -> str:
        """What tells it from the others."""
        return f"{self.name} {self.transport} {self.front.name}"

    def outcome(self, variables: Mapping[str, str]) -> Outcome:
        """Play it; a failure that is the machine's or the registry's is told as such."""
        own = {**variables, **(installers_folders(self.caches) if self.caches else {})}
        for server in self.servers.values():
            if lacking := _not_installed(server, own["PATH"]):
                return Outcome(missing=f"{lacking} is not installed")
        cache = "warm" if self.caches and self.caches.exists() else "cold" if self.caches else ""
        calls = {name: server.call for name, server in self.servers.items()}
        outcome = play(self.front, self.config, self.folder, calls, own)
        if not outcome.passed:
            for server in self.servers.values():
                if reason := why_not_to_be_had(server, own):
                    return Outcome(missing=f"{server.package} cannot be installed: {reason}")
        return replace(outcome, cache=cache)


@dataclass(frozen=True)
class Workshop:
    """Where the configurations of all runs are written."""

    place: Place
    ports: tuple[int, int]

    def cases(self) -> Iterator[Case]:
        """All of them, in the order of the table."""
        stdio, http = over_stdio(self.place), over_http(self.ports)
        for server, front in product(stdio, (LIBRARY, GAME)):
            entry = {server.name: server.entry}
            for _ in ("cold", "warm"):
                caches = f"{server.name}-{front.name}"
                yield self._case(server.name, "stdio", front, entry, [server], caches)
        for (url, server), front in product(http.items(), (LIBRARY, GAME)):
            remote = {server.name: {"type": "http", "url": url}}
            yield self._case(server.name, "HTTP", front, remote, [server])
        entries: dict[str, object] = {server.name: server.entry for server in stdio}
        entries |= {server.name: {"url": url} for url, server in http.items()}
        everybody = [*stdio, *http.values()]
        for front in (COMMAND_LINE, COMMAND_LINE, GAME):
            yield self._case("mixed", "both", front, entries, everybody, "mixed")
        for program, example in EXAMPLES.items():
            yield self._of_program(program, example, {it.name: it for it in stdio}, http)

    def _case(
        self,
        name: str,
        transport: str,
        front: Front,
        entries: Mapping[str, object],
        servers: list[Server],
        caches: str = "",
    ) -> Case:
        folder = self._folder(name)
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": entries}))
        named = {server.name: server for server in servers}
        kept = self.place.folder / caches if caches else None
        return Case(name, transport, front, folder, config, named, kept)

    def _of_program(
        self, program: str, example: Example, stdio: Mapping[str, Server], http: dict[str, Server]
    ) -> Case:
        """The file of ``program``, with a real server in place of each that it names."""
        folder = self._folder(program)
        (folder / "src").mkdir()
        (folder / ".env").write_text("FROM_FILE=yes\n")
        config = folder / example.file
        config.parent.mkdir(exist_ok=True)
        url, remote = next(iter(http.items()))
        config.write_text(with_real_servers(example.text, str(self.place.files), url))
        servers = {"local": stdio["filesystem"]}
        if URL in example.text:
            servers["remote"] = remote
        transport = "both" if "remote" in servers else "stdio"
        caches = self.place.folder / "programs"
        return Case(program, transport, COMMAND_LINE, folder, config, servers, caches)

    def _folder(self, name: str) -> Path:
        runs = self.place.folder / "runs"
        runs.mkdir(exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{name} ", dir=runs))


def with_real_servers(text: str, files: str, url: str) -> str:
    """A program's example with the file server of npm, and a server at ``url``."""
    text = text.replace(SERVE, "npx").replace(NOTES, files).replace(URL, url)
    text = re.sub(r'(\bargs"?\s*[:=]\s*\[(?!\])|\["npx", )', rf'\1"-y", "{FILESYSTEM}", ', text)
    text = text.replace('"echo"', '"read_text_file"').replace('"die"', '"write_file"')
    return text.replace("env_vars = [", f"env_vars = [{_HANDED_ON}")


def variables_with(path: str) -> dict[str, str]:
    """What all runs get."""
    return {**_VARIABLES, "PATH": path}


def installers_folders(caches: Path) -> dict[str, str]:
    """Where npm and uv keep what they download and look for it: below ``caches``."""
    uv = {"UV_CACHE_DIR": "uv", "UV_TOOL_DIR": "uv-tools", "UV_TOOL_BIN_DIR": "uv-bin"}
    folders = {"npm_config_cache": "npm", **uv}
    return {name: str(caches / folder) for name, folder in folders.items()}


def why_not_to_be_had(server: Server, variables: Mapping[str, str]) -> str:
    """Why the installer cannot bring ``server`` here; empty where it can."""
    brought = ["--package", server.package, "--", "node", "-e", "0"]
    command = ["npx", "-y", *brought]
    if server.installer == "uvx":
        command = ["uvx", "--from", server.package, "python", "-c", "pass"]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return lines[-1] if done.returncode else ""


@contextmanager
def listening(server: Server, port: int, variables: Mapping[str, str], log: Path) -> Iterator[None]:
    """``server`` as somebody else runs it, if that can be, while the context lasts."""
    if _not_installed(server, variables["PATH"]):
        yield
        return
    with (
        log.open("w") as said,
        subprocess.Popen(
            server.command,
            env={**os.environ, **variables, **server.env},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        ) as process,
    ):
        try:
            until = time.monotonic() + _PATIENCE
            while process.poll() is None and time.monotonic() < until and not _accepts(port):
                time.sleep(0.1)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def free_ports() -> tuple[int, int]:
    """Two that nobody listens at now."""
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _not_installed(server: Server, path: str) -> str:
    """A program that ``server`` needs and that is not there, if any."""
    needed = (server.installer, *([server.needs] if server.needs else []))
    return next((it for it in needed if shutil.which(it, path=path) is None), "")
