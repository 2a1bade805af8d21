"""What one run is asked to do: the arguments of ``mcp_ghost()``, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import httpx

    from mcp_ghost.run.events import OnEvent
    from mcp_ghost.servers.oauth.browser import Authorize
    from mcp_ghost.servers.protocol.elicitation import Elicit

_OR_NONE = (
    "loop_limit",
    "max_result_tokens_per_turn",
    "deadline",
    "max_cost",
    "max_tokens",
    "reply_tokens",
)
_WHOLE = (
    "max_iterations",
    "max_parallel_calls",
    "loop_limit",
    "max_result_tokens_per_turn",
    "result_limit",
    "reply_tokens",
)
_SECONDS = ("timeout", "llm_timeout", "startup_timeout", "deadline")
_ABOVE_ZERO = (*_SECONDS, "context_limit", "max_cost", "max_tokens")


@dataclass(frozen=True)
class Settings:
    """The arguments of :func:`mcp_ghost.ghost.mcp_ghost`, checked."""

    server_config: Mapping[str, Any] | str | Path
    system_prompt: str
    provider: str
    api_key: str | None = field(repr=False)
    user_prompt: str
    model: str | None
    namespace: str
    timeout: float
    max_iterations: int
    enable_backtracking: bool
    conversation_memory: bool
    base_url: str | None
    llm_timeout: float
    startup_timeout: float
    deadline: float | None
    max_tokens: int | None
    max_cost: float | None
    reply_tokens: int | None
    allow: Sequence[str] | None
    deny: Sequence[str] | None
    max_parallel_calls: int
    loop_limit: int | None
    images: Literal["auto", "never"]
    max_result_tokens_per_turn: int | None
    result_limit: int
    context_limit: int
    on_event: OnEvent | None
    elicit: Elicit | None
    authorize: Authorize | None
    transport: httpx.AsyncBaseTransport | None

    def __post_init__(self) -> None:
        if not isinstance(self.server_config, Mapping | str | Path):
            raise ValueError('server_config must be {"mcpServers": {...}} or the path of a file.')  # noqa: TRY004
        if not isinstance(self.user_prompt, str) or not self.user_prompt.strip():
            raise ValueError("user_prompt is empty: say what should be done.")
        if not isinstance(self.system_prompt, str):
            raise ValueError(f"system_prompt must be a string, not {self.system_prompt!r}.")  # noqa: TRY004
        for name in (*_WHOLE, *_ABOVE_ZERO):
            value, whole = getattr(self, name), name in _WHOLE
            if value is None and name in _OR_NONE:
                continue
            if not _is_positive(value) or (whole and not isinstance(value, int)):
                wanted = "a whole number of at least 1" if whole else "a number above 0"
                raise ValueError(f"{name} must be {wanted}, not {value!r}.")
        if self.images not in ("auto", "never"):
            raise ValueError(f'images must be "auto" or "never", not {self.images!r}.')
        if self.on_event is not None and not callable(self.on_event):
            raise ValueError("on_event must be a function of one argument.")
        if self.elicit is not None and not callable(self.elicit):
            raise ValueError("elicit must be a coroutine function of three arguments.")
        if self.authorize is not None and not callable(self.authorize):
            raise ValueError("authorize must be a coroutine function of one argument.")


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0
