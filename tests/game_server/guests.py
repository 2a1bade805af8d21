"""Clients of the game server, as a guest brings one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client
from mcp.types import Implementation, TextContent

from game_server.games import Games
from game_server.server import game_server
from session.game_configuration import GameConfiguration

NAME = "curious-guest"
SHOWN = f"{NAME} 1"
"""With its version."""


class Said(NamedTuple):
    """What a tool said."""

    text: str
    values: dict[str, Any]
    is_error: bool


class Caller:
    """A client that calls tools by their names."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: object) -> Said:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, TextContent)
        return Said(content.text, result.structured_content or {}, bool(result.is_error))


def offered(folder: Path, **settings: Any) -> Games:  # noqa: ANN401  fields of the configuration
    """Games of the bundled story."""
    fields = {"story": "bundled", "workdir": str(folder / "game_files")}
    return Games(GameConfiguration(**{**fields, **settings}))


@asynccontextmanager
async def guest(of: Games | str, name: str = NAME, mode: Any = "auto") -> AsyncIterator[Caller]:  # noqa: ANN401  its own literal
    """A guest of games in this process, or of a server at an address."""
    server = game_server(of) if isinstance(of, Games) else of
    info = Implementation(name=name, version="1")
    async with Client(server, client_info=info, mode=mode) as client:
        yield Caller(client)
