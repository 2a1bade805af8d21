"""The neutral conversation that every provider's wire format is made from and read into.

A message is a dict in the shape of OpenAI's chat format with our own tool names ("server.tool"):
system and user messages have ``content``, assistant messages ``content`` and/or ``tool_calls``,
tool messages ``tool_call_id``, ``content`` and, where the call failed, ``is_error`` and its
:class:`mcp_ghost.toolset.Kind`.
``provider_state`` on an assistant message is for the provider that wrote it, and left out for
others. ``cache_control`` on a message asks for prompt caching up to and including it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from operator import add
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
ToolSchema: TypeAlias = dict[str, Any]
"""{"type": "function", "function": {"name", "description", "parameters"}}"""
_CUT_OFF = frozenset({"length", "max_tokens", "MAX_TOKENS"})
"""How servers say that a reply is longer than it may be; some in another provider's words."""


@dataclass(frozen=True)
class FunctionCall:
    """What a model asks to be called; ``arguments`` is the JSON text it wrote."""

    name: str
    arguments: str


@dataclass(frozen=True)
class ToolCall:
    """One call of one reply; ``id`` ties the result to it."""

    id: str
    type: str
    function: FunctionCall


@dataclass(frozen=True)
class Usage:
    """What replies used, as far as the provider reports it; ``+`` gives the sum."""

    calls: int = 0
    """Replies."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    """The part of the prompt tokens that the provider had in its cache."""
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, vars(self).values(), vars(other).values()))

    @property
    def total_tokens(self) -> int:
        """Prompt and completion."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True)
class LLMResponse:
    """One reply of a model: either ``content`` or ``tool_calls``, never both."""

    content: str | None
    model: str
    usage: dict[str, int] | None = None
    """prompt_tokens, completion_tokens, total_tokens and cached_tokens (part of the prompt)."""
    tool_calls: list[ToolCall] | None = None
    finish_reason: str | None = None
    text: str | None = None
    """What the model said beside its tool calls."""
    reasoning: str | None = None
    """Thinking that the provider returned apart from the answer."""
    cost: float | None = None
    """US dollars, where the provider reports them."""
    provider_state: Any = None
    """JSON that the provider wants back with this reply: thinking blocks, thought signatures."""
    calls: int = 1
    """Replies that ``usage`` and ``cost`` are for: this one, and empty ones before it."""

    @property
    def spent(self) -> Usage:
        """``calls``, ``usage`` and ``cost`` as one value."""
        usage = self.usage or {}
        return Usage(
            calls=self.calls,
            prompt_tokens=usage.get("prompt_tokens") or 0,
            cached_tokens=usage.get("cached_tokens") or 0,
            completion_tokens=usage.get("completion_tokens") or 0,
            cost=self.cost or 0.0,
        )


def was_cut_off(response: LLMResponse) -> bool:
    """Whether the reply ends where it reached the length limit, and not where the model ended."""
    return response.finish_reason in _CUT_OFF


def was_paused(response: LLMResponse) -> bool:
    """Whether Anthropic's own tools need more time, for which the reply is sent back as it is.

    https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons#pause-turn
    """
    return response.finish_reason == "pause_turn"


def assistant_message(response: LLMResponse) -> Message:
    """The reply as the history entry that answers to its calls can follow."""
    message: Message = {"role": "assistant", "content": response.content or response.text}
    if response.tool_calls:
        message["tool_calls"] = [asdict(call) for call in response.tool_calls]
    if response.provider_state is not None:
        message["provider_state"] = response.provider_state
    return message


def text_in(message: Message) -> str:
    """What ``message`` says, without its images."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def without_state(messages: Iterable[Message]) -> list[Message]:
    """``messages`` without what providers attached to their replies."""
    return [
        {key: message[key] for key in message if key != "provider_state"} for message in messages
    ]


def tool_message(
    call_id: str,
    text: str,
    *,
    images: Sequence[dict[str, Any]] = (),
    is_error: bool = False,
    kind: str = "",
) -> Message:
    """The answer to one call; some providers are told separately whether it is a failure.

    ``kind`` says for records which one it is; no provider is told.
    """
    content = [{"type": "text", "text": text}, *images] if images else text
    message: Message = {"role": "tool", "tool_call_id": call_id, "content": content}
    if is_error:
        message |= {"is_error": True, **({"kind": kind} if kind else {})}
    return message


def with_answers(messages: Iterable[Message], text: str) -> list[Message]:
    """``messages``, with ``text`` as the answer to each call that has none.

    Providers refuse a history in which a call is not answered.
    """
    whole: list[Message] = []
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting = [call_id for call_id in waiting if call_id != message["tool_call_id"]]
        else:
            whole += [tool_message(call_id, text, is_error=True) for call_id in waiting]
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
        whole.append(message)
    return whole + [tool_message(call_id, text, is_error=True) for call_id in waiting]
