"""The viewer's web server: reads event logs, answers on loopback, and changes what a page may."""

import hashlib
import ipaddress
import math
import mimetypes
import re
import secrets
import socket
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from urllib.parse import urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from mcp_ghost.results import JSONObject
from session.listener import kept_token, small_server
from viewer.episode import Episode
from viewer.experiments.alignment import aligned
from viewer.experiments.curves import FIGURES, GROUPINGS, curves
from viewer.experiments.search import turns_with
from viewer.library import LATEST, Library, bytes_of
from viewer.turns import encoded
from viewer.web import changes
from viewer.web.cockpit import Cockpit
from viewer.web.live import LogWatchers, Stream
from viewer.web.serving import is_local
from viewer.web.site import STATIC, episode_data, page

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_WILDCARD = frozenset({"0.0.0.0", "::"})  # noqa: S104  compared with, not bound to
_READING = ("GET", "HEAD")
_OPEN = ("/static/", "/index.html", "/alive")
"""Of which anybody may read: the program, and nothing of a game."""
_UNKNOWN = "Open the address that was printed at the start: it ends with a token."
MOST_ADDRESS_BYTES = 1024 * 1024
"""Of an address and its headers: that of curves names each of the episodes that were chosen."""
_PARTIAL_SECONDS = 0.5
"""For which logs are read before the page is told of those that are known."""
_SEARCH_SECONDS = 0.5
"""After which no further episode is looked through for one request."""
MOST_STREAMS = 16
"""At once; each lasts as long as its page follows an episode."""

# What the system says of them differs, and browsers take scripts of one type only.
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("font/woff2", ".woff2")


def is_own_name(host_header: str, bound_to: str) -> bool:
    """Return whether a request under that host name can come from a page of ours."""
    try:
        name = urlsplit(f"//{host_header}").hostname or ""
    except ValueError:
        return False
    with suppress(ValueError):
        # A page elsewhere can make its own name mean this machine, but not a number.
        return ipaddress.ip_address(name).is_loopback or bound_to in {*_WILDCARD, name}
    names = {"localhost", bound_to.lower()}
    return name in (names | {socket.gethostname().lower()} if bound_to in _WILDCARD else names)


class Viewer:
    """The web application for one work folder."""

    def __init__(
        self,
        library: Library,
        host: str = "127.0.0.1",
        cockpit: Cockpit | None = None,
        token: str | None = None,
    ) -> None:
        """Nothing can be changed without a ``token``, or the one of the ``cockpit``.

        Where there is one, it is also needed to read what this machine does not show to everybody.
        """
        self.library = library
        self._host = host
        self.cockpit = cockpit
        self.token = cockpit.token if cockpit else token
        self._key = kept_token("page")
        """Of the cookie, so that pages that are open go on reading when the server is back."""
        self.log_watchers = LogWatchers()
        self.streams: set[Response] = set()
        """Those that are being sent."""
        self._mark = secrets.token_hex(4)
        """Part of every ETag: another version of the program may answer otherwise."""
        writing: dict[str, Callable[..., object]] = {}
        if self.token:
            enter = partial(changes.enter, token=self.token, key=self._key)
            delete = partial(changes.delete, token=self.token, library=library)
            writing = {changes.ENTER: enter, f"/data{changes.DELETE}": delete}
            note = partial(changes.write_note, token=self.token, find=self._episode)
            writing[f"/data/{{episode}}{changes.NOTES}"] = note
        if cockpit:
            control = partial(changes.press, cockpit=cockpit, find=self._episode)
            writing[f"/data/{{episode}}{changes.CONTROL}"] = control
        routes = [
            Route("/", self._page),
            Route("/index.html", self._page),
            Route("/alive", lambda _: Response(status_code=204)),
            Route("/data/episodes.json", self._index),
            Route("/curves/{by}/{figure}.json", self._curves),
            Route("/search.json", self._search),
            Route("/size.json", self._size),
            *(Route(it, change, methods=[changes.METHOD]) for it, change in writing.items()),
            Route("/aligned/{episode}/{other}.json", self._aligned),
            Route("/data/{episode}/stream", self._stream),
            Route("/data/{episode}/next.json", self._next),
            Route("/data/{episode}/{path:path}", self._data),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
        self._writable = tuple(path.removeprefix("/data/{episode}") for path in writing)
        """How the addresses end at which something may be changed."""
        self._answers = Starlette(routes=routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of somebody who may read, under a host name of ours, with our headers.

        The name is checked against DNS rebinding. Notes are written, and the buttons of a game
        pressed, at addresses of their own; all else only reads.
        """

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        answer = await self._refusal(scope) or self._answers
        await answer(scope, receive, send_with_headers)

    async def _refusal(self, scope: Scope) -> Response | None:
        if not is_own_name(Headers(scope=scope).get("host", ""), self._host):
            return PlainTextResponse("This host name is not served here.", 403)
        path, method = scope["path"], scope["method"]
        is_change = path.startswith(("/data/", changes.ENTER)) and path.endswith(self._writable)
        if method not in _READING and not (method == changes.METHOD and is_change):
            allowed = {"allow": ", ".join(_READING)}
            return PlainTextResponse("This server is read-only.", 405, allowed)
        if method not in _READING or path == "/" or path.startswith(_OPEN):
            return None
        if not await run_in_threadpool(self._may_read, HTTPConnection(scope)):
            return PlainTextResponse(_UNKNOWN, 401)
        return None

    def _page(self, _request: Request) -> Response:
        return Response(page("live"), media_type="text/html")

    def _index(self, request: Request) -> Response:
        seconds = _PARTIAL_SECONDS if "partial" in request.query_params else math.inf
        return _unless_same(request, self.library.index(seconds=seconds))

    def _curves(self, request: Request) -> Response:
        by, figure = request.path_params["by"], request.path_params["figure"]
        if by not in GROUPINGS or figure not in FIGURES:
            raise HTTPException(404, "There is no such curve.")
        wanted = request.query_params.get("episodes")
        ids = None if wanted is None else set(wanted.split(","))
        chosen = [it for it in self.library.episodes() if ids is None or it.id in ids]
        return _unless_same(request, curves(chosen, by, figure))

    def _search(self, request: Request) -> Response:
        """Return what is found in some episodes, in as many of the first as there is time for."""
        wanted = request.query_params.get("find", "")
        ids = request.query_params.get("episodes", "").split(",")
        until = time.monotonic() + _SEARCH_SECONDS
        answers: list[JSONObject | None] = []
        for episode_id in ids:
            folder = self.library.folder_of(episode_id)
            answers.append(turns_with(folder, wanted) if folder else None)
            if time.monotonic() >= until:
                break
        return Response(encoded(answers), media_type="application/json")

    def _size(self, request: Request) -> Response:
        ids = request.query_params.get("episodes", "").split(",")
        folders = filter(None, map(self.library.folder_of, ids))
        size = sum(map(bytes_of, folders))
        return Response(encoded({"bytes": size}), media_type="application/json")

    def _may_read(self, request: HTTPConnection) -> bool:
        if self.token is None or changes.may_read(request, self.token, self._key):
            return True
        return is_local(self._host) and self.library.is_open_to_all()

    def _aligned(self, request: Request) -> Response:
        both = [self._episode(request, name) for name in ("episode", "other")]
        tag = f"{self._mark}-{'-'.join(str(part) for it in both for part in it.state())}"
        return _unless_known(request, tag, lambda: encoded(aligned(*both)))

    def _data(self, request: Request) -> Response:
        episode = self._episode(request)
        tag = f"{self._mark}-{'-'.join(map(str, episode.state()))}"
        return _unless_known(
            request, tag, lambda: episode_data(episode, request.path_params["path"])
        )

    def _next(self, request: Request) -> Response:
        """Return what can be done with an episode that has ended, by those at this machine."""
        episode = self._episode(request)
        to_resume = self.cockpit.to_resume(episode.folder) if self.cockpit else ""
        return Response(encoded(episode.next_steps(to_resume)), media_type="application/json")

    async def _stream(self, request: Request) -> Response:
        episode = await run_in_threadpool(self._episode, request)
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        if len(self.streams) >= MOST_STREAMS:
            raise HTTPException(
                503, "Too many pages are following games here: close one, then reload this one."
            )
        shown = request.headers.get("last-event-id"), request.query_params.get("after")
        turns = [int(it) for it in shown if it and re.fullmatch("[0-9]{1,9}", it)]
        last = turns[0] if turns else None  # of those that the client has
        return _EventStream(Stream(episode, self.log_watchers, last, self.cockpit), self.streams)

    def _episode(self, request: Request, name: str = "episode") -> Episode:
        """Return the episode that is asked for, the game of the cockpit being the latest one.

        Raises:
            HTTPException: 202 with what is waited for where it is only coming, else 404.
        """
        wanted, cockpit = request.path_params[name], self.cockpit
        if cockpit and wanted == LATEST:
            wanted = self.library.id_of(cockpit.folder) if cockpit.folder else None
        if wanted and (episode := self.library.get(wanted)):
            return episode
        folder = self.library.folder_of(wanted) if wanted else None
        if cockpit and (wanted is None or (folder and cockpit.controls(folder))):
            raise HTTPException(202, cockpit.under_way())
        if wanted and self.library.is_coming(wanted):
            raise HTTPException(202, "")
        raise HTTPException(404, f"There is no episode “{wanted}” here.")


class _EventStream(StreamingResponse):
    """Sends a stream, and closes it with the connection."""

    def __init__(self, stream: Stream, others: set[Response]) -> None:
        """``others`` are those that are sent meanwhile."""
        self._events, self._others = stream.events(), others
        super().__init__(self._events, media_type="text/event-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client or the server goes."""
        self._others.add(self)
        try:
            async with aclosing(self._events):
                await super().__call__(scope, receive, send)
        finally:
            self._others.remove(self)


def _unless_same(request: Request, value: JSONObject) -> Response:
    data = encoded(value)
    tag = hashlib.blake2b(data, digest_size=8).hexdigest()
    return _unless_known(request, tag, lambda: data)


def _unless_known(request: Request, tag: str, body: Callable[[], bytes | None]) -> Response:
    headers = {"etag": f'"{tag}"'}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    data = body()
    if data is None:
        raise HTTPException(404, "There is nothing at this address.")
    return Response(data, media_type="application/json", headers=headers)


class Server(uvicorn.Server):
    """A server that ends at once: open streams are told to end, not waited for."""

    def __init__(self, viewer: Viewer) -> None:
        self._watchers = viewer.log_watchers
        most = MOST_ADDRESS_BYTES
        config = small_server(viewer, lifespan="off", h11_max_incomplete_event_size=most)
        super().__init__(config)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything else."""
        self._watchers.close()
        await super().shutdown(sockets)
