"""In-process doubles for tests of the agent's own logic; they record what was asked of them."""

from __future__ import annotations

import asyncio
import copy
import itertools
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall, ToolSchema
from mcp_ghost.results import ToolCallResult
from session.events import event_fields
from session.game_configuration import GameConfiguration
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from llm_client import LLMClient
    from managers.mcp_manager import MCPManager

Outcome: TypeAlias = ToolCallResult | Exception
THINK = "thoughtbox.think"
ACTION = '{"thinking": "The door is shut.", "action": "open door", "new_objective": null}'
_numbers = itertools.count(1)


def schema(name: str) -> ToolSchema:
    """A tool without parameters."""
    parameters = {"type": "object", "properties": {}}
    function = {"name": name, "description": f"The tool {name}", "parameters": parameters}
    return {"type": "function", "function": function}


def answer(content: str | None = ACTION) -> LLMResponse:
    """A reply without tool calls."""
    return LLMResponse(content=content, model="fake", finish_reason="stop")


def calls(*wanted: tuple[str, str]) -> LLMResponse:
    """A reply that calls tools: (name, arguments as text)."""
    tool_calls = [
        ToolCall(f"call_{next(_numbers)}", "function", FunctionCall(name, arguments))
        for name, arguments in wanted
    ]
    return LLMResponse(None, "fake", tool_calls=tool_calls, finish_reason="tool_calls")


def batch(size: int) -> LLMResponse:
    """A reply that calls one tool ``size`` times, with the position as argument."""
    return calls(*((THINK, f'{{"position": {position}}}') for position in range(size)))


class FakeClient:
    """Gives the replies in order, the last one for ever; raises those that are exceptions."""

    def __init__(self, replies: Sequence[LLMResponse | Exception]) -> None:
        self.requests: list[dict[str, Any]] = []
        """The arguments of each call, with the messages as they were at that moment."""
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))
        self._replies = list(replies)

    def create(self, **arguments: Any) -> LLMResponse:  # noqa: ANN401  the client's own arguments
        """The next reply."""
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append({**arguments, "messages": copy.deepcopy(arguments["messages"])})
        if isinstance(reply, Exception):
            raise reply
        return reply

    def messages(self, request: int) -> list[Message]:
        """The conversation of one request."""
        return list(self.requests[request]["messages"])


class FakeManager:
    """The public interface of MCPManager; each call takes the next outcome, then succeeds."""

    is_disabled = False

    def __init__(
        self,
        outcomes: Sequence[Outcome] = (),
        tools: Sequence[str] = (THINK,),
        langfuse_client: RecordingLangfuse | None = None,
    ) -> None:
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.log: list[str] = []
        """connect, call, done and disconnect as they happened."""
        self.at_once = 0
        """The most calls that ever ran at the same time."""
        self.langfuse_client = langfuse_client
        self._outcomes = list(outcomes)
        self._schemas = [schema(name) for name in tools]
        self._running = 0

    async def connect_session(self) -> None:
        """Note it."""
        self.log.append("connect")

    async def disconnect_session(self) -> None:
        """Note it."""
        self.log.append("disconnect")

    async def get_tool_schemas(self) -> list[ToolSchema]:
        """The tools."""
        return list(self._schemas)

    async def call_tool(
        self, tool_name: str, arguments: dict[str, Any], timeout_seconds: float = 30
    ) -> ToolCallResult:
        """The next outcome, after others had a chance to run."""
        outcome = self._outcomes[len(self.called)] if len(self.called) < len(self._outcomes) else ok
        self.called.append((tool_name, arguments))
        self.log.append("call")
        self._running += 1
        self.at_once = max(self.at_once, self._running)
        await asyncio.sleep(0)
        self._running -= 1
        self.log.append("done")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


ok = ToolCallResult({"answer": "fine"})


class RecordingLangfuse:
    """Langfuse's context-manager interface; ``spans`` holds what was observed, with updates."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    @contextmanager
    def start_as_current_observation(self, **fields: Any) -> Iterator[Any]:  # noqa: ANN401  Langfuse's own
        """One observation, ``open`` while it lasts."""
        span = {**fields, "open": True}
        self.spans.append(span)

        def update(**updates: Any) -> None:  # noqa: ANN401  see above
            metadata = {**span.get("metadata", {}), **updates.pop("metadata", {})}
            span.update(updates, metadata=metadata)

        try:
            yield SimpleNamespace(update=update)
        finally:
            span["open"] = False


class Turn:
    """One turn of an agent between a fake client and a fake manager."""

    def __init__(
        self,
        replies: Sequence[LLMResponse | Exception],
        manager: FakeManager | None = None,
        **settings: Any,  # noqa: ANN401  whatever the configuration has
    ) -> None:
        self.client = FakeClient(replies)
        self.manager = manager
        self.events: list[dict[str, Any]] = []
        """Every event of the agent's logger: its fields, and ``level`` and ``message``."""
        self.agent = ZorkAgent(
            config=_configuration(mcp_enabled=manager is not None, **settings),
            client=cast("LLMClient", self.client),
            logger=_logger(self._note),
            episode_id="fake",
            mcp_manager=cast("MCPManager | None", manager),
        )

    def play(self, text: str = "You are in a hall.") -> dict[str, str | None]:
        """Ask the agent."""
        return self.agent.get_action_with_reasoning(text)

    def of_type(self, event_type: str) -> list[dict[str, Any]]:
        """The events of one type."""
        return [event for event in self.events if event["event_type"] == event_type]

    def tool_messages(self, request: int = -1) -> list[Message]:
        """The answers to calls in the conversation of one request."""
        return [each for each in self.client.messages(request) if each["role"] == "tool"]

    def _note(self, record: logging.LogRecord) -> None:
        fields = event_fields(record)
        if "event_type" in fields:
            level, message = record.levelno, record.getMessage()
            self.events.append({"level": level, "message": message, **fields})


@cache  # reading the environment for each example would cost more than the example
def _configuration(**settings: Any) -> GameConfiguration:  # noqa: ANN401  see above
    return GameConfiguration(client_base_url="http://127.0.0.1:9/v1", **settings)


def _logger(note: Callable[[logging.LogRecord], None]) -> logging.Logger:
    """A logger that nobody else knows and that nothing keeps alive."""
    logger = logging.Logger("turn", logging.DEBUG)
    logger.addHandler(_Handler(note))
    return logger


class _Handler(logging.Handler):
    def __init__(self, note: Callable[[logging.LogRecord], None]) -> None:
        super().__init__()
        self._note = note

    def emit(self, record: logging.LogRecord) -> None:
        self._note(record)
