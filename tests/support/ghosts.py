"""Runs of mcp_ghost() between a scripted model and real servers that keep notes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_ghost import mcp_ghost
from mcp_ghost.config import ServerConfig
from mcp_ghost.testing import ModelServer, Script
from tests.support.servers import pids, seen
from tests.support.wires import WIRES, spoken

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

KEY = "sk-ghost-0123456789abcdef"
PROVIDERS = WIRES
NOTES = Path(__file__).parent / "servers" / "notes.py"
BANK = NOTES.with_name("bank.py")


class Notes:
    """One notes server below ``folder``: its configuration, its files, and what reached it."""

    def __init__(self, folder: Path, name: str = "notes") -> None:
        self.folder = folder / name
        self.log = folder / f"{name}.log"
        env = {"NOTES": str(self.folder), "SERVER_LOG": str(self.log)}
        self.config = ServerConfig(command=sys.executable, args=["-S", str(NOTES)], env=env)

    @property
    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """The tools that were called, with their arguments."""
        return [
            (entry["params"]["name"], entry["params"]["arguments"])
            for entry in seen(self.log)
            if entry.get("method") == "tools/call"
        ]

    @property
    def pids(self) -> list[int]:
        """The process of each start."""
        return pids(self.log)

    def file(self, name: str) -> str:
        """The text of a note."""
        return (self.folder / name).read_text()


class Bank:
    """One bank server: its configuration, and its book in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._book = folder / "bank" / "book"
        self.config = ServerConfig(
            command=sys.executable, args=["-S", str(BANK), str(self._book.parent)]
        )

    @property
    def trusted(self) -> ServerConfig:
        """The configuration of somebody who believes what the server says of its tools."""
        return self.config.model_copy(update={"trust": True})

    @property
    def book(self) -> list[str]:
        """What its tools did, in order."""
        return self._book.read_text().splitlines()


def play(
    script: Script,
    servers: object,
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401  what mcp_ghost takes
) -> tuple[dict[str, Any], ModelServer]:
    """The result of a run, and the model as it was left; nothing it was sent was refused."""
    namespace = options.get("namespace", "mcp_ghost")
    with ModelServer(script, wire=provider, namespace=namespace) as model:
        result = asyncio.run(ghost(model, servers, provider, **options))
    assert model.refusals == []
    assert_well_formed(result)
    return result, model


async def ghost(
    model: ModelServer,
    /,
    servers: object,
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401  what mcp_ghost takes
) -> dict[str, Any]:
    """One run that asks ``model``; ``servers`` are those by name, or all that names servers."""
    is_whole = not isinstance(servers, Mapping) or "mcpServers" in servers
    config: Any = servers if is_whole else {"mcpServers": servers}
    given = {"system_prompt": "Keep notes.", "user_prompt": "Do it.", "api_key": KEY, **options}
    return await mcp_ghost(config, base_url=model.base_url, **spoken(provider), **given)


def assert_well_formed(result: dict[str, Any]) -> None:
    """The form that every result has, whatever happened."""
    assert list(result) == [
        "success",
        "final_result",
        "summary",
        "tool_chain",
        "conversation_history",
        "errors",
        "execution_metadata",
        "servers",
    ]
    text = json.dumps(result, allow_nan=False)
    assert KEY not in text
    assert "\n" not in result["summary"]
    waiting: list[str] = []
    for message in result["conversation_history"]:
        assert list(message) == ["role", "content", "tool_calls", "tool_call_id"]
        assert isinstance(message["content"], str)
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])  # each call is answered once
        else:
            assert waiting == []
            waiting = [call["id"] for call in message["tool_calls"] or ()]
    assert waiting == []


def tools(result: dict[str, Any]) -> list[str]:
    """The names in the chain."""
    return [entry["tool_name"] for entry in result["tool_chain"]]


def said_to(model: ModelServer, request: int) -> str:
    """Everything that one request said, readable for whatever wire format it has."""
    return json.dumps(model.requests[request].body, ensure_ascii=False)
