"""The page beside a game: served from a thread of the game's process, and gone with it.

Whatever goes wrong here is a notice. The game never waits for it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from session.game_configuration import ConfigurationError
from viewer.web.serving import address_of, listening, open_page

if TYPE_CHECKING:
    from viewer.web.cockpit import Cockpit
    from viewer.web.server import Server

_HOST = "127.0.0.1"
_END_SECONDS = 2.0


@contextmanager
def watching(
    workdir: str | Path,
    port: int | None = None,
    open_browser: bool = True,
    *,
    episode: str = "",
    cockpit: Cockpit | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """Serve the episodes of ``workdir`` meanwhile; yields the address, empty where there is none.

    Args:
        workdir: The work folder.
        port: Where to serve; None for the first free port from the usual one on.
        open_browser: Open the page, where there is a screen.
        episode: The episode to show first.
        cockpit: What the page at that address may do to the game; it only watches without.
        notice: Told what went wrong, from any thread.
    """
    try:
        listener = listening(_HOST, port, "give --watch another port, or none at all")
    except ConfigurationError as error:
        notice(f"The page cannot be served: {error}")
        if cockpit:
            cockpit.is_gone()
        yield ""
        return
    token = f"?token={cockpit.token}" if cockpit else ""  # after the #: no server is told
    address = address_of(listener, _HOST) + (f"#/{episode}{token}" if episode or token else "")
    servers: list[Server] = []
    ending = threading.Event()

    def serve() -> None:
        try:
            with listener:  # closed in any case: visitors are not to wait for what will not come
                # Imported here so that the game does not wait for a web server; visitors do.
                from viewer.library import Library
                from viewer.web.server import Server, Viewer

                servers.append(Server(Viewer(Library(Path(workdir)), cockpit=cockpit)))
                if not ending.is_set():
                    asyncio.run(servers[0].serve([listener]))
        except Exception as error:  # noqa: BLE001  the edge of a thread; the game goes on
            notice(f"The page is no longer served: {type(error).__name__}: {error}")
        finally:
            if cockpit:
                cockpit.is_gone()

    thread = threading.Thread(target=serve, name="viewer", daemon=True)
    thread.start()
    try:
        if open_browser and not open_page(address):
            notice("There is no display to open a browser on.")
        yield address
    finally:
        ending.set()
        for server in servers:
            server.should_exit = True
        thread.join(_END_SECONDS)
