"""What arrives at the model server and what it sends back, in OpenAI's shape for every wire.

A script is written once: the server translates requests before the script sees them, and its
replies before they are sent.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mcp_ghost.results import JSONObject


@dataclass(frozen=True)
class ModelRequest:
    """A request that arrived at the model server."""

    body: JSONObject
    """As on the wire."""
    headers: dict[str, str]
    """Names in lower case; ":path" is what was asked for."""
    refusal: str | None = None
    """Why the script did not see it."""
    translation: JSONObject | None = None
    """``body`` in OpenAI's shape, where the wire is another one."""

    @property
    def chat(self) -> JSONObject:
        """The request in OpenAI's shape, whatever the wire."""
        return self.body if self.translation is None else self.translation

    @property
    def messages(self) -> list[JSONObject]:
        """The conversation."""
        return list(self.chat.get("messages") or ())

    @property
    def last(self) -> JSONObject:
        """The latest message."""
        return self.messages[-1]

    @property
    def tool_names(self) -> list[str]:
        """The tools on offer, spelled as on the wire."""
        if self.chat.get("tool_choice") == "none":
            return []
        return [tool["function"]["name"] for tool in self.chat.get("tools") or ()]


@dataclass(frozen=True)
class Reply:
    """What the model server sends back; ``content_reply`` and the like make the usual ones."""

    body: JSONObject | bytes = b""
    """With a Content-Length beyond these bytes: the answer is cut off."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """Seconds before the first byte."""
    drop: bool = False
    """Cut the connection instead of answering."""
    pace: float = 0.0
    """Seconds between the pieces of one that is streamed."""
    cut_after: int | None = None
    """Pieces of one that is streamed after which the connection is cut."""
    pieces: tuple[bytes, ...] | None = None
    """Filled in by the server where a request asks for a stream."""

    def after(self, seconds: float) -> Reply:
        """Return this reply, delayed by so many seconds."""
        return replace(self, delay=seconds)


Script: TypeAlias = Callable[[ModelRequest], Reply | str] | Iterable[Reply | str]
"""From request to reply, or the replies in order; a string is content."""


def content_reply(
    text: object, *, finish_reason: str = "stop", usage: JSONObject | None = None, **message: object
) -> Reply:
    """Make an answer in words; ``message`` adds fields, such as ``reasoning``, on every wire."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    body: JSONObject = {"object": "chat.completion", "choices": [choice]}
    return Reply(body if usage is None else {**body, "usage": usage})


def tool_reply(
    calls: Sequence[tuple[str, object]],
    text: str | None = None,
    *,
    finish_reason: str = "tool_calls",
    usage: JSONObject | None = None,
    **message: object,
) -> Reply:
    """Make a reply of tool calls, (name, arguments); "server.tool" is spelled as on the wire."""
    encoded = [
        call_of(f"call_{uuid.uuid4().hex[:12]}", re.sub(r"[^A-Za-z0-9_-]", "_", name), arguments)
        for name, arguments in calls
    ]
    return content_reply(
        text, finish_reason=finish_reason, usage=usage, tool_calls=encoded, **message
    )


def error_reply(
    status: int, message: str = "made to fail", headers: dict[str, str] | None = None
) -> Reply:
    """Make a failure in the provider's format."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return Reply({"error": error}, status, headers or {})


def call_of(call_id: str, name: str, arguments: object) -> JSONObject:
    """A call in OpenAI's shape."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def in_order(replies: Iterable[Reply | str]) -> Callable[[ModelRequest], Reply | str]:
    """A script that gives ``replies`` one by one, and fails when there is none left."""
    remaining = iter(replies)

    def answer(_request: ModelRequest) -> Reply | str:
        for reply in remaining:
            return reply
        raise AssertionError("more requests than the script has replies")

    return answer
