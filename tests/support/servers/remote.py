"""An MCP server of the SDK over streamable HTTP, as a program: prints its port once it listens.

Usage: remote.py [json|sse]: "json" answers with plain JSON instead of event streams, "sse" is the
older transport, at /sse.
SERVER_LOG names a file that gets a line for each HTTP request; TOKEN is the bearer token that
requests need; PORT fixes the port, for a server that comes back.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn
from mcp.server import MCPServer

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("remote", version="1.0")


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool()
async def hang() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


@server.tool()
async def die() -> str:
    """Take the whole process along, once the answer's headers are out."""
    asyncio.get_running_loop().call_later(0.05, os._exit, 7)
    await asyncio.Event().wait()
    return ""


@server.tool()
def huge(size: int) -> str:
    """A long text."""
    return "x" * size


def log(**entry: object) -> None:
    if path := os.environ.get("SERVER_LOG"):
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - one line, at once
            file.write(json.dumps({"pid": os.getpid(), **entry}) + "\n")


class Doorman:
    """Notes every request, and lets in those with the right token."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        query = scope["query_string"].decode()
        log(event="request", method=scope["method"], headers=headers, query=query)
        token = os.environ.get("TOKEN")
        if token is None or headers.get("authorization") == f"Bearer {token}":
            await self._app(scope, receive, send)
            return
        said = f"no entry with {headers.get('authorization')} and {query}"
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": said.encode()})


async def main() -> None:
    app = server.streamable_http_app(json_response="json" in sys.argv)
    if "sse" in sys.argv:
        app = server.sse_app()
    config = uvicorn.Config(Doorman(app), log_level="critical", timeout_graceful_shutdown=1)
    sock = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
    print(sock.getsockname()[1], flush=True)
    await uvicorn.Server(config).serve(sockets=[sock])


asyncio.run(main())
