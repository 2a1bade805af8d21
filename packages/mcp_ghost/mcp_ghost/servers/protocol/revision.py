"""Which revision of the protocol a server speaks; remembered for as long as the program runs.

Whoever connects again, as an agent does every turn, need not ask again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_ghost.config import ServerConfig

if TYPE_CHECKING:
    from mcp.types import DiscoverResult


@dataclass(frozen=True)
class Revision:
    """What ``mcp.Client`` is told of the server."""

    mode: str
    """"legacy" for the handshake, a version without it, or "auto": find out."""
    prior_discover: DiscoverResult | None = None
    is_older: bool = False
    """Whether a URL is that of the first revision's transport, HTTP with SSE."""


UNKNOWN, HANDSHAKE = Revision("auto"), Revision("legacy")
OLDER = Revision("legacy", is_older=True)
_spoken: dict[str, Revision] = {}


def spoken_by(config: ServerConfig) -> Revision:
    """What the server of ``config`` spoke last."""
    return OLDER if config.type == "sse" else _spoken.get(_key(config), UNKNOWN)


def remember(config: ServerConfig, revision: Revision) -> None:
    """Note what the server of ``config`` speaks; one of this program is asked anew."""
    if config.in_process is None:
        _spoken[_key(config)] = revision


def forget(config: ServerConfig) -> None:
    """Find out again: the server could not be used as it was known."""
    _spoken.pop(_key(config), None)


def _key(config: ServerConfig) -> str:
    return config.model_dump_json()
