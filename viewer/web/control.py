"""The one address that changes anything: where the buttons of the page are pressed.

Only a page of ours that knows the token gets further than the refusal. The token travels in a
header that no other site can send, and never in the part of an address that servers are told.
"""

import json
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from mcp_ghost.results import JSONObject
from viewer.episode import Episode
from viewer.web.cockpit import Cockpit, RefusedError

METHOD = "POST"
PATH = "/data/{episode}/control"
MOST_PRESSED_BYTES = 4096


def is_control(path: str) -> bool:
    """Whether ``path`` is such an address."""
    return path.startswith("/data/") and path.endswith("/control")


async def answer(request: Request, cockpit: Cockpit, episode: Episode) -> Response:
    """Do what was pressed, if whoever started the game did it: 204, or a line that says why not."""
    if not _is_from_our_page(request) or not cockpit.opens_to(_token(request)):
        return PlainTextResponse("Only the page that the game has opened may do this.", 403)
    if not cockpit.controls(episode.folder) or episode.end_reason is not None:
        return PlainTextResponse("This game is not being played here.", 409)
    pressed = await _pressed(request)
    if pressed is None:
        return PlainTextResponse("This is not what a button sends.", 400)
    try:
        # The game's thread may hold the lock for a moment; nobody else is to wait for that.
        await run_in_threadpool(cockpit.press, str(pressed.get("act")), pressed.get("text", ""))
    except RefusedError as error:
        return PlainTextResponse(str(error), 422)
    return Response(status_code=204)


def _is_from_our_page(request: Request) -> bool:
    """Browsers say where a request comes from; what is no browser has no page to be misused."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    return own and site in (None, "same-origin")


def _token(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


async def _pressed(request: Request) -> JSONObject | None:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_PRESSED_BYTES:
            return None
    try:
        pressed = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return pressed if isinstance(pressed, dict) else None
