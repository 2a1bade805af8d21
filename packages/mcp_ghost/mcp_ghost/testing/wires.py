"""The formats that the model server speaks; scripts see and say OpenAI's in every one."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mcp_ghost.results import JSONObject, parsed
from mcp_ghost.testing.refusals import ServerDialect, refusal
from mcp_ghost.testing.streams import openai_events

Headers: TypeAlias = Mapping[str, str]
WireName: TypeAlias = Literal["openai", "responses", "anthropic", "gemini"]
"""Those of the providers; responses is OpenAI's, too."""


def openai_error(status: int, message: str) -> JSONObject:
    """A failure as OpenAI says it on both of its wires."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


@dataclass(frozen=True)
class Wire:
    """One provider's format, seen from the server's side; by default OpenAI's chat completions."""

    refusal: Callable[[object, Headers], str | None]
    """Why the provider would refuse a request, or None."""
    path: re.Pattern[str] = re.compile(r".*/chat/completions")
    """Where completions are asked for, without the query."""
    read: Callable[[JSONObject, Headers], JSONObject] = lambda body, _: body
    """A request in OpenAI's shape."""
    write: Callable[[JSONObject], JSONObject] = lambda completion: completion
    """A completion of OpenAI's in the shape of this provider."""
    error: Callable[[int, str], JSONObject] = openai_error
    """The body of a failure with that status and message."""
    events: Callable[[JSONObject, JSONObject], Iterator[bytes]] = openai_events
    """A reply in the shape of this provider, and the request, piece by piece."""
    streams: Callable[[JSONObject, Headers], bool] = lambda body, _: bool(body.get("stream"))
    """Whether a request asks for a reply in such pieces."""
    base_path: str = "/v1"
    """What a base URL ends in."""


def openai_wire(dialect: ServerDialect) -> Wire:
    """OpenAI's chat completions, in one of their dialects."""
    return Wire(lambda body, _: refusal(body, dialect))


def arguments_of(call: JSONObject) -> object:
    """The arguments of a call; a script that wants broken ones gets them."""
    arguments = call["function"]["arguments"]
    return parsed(arguments, arguments)


def text_of(parts: str | list[JSONObject]) -> str:
    """What a message says, with a line for each part that has a text."""
    if isinstance(parts, str):
        return parts
    said = (part.get("text") or part.get("refusal") for part in parts)
    return "\n".join(text for text in said if text)


def asked_form(schema: JSONObject | None) -> JSONObject:
    """A request for an answer in the form of ``schema``, or for any JSON, as OpenAI says it."""
    if schema is None:
        return {"response_format": {"type": "json_object"}}
    named = {"name": "answer", "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}}
