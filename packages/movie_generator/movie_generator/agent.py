"""The agent: a model that calls MCP tools until it can answer, on the engine's loop."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from mcp_ghost.loop import Batch, LoopEnd, LoopObserver, names_of, run_loop
from mcp_ghost.messages import LLMResponse, Message, ToolSchema, was_cut_off
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.hosted import OPENROUTER
from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult, cap, format_tool_response
from mcp_ghost.run.calls import Calls
from mcp_ghost.run.prompts import of_servers
from mcp_ghost.servers.tools import tool_schema
from mcp_ghost.toolset import Call, Outcome, Tool, Toolset, Wrapper, outcome_of
from movie_generator.checkpoints import Checkpoints
from movie_generator.errors import AgentError, IterationLimitError
from movie_generator.llm import model_client

_GO_ON = "Your answer was cut off. Go on exactly where it stops; repeat nothing."
_ENDS = {
    LoopEnd.TOOLS_LOST: "its tools are gone",
    LoopEnd.EMPTY_REPLY: "the model's last reply was empty",
    LoopEnd.SPOKEN_CALL: "the model writes its tool calls as text",
}


class ToolSource(Protocol):
    """What the agent needs at least, of what :class:`movie_generator.client.MCPClient` has."""

    @property
    def available_tools(self) -> list[dict[str, Any]]:
        """The tools as MCP lists them."""

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> object:
        """The result of one call."""


def convert_mcp_tools_to_openai(tools: Iterable[Mapping[str, Any] | object]) -> list[ToolSchema]:
    """Return each of ``tools`` in OpenAI's format, in the same order; ``tools`` stay unchanged.

    Takes entries of ``tools/list`` as dicts (``inputSchema``) and the SDK's objects
    (``input_schema``, in earlier versions ``inputSchema``).

    Raises:
        TypeError: It is one tool, not a list.
        ValueError: A tool has no name.
    """
    if isinstance(tools, Mapping):
        raise TypeError("convert_mcp_tools_to_openai takes a list of tools; for one, write [tool].")
    names = ("name", "description", "inputSchema", "input_schema")
    converted = []
    for tool in tools:
        its = tool if isinstance(tool, Mapping) else {it: getattr(tool, it, None) for it in names}
        name, schema = its.get("name"), its.get("inputSchema")
        if not isinstance(name, str) or not name:
            raise ValueError(f"An MCP tool needs a name; this one has none: {tool!r:.200}")
        schema = its.get("input_schema") if schema is None else schema
        entry = {"name": name, "description": its.get("description"), "inputSchema": schema}
        # The result is for the caller to change; the server's list is not.
        converted.append(copy.deepcopy(tool_schema(entry)))
    return converted


class AgentLoop:
    """Runs a task with the tools of ``mcp_client``.

    Args:
        mcp_client: Lists the tools and calls them.
        api_key: For the model; a server on this machine needs none.
        model: The model's name at ``base_url``.
        base_url: An OpenAI-style address, without ``/chat/completions``.
        max_iterations: How many replies the model may give.
        system_prompt: Goes before the task, and before what servers say about their use.
        llm_timeout: Seconds for one reply.
        result_limit: Characters of one result that the model sees.
        observer: Is told what happens.
        client: Used instead of one made from the key, the name and the address.
        checkpoints: Hold what the model was told in an earlier run that did not finish.
    """

    def __init__(
        self,
        mcp_client: ToolSource | Toolset,
        api_key: str | None,
        model: str,
        base_url: str = OPENROUTER.base_url,
        max_iterations: int = 10,
        *,
        system_prompt: str | None = None,
        llm_timeout: float = 120.0,
        result_limit: int = DEFAULT_LIMIT,
        observer: LoopObserver | None = None,
        client: ProviderClient | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        if max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1, not {max_iterations}")
        self.messages: list[Message] = []
        """The conversation of the latest run."""
        source = mcp_client if isinstance(mcp_client, Toolset) else _OfSource(mcp_client)
        self._tools = _Limited(source, result_limit)
        self._client = client or model_client(api_key, model, base_url, timeout=llm_timeout)
        self._max_iterations = max_iterations
        self._system_prompt = system_prompt
        self._observer = observer or LoopObserver()
        self._checkpoints = checkpoints or Checkpoints()
        self._calls = Calls(self._tools, observer=self._observer)

    async def run(self, task: str) -> str:
        """Return the model's final answer to ``task``.

        Raises:
            IterationLimitError: The limit was reached; nothing further was asked.
            AgentError: There is no answer for another reason.
            LLMError: The model could not be asked.
        """
        self.messages = [{"role": "user", "content": task}]
        heads = (self._system_prompt, of_servers(self._tools.instructions))
        if head := "\n\n".join(filter(None, heads)):
            self.messages.insert(0, {"role": "system", "content": head})
        said: list[str] = []
        left, why = self._max_iterations, "the answer was still being cut off"
        async with self._client:
            while left > 0:
                loop = await run_loop(
                    self.messages,
                    ask=self._ask,
                    answer_calls=self._told,
                    max_iterations=left,
                    observer=self._observer,
                    tools=lambda: names_of(self._tools.schemas),
                )
                if loop.end is LoopEnd.LIMIT:
                    why = "the model still asks for tools"
                    break
                response = loop.response
                if loop.end is not LoopEnd.ANSWER:
                    reason = response.finish_reason
                    named = f" (finish_reason: {reason})" if reason else ""
                    raise AgentError(
                        f"The agent did not reach an answer: {_ENDS[loop.end]}{named}. "
                        "Try again, or try another model."
                    )
                left -= loop.iterations
                said.append(response.content or "")
                if not was_cut_off(response):
                    return "".join(said).strip()
                self.messages += [
                    {"role": "assistant", "content": response.content},
                    {"role": "user", "content": _GO_ON},
                ]
        raise IterationLimitError(
            f"The agent reached its limit of {self._max_iterations} iterations: {why}. "
            "Raise the limit, or give it a smaller task."
        )

    async def _ask(self, messages: list[Message], _iteration: int) -> LLMResponse:
        latest = {**messages[-1], "cache_control": {"type": "ephemeral"}}
        tools = self._tools.schemas or None
        return await self._client.complete([*messages[:-1], latest], tools=tools)

    async def _told(self, response: LLMResponse, iteration: int) -> Batch:
        batch = await self._calls.answer(response, iteration)
        return replace(batch, answers=await self._checkpoints.told(self.messages, batch.answers))


class _OfSource(Toolset):
    """The tools of ``source``, which raises where a call fails."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source

    @property
    def tools(self) -> dict[str, Tool]:
        """As they are listed now."""
        schemas = convert_mcp_tools_to_openai(self._source.available_tools)
        return {it["function"]["name"]: Tool(it["function"]["name"], it) for it in schemas}

    async def call(self, call: Call) -> Outcome:
        async def result() -> ToolCallResult:
            given = await self._source.call_tool(call.name, call.arguments)
            return given if isinstance(given, ToolCallResult) else ToolCallResult(given)

        return await outcome_of(result())


class _Limited(Wrapper):
    """Cuts results of more than ``limit`` characters."""

    def __init__(self, inner: Toolset, limit: int) -> None:
        super().__init__(inner)
        self._limit = limit

    async def call(self, call: Call) -> Outcome:
        outcome = await self.inner.call(call)
        text = format_tool_response(outcome.result.content)
        if len(text) <= self._limit:
            return outcome
        return replace(outcome, result=replace(outcome.result, content=cap(text, self._limit)))
