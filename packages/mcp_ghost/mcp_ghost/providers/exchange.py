"""One call of a model as it went: what was asked, every try, what came back."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mcp_ghost.messages import LLMResponse, Usage
from mcp_ghost.providers.common import LLMRequest, usage_of
from mcp_ghost.providers.streaming import OnDelta
from mcp_ghost.results import JSONObject


@dataclass(frozen=True)
class FailedTry:
    """An attempt that brought no usable reply: refused, broken off, empty."""

    error: str
    seconds: float
    usage: Usage = field(default_factory=Usage)
    """What it used nevertheless; an empty reply is paid for."""
    reply: LLMResponse | None = None
    """An empty one, as it came: why it ended, and what the model thought."""


@dataclass
class Exchange:
    """One request and what came of it, in neutral form: no key, no headers, our tool names."""

    request: LLMRequest
    provider: str
    where: str
    """The address, without secrets."""
    reply: LLMResponse | None = None
    """As it came; what failed tries took is in ``tries``."""
    error: str | None = None
    """Why there is no reply."""
    tries: tuple[FailedTry, ...] = ()
    """Those before the reply; without a reply, all of them."""
    left_out: tuple[str, ...] = ()
    """Optional fields that the model refuses, so that it was asked without them."""
    sent: JSONObject = field(default_factory=dict)
    """What the latest try said on the wire besides messages and tools, ``extra_body`` included.

    Not all options go to every model: some are left out or capped, others have to be there."""
    on_delta: OnDelta | None = None
    """Told of the reply while it comes."""
    retry_empty: bool = True
    """Whether an empty reply is asked for once more, with nothing changed."""
    started: float = field(default_factory=time.perf_counter)
    seconds: float = 0.0
    """Of the whole call, waits between tries included."""

    @property
    def wasted(self) -> Usage:
        """What the failed tries took."""
        return sum((failed.usage for failed in self.tries), Usage())

    @property
    def usage(self) -> Usage:
        """What all replies took together."""
        return self.wasted + (self.reply.spent if self.reply else Usage())


OnExchange: TypeAlias = Callable[[Exchange], None]


def with_all(response: LLMResponse, before: Usage) -> LLMResponse:
    """``response`` with what the useless replies before it took, too: each was paid for."""
    if not before.calls:
        return response
    spent = before + response.spent
    tokens = usage_of(spent.prompt_tokens, spent.completion_tokens, None, spent.cached_tokens)
    return replace(
        response,
        calls=spent.calls,
        usage=tokens if response.usage or before.total_tokens else None,
        cost=None if response.cost is None and not before.cost else spent.cost,
    )
