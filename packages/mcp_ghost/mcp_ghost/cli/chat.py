"""Request after request, with servers that stay connected."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mcp_ghost.cli.asking import asked_of, line_after
from mcp_ghost.cli.program import DONE, FAILED, complain
from mcp_ghost.cli.screen import standard_screen
from mcp_ghost.cli.view import RunView, Typist, watched_by
from mcp_ghost.config import load_servers
from mcp_ghost.ghost import Ghost
from mcp_ghost.text import harmless

if TYPE_CHECKING:
    from mcp_ghost.cli.flags import Flags
    from mcp_ghost.cli.interruption import Interruption


def chat(flags: Flags, interruption: Interruption) -> int:
    """Converse until the input ends; returns the exit code of the latest request."""
    screen = standard_screen(interruption.output_closed, sys.stderr)
    view = None if flags.quiet else RunView(screen)
    is_there = sys.stdin is not None and sys.stdin.isatty()
    typist = Typist(sys.stdout, screen) if sys.stdout is not None and sys.stdout.isatty() else None
    asked = asked_of(flags, screen, somebody_is_there=is_there)
    options = {**watched_by(view, typist), **asked, **flags.arguments()}
    if is_there and not flags.quiet:
        servers = ", ".join(load_servers(flags.config)) or "no server"
        screen.text(f"The model may call the tools of {servers}, started with your first request.")
        screen.text("Enter sends a request; Ctrl-D or /exit ends the chat.", "dim")
    with view.shown() if view else nullcontext():
        return asyncio.run(_converse(options, typist, is_there=is_there))


async def _converse(options: dict[str, Any], typist: Typist | None, *, is_there: bool) -> int:
    code = DONE
    async with Ghost(**options) as ghost:
        async for request in _requests(is_there=is_there):
            result = await ghost.run(request)
            answer = result["final_result"]
            if answer is not None and not (typist and typist.has_shown(answer)):
                said = ghost.messages[-1]["content"]
                print(harmless(said), flush=True)
            code = DONE if result["success"] else FAILED
            if code == FAILED:
                complain("mcp-ghost", result["summary"])
    return code


async def _requests(*, is_there: bool) -> AsyncIterator[str]:
    """The lines of standard input that say something."""
    if not is_there:
        for line in sys.stdin:
            if line.strip():
                yield line.strip()
        return
    while True:
        try:
            line = (await line_after("> ")).strip()
        except EOFError:
            return
        if line in ("/exit", "/quit"):
            return
        if line:
            yield line
