"""The events of a run as types; ``docs/streaming.md`` says what each one tells.

``on_event`` and ``Ghost.stream`` give them as dicts, whose "type" is the name of the class in small
letters; ``event_of`` makes the one of the other.
"""

# ruff: noqa: D101  their names say what they are

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from mcp_ghost.run.report.account import ToolRecord


@dataclass(frozen=True)
class RunStart:
    provider: str
    model: str
    servers: list[str]


@dataclass(frozen=True)
class ServerConnected:
    server: str
    version: str
    revision: str
    tools: int
    instructions: str


@dataclass(frozen=True)
class ServerFailed:
    server: str
    error: str


@dataclass(frozen=True)
class Text:
    iteration: int
    text: str


@dataclass(frozen=True)
class Thinking:
    iteration: int
    text: str


@dataclass(frozen=True)
class ReplyRestart:
    iteration: int


@dataclass(frozen=True)
class ModelReply:
    iteration: int
    content: str
    tool_calls: list[str]
    usage: dict[str, Any] | None


@dataclass(frozen=True)
class ToolCall:
    iteration: int
    retry_attempt: int
    tool_name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class ToolProgress:
    tool_name: str
    progress: float
    total: float | None
    message: str | None


@dataclass(frozen=True)
class ToolResult(ToolRecord):
    pass


@dataclass(frozen=True)
class ToolsChanged:
    server: str
    tools: int


@dataclass(frozen=True)
class Retry:
    retry_attempt: int
    tool_name: str
    server: str
    error: str


@dataclass(frozen=True)
class Backtrack:
    tool_name: str
    error: str


@dataclass(frozen=True)
class BreakerOpen:
    tool_name: str


@dataclass(frozen=True)
class Loop:
    tool_name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Compaction:
    shortened: int
    summarised: int
    size_before: int
    size_after: int
    summary: str | None
    summary_by: Literal["model", "rule"] | None


@dataclass(frozen=True)
class Paused:
    pending: list[dict[str, Any]]


@dataclass(frozen=True)
class RunEnd:
    success: bool
    summary: str
    result: dict[str, Any] | None = None


Event: TypeAlias = (
    RunStart
    | ServerConnected
    | ServerFailed
    | Text
    | Thinking
    | ReplyRestart
    | ModelReply
    | ToolCall
    | ToolProgress
    | ToolResult
    | ToolsChanged
    | Retry
    | Backtrack
    | BreakerOpen
    | Loop
    | Compaction
    | Paused
    | RunEnd
)
EVENTS: Final = {re.sub(r"\B([A-Z])", r"_\1", it.__name__).lower(): it for it in get_args(Event)}


def event_of(told: Mapping[str, Any]) -> Event:
    """The event that ``on_event`` or a stream gave as the dict ``told``."""
    event: Event = EVENTS[told["type"]](**{key: told[key] for key in told if key != "type"})
    return event
