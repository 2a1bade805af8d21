"""Starts that install: npx and its like download a server before it can answer."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_ghost.config import ServerConfig
from mcp_ghost.tables import table

INSTALL_TIMEOUT = 120.0
_QUIET = 3.0
"""Seconds after which it is said what is waited for."""
INSTALLERS = [tuple(it.split()) for it in table("mcp_ghost.servers", "programs.toml")["installers"]]
"""The words of commands that fetch what they run."""
_logger = logging.getLogger(__name__)
_installed: set[tuple[str, ...]] = set()
"""What was started by this program, and so is here now."""


def installer_of(config: ServerConfig) -> str | None:
    """The command of a server if it is one that fetches what it runs."""
    words = (Path(config.command or "").name, *config.args)
    return next((" ".join(it) for it in INSTALLERS if words[: len(it)] == it), None)


@contextmanager
def first_start(
    name: str,
    config: ServerConfig,
    seconds: float,
    install_seconds: float,
    say: Callable[[str], None] | None = None,
) -> Iterator[float]:
    """The seconds for a start of the server ``name``, which is tried within the context.

    They are ``install_seconds``, where those are more, until an installer has brought the server
    up once in this program. ``say`` is told what is waited for; by default it is logged.
    """
    installer, key = installer_of(config), (config.command or "", *config.args)
    if installer is None or key in _installed:
        yield seconds
        return
    longer = max(seconds, install_seconds)
    text = f"MCP server '{name}': waiting up to {longer:g} s, because {installer} may download it."
    timer = asyncio.get_running_loop().call_later(_QUIET, say or _logger.warning, text)
    try:
        yield longer
        _installed.add(key)
    finally:
        timer.cancel()
