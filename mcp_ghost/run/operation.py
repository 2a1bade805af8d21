"""One run: open the servers, let the model and its tools work, close, report."""

from __future__ import annotations

import logging
import re
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_ghost.config.secrets import redactor_of
from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.loop import LoopEnd, run_loop
from mcp_ghost.media import Gallery
from mcp_ghost.messages import assistant_message, tool_message, was_cut_off
from mcp_ghost.run import prompts, synthesis
from mcp_ghost.run.account import Account, GhostResult, history
from mcp_ghost.run.calls import Calls
from mcp_ghost.run.context import Compaction, LatestExchange
from mcp_ghost.run.events import Events
from mcp_ghost.run.limits import Budget, Deadline, RunStoppedError
from mcp_ghost.run.recovery import breaking, looping, recording, retrying
from mcp_ghost.servers.toolbox import Toolbox

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.messages import LLMResponse, Message, ToolSchema
    from mcp_ghost.providers.client import ProviderClient
    from mcp_ghost.run.settings import Settings

_TOO_LONG = re.compile(
    r"context.(length|size|window|limit)|too long|exceeds? the .*(token|context)", re.IGNORECASE
)
"""How providers say that a request is more than the model can read."""
_CACHED = {"type": "ephemeral"}

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Ending:
    """The answer, if there is one, and what ended the run where that was not the answer."""

    answer: str | None
    why: str = ""


class Operation:
    """Good for one ``run``."""

    def __init__(
        self, settings: Settings, servers: Mapping[str, ServerConfig], client: ProviderClient
    ) -> None:
        self._settings = settings
        self._client = client
        redactor = redactor_of(servers, [client.api_key, *settings.secrets])
        self._account = Account(redactor)
        self._messages: list[Message] = []
        self._known_tools: list[ToolSchema] = []
        self._compactions: list[dict[str, Any]] = []
        self._memory = (
            Compaction(settings.context_limit, self._compactions.append)
            if settings.conversation_memory
            else LatestExchange()
        )
        self._budget = Budget(settings.token_budget, settings.cost_budget)
        self._toolbox = Toolbox(
            servers,
            allow=settings.allow,
            deny=settings.deny,
            call_timeout=settings.timeout,
            startup_timeout=settings.startup_timeout,
            result_limit=settings.result_limit,
            elicit=settings.elicit,
            authorize=settings.authorize,
            on_progress=self._progressed,
            redactor=redactor,
        )
        self._servers = [name for name, config in servers.items() if not config.disabled]

    async def run(self) -> GhostResult:
        """Run everything; whatever goes wrong is in the result."""
        started = time.perf_counter()
        self._deadline = Deadline(self._settings.deadline)
        self._events = Events(self._settings.on_event, self._account, self._deadline)
        ending = await self._operate()
        answer = None if ending.answer is None else self._account.clean_text(ending.answer)
        result = GhostResult(
            success=answer is not None,
            final_result=synthesis.final_result(answer),
            summary=synthesis.summary(self._account, answer, ended_by=ending.why),
            tool_chain=self._account.chain,
            conversation_history=history(self._messages or self._opening(), self._account),
            errors=self._account.errors,
            execution_metadata=self._account.metadata(time.perf_counter() - started),
        )
        await self._events.emit("run_end", success=result.success, summary=result.summary)
        return result

    async def _operate(self) -> _Ending:
        """Converse with everything open; leave nothing open afterwards."""
        settings, client = self._settings, self._client
        try:
            async with AsyncExitStack() as stack:
                await self._events.emit(
                    "run_start",
                    provider=client.provider_name,
                    model=client.model,
                    servers=self._servers,
                )
                await stack.enter_async_context(client)
                async with self._deadline.bound():
                    await stack.enter_async_context(self._toolbox)
                await self._take_stock()
                return await self._converse()
        except RunStoppedError as error:
            self._account.failed("mcp_ghost", error)
            return _Ending(None, str(error))
        except LLMError as error:
            self._account.failed(settings.provider, error)
            return _Ending(None, f"the model could not be asked: {self._account.words(error)}")
        except Exception as error:  # noqa: BLE001  the edge: a run that has begun ends with a result
            trace = self._account.clean_text("".join(traceback.format_exception(error)))
            _logger.error("A fault of mcp_ghost, or of what it was given, ended a run:\n%s", trace)  # noqa: TRY400  the trace may hold the key
            self._account.failed("mcp_ghost", error)
            return _Ending(None, f"{type(error).__name__}: {self._account.words(error)}")

    async def _take_stock(self) -> None:
        """Count what is available, and stop if servers were wanted but none came up."""
        account, toolbox = self._account, self._toolbox
        account.servers_connected = len(toolbox.connected)
        self._known_tools = toolbox.schemas
        account.tools_discovered = len(self._known_tools)
        recovery = "went on without this server" if toolbox.connected else None
        for server, error in toolbox.failures.items():
            account.failed(server, error, recovery)
            _logger.warning("Server '%s' is not available: %s", server, account.words(error))
            await self._events.emit("server_failed", server=server, error=str(error))
        for server, revision in toolbox.revisions.items():
            tools = sum(toolbox.server_of(name) == server for name in toolbox.routes)
            told = {"server": server, "tools": tools, "revision": revision}
            await self._events.emit("server_connected", **told)
        if toolbox.unmatched:
            _logger.warning("No tool fits allow or deny: %s", ", ".join(toolbox.unmatched))
        if self._servers and not toolbox.connected:
            raise RunStoppedError(f"no server could be started ({', '.join(self._servers)})")

    async def _converse(self) -> _Ending:
        settings = self._settings
        self._messages += self._opening()
        loop = await run_loop(
            self._messages,
            ask=self._ask,
            answer_calls=self._calls().answer,
            max_iterations=settings.max_iterations,
        )
        if loop.end is LoopEnd.ANSWER:
            return self._answered(loop.response)
        if loop.end is LoopEnd.FAILED_CALL:
            return _Ending(None, "a tool call failed, and backtracking is off")
        if loop.end is LoopEnd.EMPTY_REPLY:
            self._was_empty(loop.response, "asked for an answer without tools")
            return await self._answer_without_tools("the model's last reply was empty")
        limit = settings.max_iterations
        return await self._answer_without_tools(f"the limit of {limit} iterations was reached")

    def _opening(self) -> list[Message]:
        settings = self._settings
        system = prompts.SystemPromptGenerator().generate(
            settings.system_prompt, self._toolbox.schemas, self._client.provider_name
        )
        return [
            {"role": role, "content": content, "cache_control": _CACHED}
            for role, content in (("system", system), ("user", settings.user_prompt))
            if content
        ]

    def _calls(self) -> Calls:
        shared = self._account, self._events
        execute = recording(self._toolbox, self._deadline, *shared)
        execute = retrying(execute, self._toolbox, self._deadline, *shared)
        execute = breaking(execute, self._events)
        execute = looping(execute, self._toolbox, self._settings.loop_limit, self._events)
        return Calls(
            execute,
            self._toolbox,
            *shared,
            backtracking=self._settings.enable_backtracking,
            max_parallel=self._settings.max_parallel_calls,
            max_result_tokens=self._settings.max_result_tokens_per_turn,
            gallery=Gallery(is_open=self._settings.images == "auto"),
        )

    async def _ask(self, messages: Sequence[Message], iteration: int) -> LLMResponse:
        async with self._deadline.bound():
            changed = await self._toolbox.refresh()
        offered = self._toolbox.schemas
        for server in changed:
            tools = sum(route.server == server for route in self._toolbox.routes.values())
            await self._events.emit("tools_changed", server=server, tools=tools)
        known = {tool["function"]["name"] for tool in self._known_tools}
        self._known_tools += [tool for tool in offered if tool["function"]["name"] not in known]
        return await self._complete(messages, iteration, offered)

    async def _progressed(
        self, tool: str, progress: float, total: float | None, message: str | None
    ) -> None:
        told = {"progress": progress, "total": total, "message": message}
        await self._events.emit("tool_progress", tool_name=tool, **told)

    async def _answer_without_tools(self, why: str) -> _Ending:
        """The last chance; a model that still gives no answer has none."""
        text = prompts.LAST_ANSWER.format(why=f"{why[:1].upper()}{why[1:]}.")
        self._messages.append({"role": "user", "content": text})
        response = await self._complete(self._messages, self._account.replies + 1, [])
        if not response.tool_calls and (response.content or "").strip():
            return self._answered(response, why)
        self._messages.append(assistant_message(response))
        for call in response.tool_calls or ():
            self._messages.append(tool_message(call.id, prompts.skipped("no tool is on offer")))
        if not response.tool_calls:
            self._was_empty(response)
        return _Ending(None, why)

    def _was_empty(self, response: LLMResponse, recovery: str | None = None) -> None:
        error = LLMError(f"the model's reply was empty ({_finish(response)})")
        self._account.failed(self._settings.provider, error, recovery)

    def _answered(self, response: LLMResponse, why: str = "") -> _Ending:
        self._messages.append(assistant_message(response))
        if was_cut_off(response) or response.finish_reason == "content_filter":
            error = LLMError(f"the answer was cut off ({_finish(response)})")
            self._account.failed(self._settings.provider, error)
        return _Ending((response.content or "").strip(), why)

    async def _complete(
        self, messages: Sequence[Message], iteration: int, tools: list[ToolSchema]
    ) -> LLMResponse:
        """One reply, within deadline, budget and the model's context."""
        self._budget.check(self._account)
        view = self._memory.view(messages)
        view[-1] = {**view[-1], "cache_control": _CACHED}
        while self._compactions:
            await self._events.emit("compaction", **self._compactions.pop())
        try:
            async with self._deadline.bound():
                response = await self._client.complete(
                    view,
                    tools=tools or None,
                    known_tools=self._known_tools or None,  # a lost server's, for example
                    namespace=self._settings.namespace,
                    headers=self._settings.headers,
                    **self._settings.model_options,
                )
        except LLMError as error:
            self._account.usage += error.usage
            too_long = isinstance(error, LLMStatusError) and _TOO_LONG.search(str(error))
            if not (too_long and self._memory.shrink(messages)):
                raise
            return await self._complete(messages, iteration, tools)
        self._account.replied(response)
        await self._events.emit(
            "model_reply",
            iteration=iteration,
            content=response.content or response.text or "",
            tool_calls=[call.function.name for call in response.tool_calls or ()],
            usage=response.usage,
        )
        return response


def _finish(response: LLMResponse) -> str:
    return f"finish reason: {response.finish_reason or 'none given'}"
