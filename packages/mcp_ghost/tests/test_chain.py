"""Five calls, each of which needs the result before it, are the same chain on every provider.

Two of the servers have names that differ in one character which no provider accepts, and all their
tools in common: "notes.east" and "notes_east".
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.names import ToolNames
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, assert_well_formed, ghost
from workshop.interoperability.catalogue import EVERYTHING, FETCH

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.slow

FETCH_VERSION, EVERYTHING_VERSION = "2026.10.24", "2026.8.31"

Step: TypeAlias = tuple[str, Callable[[str], dict[str, Any]]]
"""("server.tool", from the result before to the arguments)"""


def following(steps: Sequence[Step]) -> Callable[[ModelRequest], Reply]:
    """A model that makes ``steps`` one by one and answers with the last result."""
    tools = [tool for tool, _ in steps]
    # What each would meet: "notes.east.read" is "notes_east.read" on the wire, and the reverse.
    twins = [re.sub(r"^(notes|every)[._]", rf"\1{mark}", tool) for tool in tools for mark in "._"]
    names = ToolNames([*tools, *twins], "mcp_ghost")
    wire = [names.encode(tool) for tool in tools]

    def answer(request: ModelRequest) -> Reply:
        results = [message["content"] for message in request.messages if message["role"] == "tool"]
        done = len(results)
        if done == len(steps):
            return content_reply(results[-1])
        assert wire[done] in request.tool_names
        arguments = steps[done][1](results[-1] if results else "")
        return tool_reply([(wire[done], arguments)], f"Step {done + 1} of {len(steps)}.")

    return answer


def chain_on(
    provider: WireName,
    steps: Sequence[Step],
    servers: Mapping[str, ServerConfig],
    patience: float = 30.0,
) -> list[dict[str, Any]]:
    """The tool chain of a run that made all ``steps``, without its times."""
    with ModelServer(following(steps), wire=provider) as model:
        run = ghost(model, servers, provider, timeout=patience, startup_timeout=patience)
        result = asyncio.run(run)
    assert model.refusals == []
    assert_well_formed(result)
    assert result["errors"] == []
    assert result["final_result"] == result["tool_chain"][-1]["result"]
    assert len(model.requests) == len(steps) + 1
    return [{**entry, "execution_time": None} for entry in result["tool_chain"]]


def same_on_all_providers(chains: Mapping[WireName, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The one chain of all providers; one call in each reply, with what was said beside it."""
    assert set(chains) == set(PROVIDERS)
    first, *others = chains.values()
    assert all(other == first for other in others)
    assert [entry["iteration"] for entry in first] == [1, 2, 3, 4, 5]
    assert [entry["reasoning"] for entry in first] == [f"Step {n} of 5." for n in range(1, 6)]
    assert all(entry["success"] and entry["retry_attempt"] == 0 for entry in first)
    return first


def called(chain: Sequence[Mapping[str, Any]]) -> list[tuple[str, dict[str, Any], object]]:
    return [(entry["tool_name"], entry["arguments"], entry["result"]) for entry in chain]


# --- servers of our own

HUNT: list[Step] = [
    ("notes.east.read", lambda _: {"name": "start"}),
    ("notes_east.read", lambda result: {"name": result}),
    ("notes.east.read", lambda result: {"name": result}),
    ("notes_east.write", lambda result: {"name": result, "text": "by the second"}),
    ("notes.east.write", lambda result: {"name": result.split()[-1], "text": "by the first"}),
]


def test_a_chain_over_servers_whose_tools_collide_is_the_same_on_all_providers(
    tmp_path: Path,
) -> None:
    chains = {}
    for provider in PROVIDERS:
        (tmp_path / provider).mkdir()
        first, second = (Notes(tmp_path / provider, name) for name in ("notes.east", "notes_east"))
        for notes, texts in (
            (first, {"start": "well", "oak": "silver"}),
            (second, {"well": "oak"}),
        ):
            notes.folder.mkdir()
            for name, text in texts.items():
                (notes.folder / name).write_text(text)
        servers = {"notes.east": first.config, "notes_east": second.config}
        chains[provider] = chain_on(provider, HUNT, servers)
        assert [name for name, _ in first.calls] == ["read", "read", "write"]
        assert [name for name, _ in second.calls] == ["read", "write"]
        assert (first.file("silver"), second.file("silver")) == ("by the first", "by the second")
    assert called(same_on_all_providers(chains)) == [
        ("notes.east.read", {"name": "start"}, "well"),
        ("notes_east.read", {"name": "well"}, "oak"),
        ("notes.east.read", {"name": "oak"}, "silver"),
        ("notes_east.write", {"name": "silver", "text": "by the second"}, "wrote silver"),
        ("notes.east.write", {"name": "silver", "text": "by the first"}, "wrote silver"),
    ]


# --- servers that others wrote

PAGES = {
    "/order": "<html><body><h1>Order</h1><p>There are 17 kettles and 25 lamps.</p></body></html>",
    "/shelf/43": "<html><body><h1>Shelf</h1><p>Here stands a copper kettle.</p></body></html>",
}


class Site:
    """Two pages on loopback, and who asked for what."""

    def __init__(self) -> None:
        site, self.asked = self, list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                page = PAGES.get(self.path, "").encode()
                self.send_response(200 if page else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: object) -> None:
                """Requests are in ``asked``."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    thread = threading.Thread(target=site.http.serve_forever, args=(0.01,))
    thread.start()
    yield site
    site.http.shutdown()
    thread.join()
    site.http.server_close()


def install(command: list[str], folder: Path, **env: str) -> None:
    """Run an installer, or say why the test cannot go on."""
    program = shutil.which(command[0])
    if program is None:
        pytest.skip(f"needs {command[0]}")
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=os.environ | env,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"the registry of {command[0]} does not answer")
    if done.returncode:
        pytest.skip(f"{command[0]} cannot install {command[-1]}: {done.stderr[-300:]}")


@pytest.fixture
def fetch(tmp_path: Path) -> ServerConfig:
    """PyPI's mcp-server-fetch; with Node on its PATH it would install more at its first call."""
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    package = f"{FETCH}=={FETCH_VERSION}"
    install(["uv", "tool", "install", "--no-config", package], tmp_path, **folders)
    program = tmp_path / "bin" / "mcp-server-fetch"
    env = {"PATH": str(program.parent), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    return ServerConfig(command=str(program), args=["--allow-private-ips"], env=env)


@pytest.fixture
def everything(tmp_path: Path) -> Callable[[str], ServerConfig]:
    """npm's server-everything; what it is sent is also in ``LOG``."""
    (tmp_path / "package.json").write_text("{}")
    package = f"{EVERYTHING}@{EVERYTHING_VERSION}"
    install(["npm", "install", "--no-audit", "--no-fund", "--silent", package], tmp_path)
    program = tmp_path / "node_modules" / EVERYTHING / "dist" / "index.js"

    def logging_to(log: str) -> ServerConfig:
        script = f'tee -a "{tmp_path / log}" | exec node "{program}" stdio'
        return ServerConfig(command="sh", args=["-c", script])

    return logging_to


def calls_in(log: Path) -> list[tuple[str, dict[str, Any]]]:
    """The tool calls among the messages in ``log``."""
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    params = [it["params"] for it in messages if it.get("method") == "tools/call"]
    return [(it["name"], it["arguments"]) for it in params]


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def shopping(site: Site) -> list[Step]:
    return [
        ("pages.fetch", lambda _: {"url": f"{site.url}/order"}),
        ("every.thing.get-sum", lambda page: dict(zip("ab", numbers(page)[-2:], strict=True))),
        ("every_thing.echo", lambda result: {"message": f"order {numbers(result)[-1]}"}),
        ("every_thing.get-sum", lambda result: {"a": numbers(result)[-1], "b": 1}),
        ("pages.fetch", lambda result: {"url": f"{site.url}/shelf/{numbers(result)[-1]}"}),
    ]


@pytest.mark.network
@pytest.mark.timeout(600)
def test_a_chain_over_servers_of_pypi_and_npm_is_the_same_on_all_providers(
    tmp_path: Path, site: Site, fetch: ServerConfig, everything: Callable[[str], ServerConfig]
) -> None:
    twins = {"every.thing": everything("first.log"), "every_thing": everything("second.log")}
    chains = {
        provider: chain_on(provider, shopping(site), {"pages": fetch, **twins}, patience=60)
        for provider in PROVIDERS
    }
    chain = same_on_all_providers(chains)
    assert [(tool, arguments) for tool, arguments, _ in called(chain)] == [
        ("pages.fetch", {"url": f"{site.url}/order"}),
        ("every.thing.get-sum", {"a": 17, "b": 25}),
        ("every_thing.echo", {"message": "order 42"}),
        ("every_thing.get-sum", {"a": 42, "b": 1}),
        ("pages.fetch", {"url": f"{site.url}/shelf/43"}),
    ]
    assert "a copper kettle" in chain[-1]["result"]
    times = len(PROVIDERS)
    assert [path for path in site.asked if path in PAGES] == ["/order", "/shelf/43"] * times
    assert calls_in(tmp_path / "first.log") == [("get-sum", {"a": 17, "b": 25})] * times
    second = [("echo", {"message": "order 42"}), ("get-sum", {"a": 42, "b": 1})]
    assert calls_in(tmp_path / "second.log") == second * times
