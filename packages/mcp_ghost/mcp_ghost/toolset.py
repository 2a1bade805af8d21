"""One interface for everything that offers tools, and what becomes of a call, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

from mcp_ghost.errors import MCPError, MCPServerDiedError, MCPToolCallError
from mcp_ghost.messages import ToolSchema
from mcp_ghost.results import ToolCallResult, failure, parsed

_JSON_BEGINS = ("[", "{", "-", "true", "false", *"0123456789")
Hints: TypeAlias = Mapping[str, Any]
"""What a tool says of its effects: ``readOnlyHint`` and its like."""

MAY_HAVE_ACTED = "It may have taken effect nonetheless; find out before you repeat it"
"""What the model is told of a call that went out and was not answered."""


class Kind(StrEnum):
    """What became of a call; the values stand in records."""

    OK = "ok"
    TOOL_ERROR = "tool_error"  # the tool ran and reported an error
    TIMEOUT = "timeout"
    DIED = "died"  # the server is gone
    FAILED = "failed"  # there is no result for another reason
    UNREADABLE = "unreadable"  # its arguments cannot be read
    CUT_OFF = "cut_off"  # its reply was cut off, so that they may not be whole
    IN_DOUBT = "in_doubt"  # it may have been made in a process that has ended
    REFUSED = "refused"  # the user does not want it
    SWITCHED_OFF = "switched_off"  # the tool failed too often
    REPEATED = "repeated"  # it gave the same result too often
    SKIPPED = "skipped"  # a call before it ended the batch
    STOPPED = "stopped"  # the run has to end
    QUESTION = "question"  # it was given up until somebody answers its server


class Allowed(Enum):
    """What a person may say to a call beside yes, no and why not."""

    ALWAYS = "always"
    """Yes, and to every later call of this tool, as long as it describes itself in this way."""


@dataclass(frozen=True)
class Tool:
    """One tool of a toolset."""

    name: str
    """What the toolset calls it: "server.tool"."""
    schema: ToolSchema
    """In OpenAI's format, under that name."""
    hints: Hints = field(default_factory=dict)
    server: str = ""
    own_name: str = ""
    """What its server calls it."""
    is_trusted: bool = False
    """Whether its hints are believed where they spare a person a question."""

    @property
    def is_harmless(self) -> bool:
        """Whether somebody who is trusted says that it destroys nothing."""
        # As the protocol has it, one that says nothing may destroy something.
        says_so = self.is_read_only or self.hints.get("destructiveHint") is False
        return self.is_trusted and says_so

    @property
    def definition(self) -> tuple[str, str, str]:
        """Its server, its name, and a hash of how it describes itself."""
        described = json.dumps([self.schema, dict(self.hints)], sort_keys=True, default=str)
        return self.server, self.name, hashlib.sha256(described.encode()).hexdigest()

    @property
    def is_read_only(self) -> bool:
        """Whether it says that it changes nothing; one that says nothing may change anything."""
        return self.hints.get("readOnlyHint") is True

    @property
    def may_be_repeated(self) -> bool:
        """Whether it says that two equal calls of it do no more than one."""
        return self.is_read_only or self.hints.get("idempotentHint") is True

    def fitted(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """``arguments``, with lists, objects and numbers in place of texts that are their JSON.

        Only where the schema refuses the text and takes what it says: models write so, see
        https://github.com/anthropics/claude-code/issues/59227.
        """
        schema = self.schema["function"].get("parameters") or {}
        known = schema.get("properties")
        known = known if isinstance(known, Mapping) else {}
        shared = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        fitted = {**arguments}
        for name, text in arguments.items():
            if name in known and isinstance(text, str) and text.strip().startswith(_JSON_BEGINS):
                value, form = parsed(text), {"properties": {name: known[name]}, **shared}
                if value is not None and _takes(form, {name: value}):
                    fitted[name] = text if _takes(form, arguments) else value
        return fitted

    def fits(self, patterns: Iterable[str]) -> bool:
        """Whether one of ``patterns``, names or shell patterns, fits one of its names."""
        names = (self.name, self.own_name)
        return any(it == name or fnmatchcase(name, it) for it in patterns for name in names)


def _takes(schema: Mapping[str, Any], value: object) -> bool:
    from jsonschema.validators import Draft202012Validator, extend  # few calls need them
    from referencing import Registry

    # Without what a server could make endless, and without asking the network for anything.
    unbounded = dict.fromkeys(("pattern", "patternProperties"))
    kind = extend(Draft202012Validator, unbounded)  # type: ignore[no-untyped-call]  # as typeshed has it
    try:
        return bool(kind(schema, registry=Registry()).is_valid(value))
    except Exception:  # noqa: BLE001  a server's schema may have any fault
        return False


@dataclass(frozen=True)
class Call:
    """One attempt at one call."""

    name: str
    arguments: dict[str, Any]
    id: str = ""
    """The id that the call has in the reply."""
    iteration: int = 0
    """The model's reply that asked for it, from 1."""
    position: int = 0
    """Within that reply, from 0."""
    reasoning: str = ""
    """What the model said with the call."""
    number: int = 0
    """0 for the first attempt."""
    timeout: float | None = None
    """Seconds; None for those of the toolset."""
    flaw: Outcome | None = None
    """Why it cannot be made, where the reply shows that."""

    @property
    def place(self) -> tuple[int, int, int]:
        """Where in the run this is."""
        return self.iteration, self.position, self.number


@dataclass(frozen=True)
class Outcome:
    """What became of a call."""

    kind: Kind
    result: ToolCallResult
    """What the tool returned, or why there is nothing."""
    was_sent: bool = False
    """Whether the tool may have acted, though there is no result."""
    seconds: float = 0.0

    @classmethod
    def of(cls, result: ToolCallResult) -> Outcome:
        """The outcome of a call that was answered."""
        return cls(Kind.TOOL_ERROR if result.is_error else Kind.OK, result)

    @classmethod
    def without_result(
        cls, kind: Kind, reason: str, content: object = None, *, was_sent: bool = False
    ) -> Outcome:
        """The outcome of a call that was not answered; ``content`` is known all the same."""
        return cls(kind, failure(reason, content), was_sent=was_sent)

    @classmethod
    def of_error(cls, error: Exception) -> Outcome:
        """The outcome of a call that raised ``error``."""
        reason = str(error) or type(error).__name__
        if isinstance(error, TimeoutError):
            return cls.without_result(Kind.TIMEOUT, reason, was_sent=True)
        if isinstance(error, MCPServerDiedError):
            return cls.without_result(Kind.DIED, reason, was_sent=error.was_sent)
        return cls.without_result(Kind.FAILED, reason)

    @property
    def reason(self) -> str:
        """Why there is no result, or what the tool reported."""
        return self.result.error_message or "no reason given"

    def unwrap(self) -> ToolCallResult:
        """The result, also one that reports an error.

        Raises:
            TimeoutError: No answer in time.
            MCPServerDiedError: The server is gone.
            MCPToolCallError: There is no result for another reason.
        """
        if self.kind in (Kind.OK, Kind.TOOL_ERROR):
            return self.result
        if self.kind is Kind.TIMEOUT:
            raise TimeoutError(self.reason)
        if self.kind is Kind.DIED:
            raise MCPServerDiedError(self.reason, was_sent=self.was_sent)
        raise MCPToolCallError(self.reason)


async def outcome_of(call: Awaitable[ToolCallResult]) -> Outcome:
    """What becomes of ``call``, which raises where it fails."""
    try:
        return Outcome.of(await call)
    except Exception as error:  # noqa: BLE001  a tool is foreign code: its failure is the call's
        return Outcome.of_error(error)


class Toolset:
    """Tools that can be called. This one has none."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All that may be called, by name."""
        return {}

    @property
    def failures(self) -> Mapping[str, MCPError]:
        """The servers that could not be started, or not again, with the reason."""
        return {}

    @property
    def instructions(self) -> dict[str, str]:
        """What each server whose tools there are says about their use."""
        return {}

    @property
    def schemas(self) -> list[ToolSchema]:
        """The tools to offer: all but those of servers that could not be started again."""
        failed = self.failures
        return [tool.schema for tool in self.tools.values() if tool.server not in failed]

    async def call(self, call: Call) -> Outcome:
        """Make ``call``; nothing is raised but ``CancelledError``."""
        return Outcome.without_result(Kind.FAILED, f"Unknown tool '{call.name}'.")

    async def result(
        self,
        name: str,
        arguments: dict[str, Any],
        timeout: float | None = None,  # noqa: ASYNC109  part of the interface
    ) -> ToolCallResult:
        """The result of a call, also one that reports an error; see ``Outcome.unwrap``."""
        return (await self.call(Call(name, arguments, timeout=timeout))).unwrap()

    async def restart(self, server: str) -> None:
        """Restart a server that is gone; without effect on one that lives.

        Raises:
            MCPError: It did not work.
        """


class Wrapper(Toolset):
    """Passes everything on to ``inner``; each subclass changes a method or two."""

    def __init__(self, inner: Toolset) -> None:
        self.inner = inner

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self.inner.tools

    @property
    def failures(self) -> Mapping[str, MCPError]:
        return self.inner.failures

    @property
    def instructions(self) -> dict[str, str]:
        return self.inner.instructions

    async def call(self, call: Call) -> Outcome:
        return await self.inner.call(call)

    async def restart(self, server: str) -> None:
        await self.inner.restart(server)
