"""The SDK's client for one connection; importing it imports the SDK."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from mcp import Client
from mcp.types import Implementation

from mcp_ghost.network import __version__
from mcp_ghost.servers.protocol.revision import Revision
from mcp_ghost.servers.protocol.wire import Streams, Wire

_CLIENT_INFO = {"name": "mcp_ghost", "version": __version__}


class NoWire:
    """Stands for the wire to an object of this program, in between of which there is nothing."""

    def __init__(self) -> None:
        self.tools_changed = False
        self.has_ended = False


def speaking(
    target: object,
    streams: Streams | None,
    has_read: Callable[[], bool],
    spoken: Revision,
    on_request: Any,  # noqa: ANN401  the SDK's callback
) -> tuple[Client, Wire | NoWire]:
    """A client over ``streams``, or of ``target``, an object of this program, without any."""
    wire: Wire | NoWire = NoWire()
    if streams is not None:
        wire = Wire(streams, has_read)
        target = nullcontext(wire.streams)
    client = Client(
        target,  # type: ignore[arg-type]  # of the two kinds that it takes
        mode=spoken.mode,
        prior_discover=spoken.prior_discover,
        client_info=Implementation(**_CLIENT_INFO),
        cache=None,  # ``refresh`` knows when a list is stale
        elicitation_callback=on_request,
    )
    return client, wire
