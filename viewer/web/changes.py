"""What a page may change, if it knows the token of whoever started the server.

The token travels in a header that no other site can send, and never in the part of an address that
servers are told.
"""

import json
from collections.abc import Callable
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response

from mcp_ghost.results import JSONObject
from session.listener import is_same, shows_token
from viewer.episode import Episode
from viewer.experiments.notes import NotesError
from viewer.library import Library
from viewer.turns import encoded
from viewer.web.cockpit import Cockpit, RefusedError

METHOD = "POST"
CONTROL, NOTES, DELETE = "/control", "/notes", "/delete"
"""How the addresses end, below ``/data/EPISODE``, but for ``/data/delete``."""
ENTER = "/enter"
"""Where a page shows the token of its address, and gets the cookie with which it may read."""
_COOKIE = "zorkgpt"
_ONLY = "Only the page at the address that the viewer printed"
MOST_SENT_BYTES = 64 * 1024
_Find: TypeAlias = Callable[[Request], Episode]
"""Returns the episode that is asked for."""


class _NoteSent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    turn: int | None = None
    """None for the episode as a whole."""
    note: str
    tags: list[str]
    name: str | None = None
    """The episode's; None to leave it as it is."""


def enter(request: Request, token: str, key: str) -> Response:
    """Give a page that knows the token the cookie that lets its browser read: 204, or 403."""
    _must_know(request, token, "Open the printed address again: this token is another one.")
    response = Response(status_code=204)
    response.set_cookie(_COOKIE, key, httponly=True, samesite="strict")
    return response


def may_read(request: HTTPConnection, token: str, key: str) -> bool:
    """Return whether a request comes with the cookie, or with the token itself."""
    return is_same(request.cookies.get(_COOKIE, ""), key) or shows_token(request.headers, token)


async def press(request: Request, cockpit: Cockpit, find: _Find) -> Response:
    """Do what a button says: 204, or a line that says why not."""
    episode = await run_in_threadpool(find, request)
    _must_know(request, cockpit.token, "Only the page at the printed address may do this.")
    if not cockpit.controls(episode.folder) or episode.end_reason is not None:
        return PlainTextResponse("This game is not being played here.", 409)
    pressed = await _sent(request)
    if pressed is None:
        return PlainTextResponse("The request does not name a button.", 400)
    try:
        # The game's thread may hold the lock for a moment; nobody else is to wait for that.
        await run_in_threadpool(cockpit.press, str(pressed.get("act")), pressed.get("text", ""))
    except RefusedError as error:
        return PlainTextResponse(str(error), 422)
    return Response(status_code=204)


async def write_note(request: Request, token: str, find: _Find) -> Response:
    """Write a note: 200 with all notes of the episode, or a line that says why not."""
    episode = await run_in_threadpool(find, request)
    _must_know(request, token, f"{_ONLY} may write notes.")
    try:
        said = _NoteSent.model_validate(await _sent(request))
    except ValidationError:
        return PlainTextResponse(
            "A note needs a text and a list of tags, and may have a turn.", 400
        )
    turn = said.turn
    if turn is not None and not 0 <= turn <= episode.turn_count:
        return PlainTextResponse(f"The episode has no turn {turn}.", 422)
    try:
        notes = await run_in_threadpool(episode.notes.write, turn, said.note, said.tags, said.name)
    except NotesError as error:
        return PlainTextResponse(str(error), 422)
    except OSError as error:
        return PlainTextResponse(f"The notes cannot be written: {error.strerror}.", 507)
    return Response(encoded(notes), media_type="application/json")


async def delete(request: Request, token: str, library: Library) -> Response:
    """Delete episodes: 200 with those that stay, and why, or a line that says why not."""
    _must_know(request, token, f"{_ONLY} may delete episodes.")
    wanted = (await _sent(request) or {}).get("episodes")
    if not isinstance(wanted, list):
        return PlainTextResponse("This is not a list of episodes.", 400)
    kept = await run_in_threadpool(library.delete, map(str, wanted))
    return Response(encoded(kept), media_type="application/json")


def _must_know(request: Request, token: str, refusal: str) -> None:
    """Refuse a request that does not come from a page of ours that knows ``token``.

    Browsers say where a request comes from; anything else has no page to misuse.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    is_ours = origin is None or origin.partition("://")[2] == request.headers.get("host")
    if not (is_ours and site in (None, "same-origin") and shows_token(request.headers, token)):
        raise HTTPException(403, refusal)


async def _sent(request: Request) -> JSONObject | None:
    """Return the JSON object in a request; None where there is none, or it is too long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_SENT_BYTES:
            return None
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
