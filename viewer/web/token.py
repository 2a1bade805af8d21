"""The token of whoever started the server, without which a page may only read.

It travels in a header that no other site can send, and never in the part of an address that
servers are told.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.requests import Request

    from mcp_ghost.results import JSONObject

METHOD = "POST"
MOST_SENT_BYTES = 64 * 1024


def new_token() -> str:
    """One that nobody can guess."""
    return secrets.token_urlsafe(24)


def shows(request: Request, token: str) -> bool:
    """Whether a request comes from a page of ours that knows ``token``.

    How long the comparison takes says nothing of the token.
    """
    shown = request.headers.get("authorization", "").removeprefix("Bearer ")
    return _is_from_our_page(request) and secrets.compare_digest(shown.encode(), token.encode())


async def sent(request: Request) -> JSONObject | None:
    """The JSON object in a request; None where there is none, or it is too long."""
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


def _is_from_our_page(request: Request) -> bool:
    """Browsers say where a request comes from; anything else has no page to misuse."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    own = origin is None or origin.partition("://")[2] == request.headers.get("host")
    return own and site in (None, "same-origin")
