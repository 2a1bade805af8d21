"""What one run is asked to do: the arguments of ``mcp_ghost()``, checked."""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Required, TypedDict

if TYPE_CHECKING:
    import httpx2
    from mcp.server import MCPServer, Server

    from mcp_ghost.run.pausing.approval import Approve, ApproveWhen
    from mcp_ghost.run.report.events import OnEvent
    from mcp_ghost.servers.oauth.browser import Authorize
    from mcp_ghost.servers.protocol.elicitation import Elicit

_OR_NONE = (
    "loop_limit",
    "max_result_tokens_per_turn",
    "tool_search_above",
    "deadline",
    "cost_budget",
    "token_budget",
    "reply_tokens",
    "context_limit",
)
_WHOLE = (
    "max_iterations",
    "max_parallel_calls",
    "loop_limit",
    "max_result_tokens_per_turn",
    "tool_search_above",
    "result_limit",
    "reply_tokens",
)
_TEXTS = ("system_prompt", "namespace")
_TEXTS_OR_NONE = ("api_key", "model", "base_url")
_SWITCHES = (
    "enable_backtracking",
    "conversation_memory",
    "stream",
    "pause",
    "progress_extends_timeout",
)
_SECONDS = ("timeout", "llm_timeout", "startup_timeout", "deadline")
_ABOVE_ZERO = (*_SECONDS, "context_limit", "cost_budget", "token_budget")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class Options(TypedDict, total=False):
    """The arguments of :func:`mcp_ghost.ghost.mcp_ghost` but for the request, by name."""

    server_config: Required[Mapping[str, Any] | str | Path | MCPServer | Server[Any]]
    provider: Required[str]
    system_prompt: str
    api_key: str | None
    model: str | None
    namespace: str
    timeout: float
    max_iterations: int
    enable_backtracking: bool
    conversation_memory: bool
    base_url: str | None
    llm_timeout: float
    startup_timeout: float
    progress_extends_timeout: bool
    deadline: float | None
    token_budget: int | None
    cost_budget: float | None
    max_tokens: None
    reply_tokens: int | None
    temperature: float | None
    reasoning_effort: str | None
    stop: Sequence[str] | str | None
    headers: Mapping[str, str] | None
    extra_body: Mapping[str, Any] | None
    output: Any
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    tool_search_above: int | None
    max_parallel_calls: int
    loop_limit: int | None
    images: Literal["auto", "never"]
    max_result_tokens_per_turn: int | None
    result_limit: int
    context_limit: int | None
    stream: bool
    on_event: OnEvent | None
    elicit: Elicit | None
    approve: Approve | None
    approve_when: ApproveWhen
    pause: bool
    checkpoint: str | Path | None
    authorize: Authorize | None
    transport: httpx2.AsyncBaseTransport | None


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`mcp_ghost.ghost.mcp_ghost`, checked."""

    server_config: Mapping[str, Any] | str | Path | MCPServer | Server[Any]
    system_prompt: str
    provider: str
    api_key: str | None = field(repr=False)
    model: str | None
    namespace: str
    timeout: float
    max_iterations: int
    enable_backtracking: bool
    conversation_memory: bool
    base_url: str | None
    llm_timeout: float
    startup_timeout: float
    progress_extends_timeout: bool
    deadline: float | None
    token_budget: int | None
    cost_budget: float | None
    max_tokens: None
    reply_tokens: int | None
    temperature: float | None
    reasoning_effort: str | None
    stop: Sequence[str] | str | None
    headers: Mapping[str, str] | None = field(repr=False)
    extra_body: Mapping[str, Any] | None = field(repr=False)
    output: Any
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    tool_search_above: int | None
    max_parallel_calls: int
    loop_limit: int | None
    images: Literal["auto", "never"]
    max_result_tokens_per_turn: int | None
    result_limit: int
    context_limit: int | None
    stream: bool
    on_event: OnEvent | None
    elicit: Elicit | None
    approve: Approve | None
    approve_when: ApproveWhen
    pause: bool
    checkpoint: str | Path | None
    authorize: Authorize | None
    transport: httpx2.AsyncBaseTransport | None

    @property
    def model_options(self) -> dict[str, Any]:
        """What each request says beside the conversation."""
        return {
            "max_tokens": self.reply_tokens,
            "temperature": self.temperature,
            "reasoning_effort": self.reasoning_effort,
            "stop": [self.stop] if isinstance(self.stop, str) else self.stop,
            "extra_body": self.extra_body,
        }

    @property
    def secrets(self) -> set[str]:
        """What of it looks like a key."""
        from mcp_ghost.redact import secrets_in  # keeps importing the library fast

        return secrets_in(self.headers or {}) | secrets_in(self.extra_body or {})

    def __post_init__(self) -> None:
        if self.max_tokens is not None:
            raise ValueError(
                "max_tokens could mean two things: give reply_tokens for the length of one reply, "
                "or token_budget for the tokens of the whole run (cost_budget: its US dollars)."
            )
        if not isinstance(self.server_config, Mapping | str | Path):
            from mcp_ghost.config.in_process import is_server  # which imports pydantic

            if not is_server(self.server_config):
                raise ValueError(
                    'server_config must be {"mcpServers": {...}}, the path of a file, or an '
                    "MCPServer."
                )
        self._check_types()
        for name in (*_WHOLE, *_ABOVE_ZERO):
            value, whole = getattr(self, name), name in _WHOLE
            if value is None and name in _OR_NONE:
                continue
            if not _is_positive(value) or (whole and not isinstance(value, int)):
                wanted = "a whole number of at least 1" if whole else "a number above 0"
                raise ValueError(f"{name} must be {wanted}, not {value!r}.")
        self._check_model_options()
        if self.images not in ("auto", "never"):
            raise ValueError(f'images must be "auto" or "never", not {self.images!r}.')
        if self.on_event is not None and not callable(self.on_event):
            raise ValueError("on_event must be a function of one argument.")
        if self.elicit is not None and not callable(self.elicit):
            raise ValueError("elicit must be a coroutine function of three arguments.")
        self._check_approval()
        if self.authorize is not None and not callable(self.authorize):
            raise ValueError("authorize must be a coroutine function of one argument.")

    def _check_types(self) -> None:
        for name in (*_TEXTS, *_TEXTS_OR_NONE):
            value = getattr(self, name)
            if not isinstance(value, str) and (name in _TEXTS or value is not None):
                shown = type(value).__name__ if name == "api_key" else repr(value)
                raise ValueError(f"{name} must be a string, not {shown}.")
        for name in _SWITCHES:
            if not isinstance(value := getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, not {value!r}.")  # noqa: TRY004
        for name in ("allow", "deny"):
            value = getattr(self, name)
            if value is not None and not _is_list_of_texts(value):
                wanted = "a list of names or patterns such as ['files.*']"
                raise ValueError(f"{name} must be {wanted}, not {value!r}.")
        if self.checkpoint is not None and not isinstance(self.checkpoint, str | os.PathLike):
            raise ValueError(f"checkpoint must be the path of a file, not {self.checkpoint!r}.")
        if self.transport is not None:
            _check_transport(self.transport)

    def _check_approval(self) -> None:
        if self.approve is not None and not callable(self.approve):
            raise ValueError("approve must be a coroutine function of three arguments.")
        when = self.approve_when
        if not (when in ("destructive", "always") or _is_list_of_texts(when)):
            raise ValueError(
                'approve_when must be "destructive", "always" or a list of patterns such as '
                f"'files.*', not {when!r}."
            )
        if when != "destructive" and self.approve is None and not self.pause:
            raise ValueError("approve_when needs somebody to ask: pass approve, or pause=True.")

    def _check_model_options(self) -> None:
        if self.temperature is not None and not _is_number(self.temperature, least=0):
            raise ValueError(
                f"temperature must be a number of 0 or more, not {self.temperature!r}."
            )
        if self.reasoning_effort not in (None, *_EFFORTS):
            known = ", ".join(_EFFORTS)
            raise ValueError(f"reasoning_effort must be {known}, not {self.reasoning_effort!r}.")
        words = [self.stop] if isinstance(self.stop, str) else self.stop
        if words is not None and not (_is_list_of_texts(words) and all(words)):
            raise ValueError(f"stop must be a string or a list of strings, not {self.stop!r}.")
        for name, texts in (("headers", True), ("extra_body", False)):
            given = getattr(self, name)
            if given is not None and not _has_names(given, texts=texts):
                wanted = "names and strings" if texts else "names and JSON values"
                raise ValueError(f"{name} must be a dict of {wanted}.")


def check_prompt(user_prompt: object) -> None:
    """Refuse a request that asks for nothing.

    Raises:
        ValueError: It is one.
    """
    if not isinstance(user_prompt, str) or not user_prompt.strip():
        raise ValueError("user_prompt is empty: say what should be done.")


def running_loop() -> asyncio.AbstractEventLoop:
    """The event loop of this thread.

    Raises:
        RuntimeError: There is none of asyncio's.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("mcp_ghost needs asyncio's event loop; Trio's will not do.") from None


def _has_names(given: object, *, texts: bool) -> bool:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        return False
    return _is_list_of_texts(given.values()) if texts else _is_json(given)


def _is_list_of_texts(given: object) -> bool:
    if not isinstance(given, Collection) or isinstance(given, str | bytes):
        return False
    return all(isinstance(text, str) for text in given)


def _is_json(given: Mapping[str, object]) -> bool:
    try:
        json.dumps(dict(given))
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_positive(value: object) -> bool:
    return _is_number(value, least=0) and value != 0


def _is_number(value: object, *, least: float) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= least


def _check_transport(transport: object) -> None:
    """Refuse httpx's, too: it raises errors of other classes."""
    import httpx2

    if not isinstance(transport, httpx2.AsyncBaseTransport):
        raise ValueError(f"transport must be an httpx2.AsyncBaseTransport: {transport!r}.")  # noqa: TRY004
