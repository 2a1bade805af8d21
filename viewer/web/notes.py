"""Where notes and tags are written, by those who know the token."""

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from viewer.episode import Episode
from viewer.experiments.notes import NotesError
from viewer.turns import encoded
from viewer.web import token

PATH = "/data/{episode}/notes"


class _Sent(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    turn: int | None = None
    """None for the episode as a whole."""
    note: str
    tags: list[str]


def is_notes(path: str) -> bool:
    """Whether ``path`` is such an address."""
    return path.startswith("/data/") and path.endswith("/notes")


async def answer(request: Request, wanted: str, episode: Episode) -> Response:
    """Write a note: 200 with all notes of the episode, or a line that says why not."""
    if not token.shows(request, wanted):
        refusal = "Only the page at the address that the viewer printed may write notes."
        return PlainTextResponse(refusal, 403)
    try:
        said = _Sent.model_validate(await token.sent(request))
    except ValidationError:
        return PlainTextResponse("A note has a text, a list of tags, and perhaps a turn.", 400)
    turn = said.turn
    if turn is not None and not 0 <= turn <= episode.turn_count:
        return PlainTextResponse(f"The episode has no turn {turn}.", 422)
    try:
        notes = await run_in_threadpool(episode.notes.write, turn, said.note, said.tags)
    except NotesError as error:
        return PlainTextResponse(str(error), 422)
    except OSError as error:
        return PlainTextResponse(f"The notes cannot be written: {error.strerror}.", 507)
    return Response(encoded(notes), media_type="application/json")
