"""The account of one run: every attempt at a tool call, every failure, its cost and its outcome."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from mcp_ghost.errors import MCPGhostError
from mcp_ghost.messages import Usage, text_in
from mcp_ghost.redact import Redactor
from mcp_ghost.results import JSON, jsonable
from mcp_ghost.toolset import Call, Kind, Outcome

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from mcp_ghost.messages import LLMResponse, Message

    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)

Place: TypeAlias = tuple[int, int, int]
"""(iteration, position in the reply, retry): where in a run something happened."""
_TOKENS = ("prompt_tokens", "completion_tokens", "total_tokens")


@dataclass(frozen=True)
class ToolRecord:
    """One attempt at one call, with its outcome; see :class:`mcp_ghost.toolset.Call`."""

    iteration: int
    """The model's reply that asked for it, from 1."""
    tool_name: str
    arguments: dict[str, Any]
    success: bool
    result: JSON
    error: str | None
    execution_time: float
    """Seconds; 0 for a call that was not executed."""
    reasoning: str
    retry_attempt: int
    depends_on: list[int] = field(default_factory=list)
    """Positions in the chain, from 0, of the calls whose results the arguments came from."""


@dataclass(frozen=True)
class ErrorRecord:
    """One failure, and what was done about it."""

    iteration: int
    """0 before the first reply."""
    tool_name: str
    """Who failed: a tool, a server that did not start, or the provider."""
    error: str
    recovery_action: str | None


@dataclass(frozen=True)
class ServerRecord:
    """A server that came up."""

    name: str
    version: str
    revision: str
    """That of the protocol."""
    tools: int
    """How many of its tools were on offer."""
    instructions: str
    """What it says about its use."""


@dataclass(frozen=True)
class RunMetadata:
    """Figures of the whole run."""

    total_execution_time: float
    """Seconds, from the start of the servers to their end."""
    total_iterations: int
    """Replies of the model."""
    tools_discovered: int
    servers_connected: int
    backtrack_count: int
    """Failed calls after which the model was asked for another way."""
    success_rate: float
    """Successful part of the tool chain, 0.0 to 1.0; 1.0 without calls."""
    token_usage: Usage
    """Of every reply, also of those that were of no use."""

    @property
    def cached_tokens(self) -> int:
        """The part of the prompt tokens that the provider had in its cache."""
        return self.token_usage.cached_tokens

    @property
    def cost(self) -> float:
        """US dollars, as far as the provider reports them."""
        return self.token_usage.cost


@dataclass(frozen=True)
class GhostResult(Generic[T_co]):
    """The outcome of a run; ``T_co`` is the type that was asked for the answer."""

    success: bool
    final_result: JSON
    """The model's answer; parsed when it is a JSON document, None when there is none."""
    summary: str
    tool_chain: list[ToolRecord]
    conversation_history: list[dict[str, Any]]
    errors: list[ErrorRecord]
    execution_metadata: RunMetadata
    servers: list[ServerRecord]
    pending: list[dict[str, Any]] = field(default_factory=list)
    """What a paused run waits for."""
    state: dict[str, Any] | None = None
    """What it takes to go on with a paused run."""
    _output: Any = field(default=None, repr=False)

    @property
    def output(self) -> T_co:
        """The answer as the type that was asked for; without one, ``final_result``.

        Raises:
            MCPGhostError: There is no answer; the message says why.
        """
        if not self.success:
            raise MCPGhostError(self.summary)
        return cast("T_co", self._output)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values, in the form that ``mcp_ghost()`` promises."""
        result = asdict(replace(self, _output=None))
        del result["_output"]
        usage = self.execution_metadata.token_usage
        tokens = {name: getattr(usage, name) for name in _TOKENS}
        result["execution_metadata"]["token_usage"] = tokens
        if self.state is None:
            del result["pending"], result["state"]
        return result


@dataclass
class Account:
    """Grows while a run goes on; ``redactor`` cleans everything that enters."""

    redactor: Redactor = field(default_factory=Redactor, repr=False)
    replies: int = 0
    finish_reason: str | None = None
    """Of the latest reply."""
    backtracks: int = 0
    tools_discovered: int = 0
    servers: list[ServerRecord] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    is_priced: bool = False
    """Whether a reply came with a price."""
    attempts: dict[Place, ToolRecord] = field(default_factory=dict)
    _errors: list[tuple[Place, ErrorRecord]] = field(default_factory=list)

    def clean(self, value: object) -> JSON:
        """``value`` as plain JSON without secrets."""
        cleaned: JSON = self.redactor.each(jsonable(value))
        return cleaned

    def clean_text(self, text: str) -> str:
        """``text`` without secrets."""
        return str(self.clean(text))

    def replied(self, response: LLMResponse) -> None:
        """Count a reply and what the provider says it used."""
        self.replies += 1
        self.finish_reason = response.finish_reason
        self.paid(response)

    def paid(self, response: LLMResponse) -> None:
        """Count what a reply used that is not a step of the run."""
        self.usage += response.spent
        self.is_priced |= response.cost is not None

    def tried(self, call: Call, outcome: Outcome) -> ToolRecord:
        """Add a link to the chain; the result is plain JSON without secrets."""
        succeeded = outcome.kind is Kind.OK
        record = ToolRecord(
            iteration=call.iteration,
            tool_name=call.name,
            arguments=cast("dict[str, Any]", self.clean(call.arguments)),
            success=succeeded,
            result=outcome.result.content,
            error=None if succeeded else self.words(outcome.reason),
            execution_time=outcome.seconds,
            reasoning=self.clean_text(call.reasoning),
            retry_attempt=call.number,
        )
        self.attempts[call.place] = record
        return record

    def failed(self, who: str | Call, error: Exception | str, recovery: str | None = None) -> None:
        """Add an error; one that is not of a call comes after all calls so far."""
        name = who.name if isinstance(who, Call) else who
        place = who.place if isinstance(who, Call) else (self.replies, sys.maxsize, 0)
        record = ErrorRecord(place[0], name, self.words(error), recovery)
        self._errors.append((place, record))

    def words(self, error: Exception | str) -> str:
        """What ``error`` says, without secrets."""
        return self.clean_text(str(error) or type(error).__name__)

    @property
    def chain(self) -> list[ToolRecord]:
        """The attempts in the order the model asked for them; parallel calls end in any order."""
        return [self.attempts[place] for place in sorted(self.attempts)]

    @property
    def errors(self) -> list[ErrorRecord]:
        """The failures, in the order of the chain."""
        return [record for _, record in sorted(self._errors, key=lambda entry: entry[0])]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain JSON, for ``restore``."""
        return {
            "replies": self.replies,
            "backtracks": self.backtracks,
            "usage": asdict(self.usage),
            "is_priced": self.is_priced,
            "chain": [[list(place), asdict(record)] for place, record in self.attempts.items()],
            "errors": [[list(place), asdict(record)] for place, record in self._errors],
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Go on from what ``to_dict`` gave."""
        self.replies, self.backtracks = kept["replies"], kept["backtracks"]
        self.usage, self.is_priced = Usage(**kept["usage"]), kept["is_priced"]
        self.attempts = {(*at,): ToolRecord(**record) for at, record in kept["chain"]}
        self._errors = [((*at,), ErrorRecord(**record)) for at, record in kept["errors"]]

    def metadata(self, seconds: float) -> RunMetadata:
        """The figures of a run that took ``seconds``."""
        succeeded = sum(record.success for record in self.attempts.values())
        return RunMetadata(
            total_execution_time=seconds,
            total_iterations=self.replies,
            tools_discovered=self.tools_discovered,
            servers_connected=len(self.servers),
            backtrack_count=self.backtracks,
            success_rate=succeeded / len(self.attempts) if self.attempts else 1.0,
            token_usage=self.usage,
        )


def history(messages: Iterable[Message], account: Account) -> list[dict[str, Any]]:
    """The conversation as users read it: four keys each, no private state, no secret."""
    return [
        {
            "role": message["role"],
            "content": account.clean_text(text_in(message)),
            "tool_calls": account.clean(message.get("tool_calls")),
            "tool_call_id": message.get("tool_call_id"),
        }
        for message in messages
    ]
