"""Where the viewer is served: a port that is free, its address, and a browser to open it."""

import errno
import ipaddress
import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from functools import partial

from mcp_ghost.network import is_loopback
from session.game_configuration import ConfigurationError
from viewer.flags import DEFAULT_PORT

_PORTS_TRIED = 50


def listening(host: str, port: int | None, advice: str = "choose another --port") -> socket.socket:
    """Open a socket at ``port``, or at the first free one from the usual on when None.

    Args:
        host: A name or a number of this machine.
        port: The one wanted.
        advice: What to do when the address cannot be used.

    Raises:
        ConfigurationError: The address does not exist here, or is taken.
    """
    last = DEFAULT_PORT + _PORTS_TRIED - 1 if port is None else port
    try:
        family, *_, place = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listen = partial(socket.create_server, family=family, backlog=128, dualstack_ipv6=both)
        for wanted in range(DEFAULT_PORT if port is None else port, last):
            try:
                return listen((place[0], wanted))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
        return listen((place[0], last))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            ports = f"Port {last} is" if port else f"Ports {DEFAULT_PORT} to {last} are"
            why = f"{ports} already taken by another program"
        else:
            reason = str(error.strerror).partition(" (while")[0]  # without the address again
            why = f"Cannot serve on {host}, port {port or DEFAULT_PORT} ({reason})"
            advice = advice if host == "127.0.0.1" else "choose another --host, or leave it out"
        raise ConfigurationError(f"{why}: {advice}.") from error


def address_of(listener: socket.socket, host: str) -> str:
    """Return what to type into a browser."""
    name = host
    with suppress(ValueError):
        number = ipaddress.ip_address(host)
        name = (
            "127.0.0.1" if number.is_unspecified else f"[{host}]" if number.version == 6 else host
        )
    return f"http://{name}:{listener.getsockname()[1]}/"


def is_local(host: str) -> bool:
    """Return whether only this machine reaches a server at ``host``."""
    return is_loopback(f"http://[{host}]" if ":" in host else f"http://{host}")


def open_page(address: str) -> bool:
    """Open ``address`` in a browser without waiting for it; False without a display."""
    # Without a screen, a browser in text mode would take the terminal over.
    named = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME")
    if sys.platform not in ("darwin", "win32") and not any(map(os.environ.get, named)):
        return False
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    return True
