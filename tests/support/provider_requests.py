"""Requests for tests of the wire formats, from the words that callers of a client use."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.common import LLMRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_ghost.messages import Message

_FIELDS = {field.name for field in fields(LLMRequest)}


def request_for(messages: Sequence[Message], model: str = "m", **given: Any) -> LLMRequest:  # noqa: ANN401  any field or option
    """A request; whatever is not one of its fields is one of its options."""
    ours = {name: value for name, value in given.items() if name in _FIELDS}
    options = {name: value for name, value in given.items() if name not in _FIELDS}
    return LLMRequest(messages=messages, model=model, **ours, options=options)
