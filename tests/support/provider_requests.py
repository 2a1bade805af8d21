"""Requests for tests of the wire formats, from the words that callers of a client use."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.testing import Reply, content_reply, tool_reply
from tests.support.wires import chosen, provider_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_ghost.messages import Message

_FIELDS = {field.name for field in fields(LLMRequest)}


def request_for(messages: Sequence[Message], model: str = "m", **given: Any) -> LLMRequest:  # noqa: ANN401  any field or option
    """A request; whatever is not one of its fields is one of its options."""
    ours = {name: value for name, value in given.items() if name in _FIELDS}
    options = {name: value for name, value in given.items() if name not in _FIELDS}
    return LLMRequest(messages=messages, model=model, **ours, options=options)


KEY = "key-0123456789"


def payload(wire: str, messages: list[Message], **options: Any) -> dict[str, Any]:  # noqa: ANN401  any option
    provider = provider_of(wire)
    given = {
        "model": provider.default_model,
        "base_url": provider.base_url,
        **chosen(wire),
        **options,
    }
    return provider.encode(request_for(messages, api_key=KEY, **given)).payload


USAGE = {
    "prompt_tokens": 90,
    "completion_tokens": 30,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 11},
}
REPLIES: list[Reply] = [
    content_reply("It holds an A.", usage=USAGE),
    tool_reply([("fs.read", {"path": "ä"}), ("fs.read", {})], "One moment.", usage=USAGE),
    tool_reply([("fs.read", {"path": "b", "lines": 3})], reasoning="Which file?", usage=USAGE),
]
