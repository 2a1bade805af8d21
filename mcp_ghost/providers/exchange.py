"""One call of a model as it went: what was asked, every try, what came back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mcp_ghost.messages import Usage

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse
    from mcp_ghost.providers.common import LLMRequest


@dataclass(frozen=True)
class FailedTry:
    """An attempt that brought no usable reply: refused, broken off, empty."""

    error: str
    seconds: float
    usage: Usage = field(default_factory=Usage)
    """What it used nevertheless; an empty reply is paid for."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and what came of it, in neutral form: no key, no headers, our tool names."""

    request: LLMRequest
    provider: str
    where: str
    """The address, without secrets."""
    reply: LLMResponse | None
    """As it came; what failed tries took is in ``tries``."""
    error: str | None
    """Why there is no reply."""
    tries: tuple[FailedTry, ...]
    """Those before the reply; without a reply, all of them."""
    seconds: float
    """Of the whole call, waits between tries included."""
    left_out: tuple[str, ...] = ()
    """Optional fields that the model refuses, so that it was asked without them."""

    @property
    def usage(self) -> Usage:
        """What all replies took together."""
        replied = self.reply.spent if self.reply else Usage()
        return sum((failed.usage for failed in self.tries), replied)


OnExchange: TypeAlias = Callable[[Exchange], None]
