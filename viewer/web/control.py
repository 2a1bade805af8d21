"""Where the buttons of the page are pressed, by those who know the token."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from viewer.episode import Episode
from viewer.web import token
from viewer.web.cockpit import Cockpit, RefusedError

PATH = "/data/{episode}/control"


def is_control(path: str) -> bool:
    """Whether ``path`` is such an address."""
    return path.startswith("/data/") and path.endswith("/control")


async def answer(request: Request, cockpit: Cockpit, episode: Episode) -> Response:
    """Do what was pressed, if whoever started the game did it: 204, or a line that says why not."""
    if not token.shows(request, cockpit.token):
        return PlainTextResponse("Only the page that the game opened may do this.", 403)
    if not cockpit.controls(episode.folder) or episode.end_reason is not None:
        return PlainTextResponse("This game is not being played here.", 409)
    pressed = await token.sent(request)
    if pressed is None:
        return PlainTextResponse("This is not what a button sends.", 400)
    try:
        # The game's thread may hold the lock for a moment; nobody else is to wait for that.
        await run_in_threadpool(cockpit.press, str(pressed.get("act")), pressed.get("text", ""))
    except RefusedError as error:
        return PlainTextResponse(str(error), 422)
    return Response(status_code=204)
