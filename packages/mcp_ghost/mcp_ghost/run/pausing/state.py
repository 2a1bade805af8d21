"""A run as plain JSON: what it takes to go on with it in another process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mcp_ghost.files import read_regular
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall

VERSION = 1


@dataclass
class State:
    """Where a run stands."""

    user_prompt: str
    messages: list[Message]
    """Without the system prompt."""
    finish_reason: str | None = None
    """Of the latest reply."""
    calls: dict[str, Any] = field(default_factory=dict)
    """The ledger of its calls."""
    answers: list[dict[str, Any]] = field(default_factory=list)
    """What servers asked, and what somebody said to it."""
    account: dict[str, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)
    """What of the conversation the model is shown."""
    pending: list[dict[str, Any]] = field(default_factory=list)
    """What the run waits for."""
    version: int = VERSION

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | Path) -> State:
        """What ``to_dict`` gave, or the path of a checkpoint with it.

        Raises:
            ValueError: It is neither.
        """
        kept = _read(Path(given)) if isinstance(given, str | Path) else given
        if not isinstance(kept, Mapping) or kept.get("version") != VERSION:
            raise ValueError(
                "state must be what a paused result has under 'state', or the path of a checkpoint."
            )
        try:
            return cls(**json.loads(json.dumps(kept)))
        except TypeError as error:
            raise ValueError(f"The state cannot be read: {error}") from error

    @property
    def latest_reply(self) -> LLMResponse | None:
        """The reply that the run goes on from: its calls are open, or it is the answer."""
        index = max((i for i, it in enumerate(self.messages) if it["role"] != "tool"), default=-1)
        if index < 0 or self.messages[index]["role"] != "assistant":
            return None
        last, answered = self.messages[index], self.messages[index + 1 :]
        calls = last.get("tool_calls") or []
        if answered:
            return None
        content = last.get("content")
        return LLMResponse(
            content=None if calls else content,
            model="",
            tool_calls=[_call(call) for call in calls] or None,
            finish_reason=self.finish_reason,
            text=content if calls else None,
            provider_state=last.get("provider_state"),
        )


def _read(path: Path) -> Any:  # noqa: ANN401  checked by the caller
    try:
        return json.loads(read_regular(path))
    except FileNotFoundError as error:
        raise ValueError(f"There is no checkpoint at {path}: no run has begun there.") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"The checkpoint {path} cannot be read: {error}") from error


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(call["id"], "function", FunctionCall(function["name"], function["arguments"]))
