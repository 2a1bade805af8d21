"""One run: open the servers, let the model and its tools work, close, report."""

import logging
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from mcp_ghost.errors import LLMError, LLMMalformedCallError
from mcp_ghost.loop import LoopEnd, LoopResult, names_of, run_loop
from mcp_ghost.messages import (
    LLMResponse,
    Message,
    assistant_message,
    text_in,
    tool_message,
    was_cut_off,
)
from mcp_ghost.run import prompts
from mcp_ghost.run.asking import Asking
from mcp_ghost.run.conversation import Conversation
from mcp_ghost.run.form import Answer, Form, FormError
from mcp_ghost.run.ledger import PausedError
from mcp_ghost.run.recovery import answering
from mcp_ghost.run.report import synthesis
from mcp_ghost.run.report.account import GhostResult, ServerRecord, history
from mcp_ghost.run.settings import Settings
from mcp_ghost.run.shared import Run, RunStoppedError, State
from mcp_ghost.spoken import is_spoken_call

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Ending:
    """The answer, if there is one, and what ended the run where that was not the answer."""

    answer: str | None
    why: str = ""
    value: Answer | None = None
    """The answer in the form that was asked for."""
    pending: Sequence[dict[str, Any]] = ()
    """What it waits for, where it is only paused."""


class Operation(Run):
    """One run over a conversation, which it opens if need be; ``closes``: and closes.

    One that was begun elsewhere goes on from ``state``, with what was decided meanwhile.
    """

    def __init__(
        self,
        settings: Settings,
        conversation: Conversation,
        user_prompt: str,
        *,
        closes: bool = False,
        state: State | None = None,
        decisions: Mapping[str, Any] | None = None,
        form: Form | None = None,
    ) -> None:
        """``form`` is that of this answer alone, of which ``user_prompt`` tells."""
        super().__init__(settings, conversation, user_prompt)
        self.form = form or conversation.form
        if state is not None:
            self.restore(state, decisions or {})
        self._messages = conversation.messages
        self._closes = closes
        self._state = state
        self._ask_model = Asking(self).complete

    async def run(self) -> GhostResult:
        """Run everything; whatever goes wrong is in the result."""
        started = time.perf_counter()
        with self.tracing.run() as span:
            ending = await self._operate()
            seconds = time.perf_counter() - started
            account, value = self.account, ending.value
            answer = None if ending.answer is None else account.clean_text(ending.answer)
            final = account.clean(value.plain) if value else synthesis.final_result(answer)
            request: Message = {"role": "user", "content": self.user_prompt}
            # Where the conversation did not begin, as it would have.
            said = self._messages or [*self.conversation.head(), request]
            asked = [text_in(it) for it in said if it["role"] == "user"]
            known = [self.settings["system_prompt"], *asked]
            result = GhostResult(
                success=answer is not None,
                final_result=final,
                summary=synthesis.summary(account, answer, ended_by=ending.why),
                tool_chain=synthesis.with_dependencies(account.chain, known),
                conversation_history=history(said, account),
                errors=account.errors,
                execution_metadata=account.metadata(seconds),
                servers=account.servers,
                pending=[*ending.pending],
                state=self.state(ending.pending) if ending.pending else None,
                _output=value.typed if value else final,
            )
            failed = not result.success and result.state is None
            self.tracing.ended(span, account.usage, ending.why if failed else None)
            await self.events.emit("run_end", success=result.success, summary=result.summary)
            return result

    async def _operate(self) -> _Ending:
        """Converse with everything open; leave nothing open afterwards."""
        conversation, client = self.conversation, self.conversation.client
        conversation.events = self.events
        is_first = not conversation.is_open
        try:
            async with AsyncExitStack() as stack:
                if self._closes:
                    stack.push_async_callback(conversation.close)
                await self.events.emit(
                    "run_start",
                    provider=client.provider_name,
                    model=client.model,
                    servers=[*conversation.servers],
                )
                async with self.bound():
                    await conversation.open()
                await self._take_stock(is_first=is_first)
                conversation.begin(self.user_prompt if self._state is None else None)
                await self.keep()
                ending = await self._ended(await self._loop())
                await self.keep()
                return ending
        except PausedError:
            cleaned: Any = self.account.clean(conversation.questions.pending)
            await self.keep(cleaned)
            await self.events.emit("paused", pending=cleaned)
            waits = ", ".join(it.get("tool_name") or it["server"] for it in cleaned)
            return _Ending(None, f"paused until somebody decides ({waits})", pending=cleaned)
        except RunStoppedError as error:
            self.account.failed("mcp_ghost", error)
            return _Ending(None, str(error))
        except LLMError as error:
            self.account.failed(client.provider_name, error)
            return _Ending(None, f"the model could not be asked: {self.account.words(error)}")
        except Exception as error:  # noqa: BLE001  the edge: a run that has begun ends with a result
            trace = self.account.clean_text("".join(traceback.format_exception(error)))
            _logger.error("An error in mcp_ghost, or in what was passed to it:\n%s", trace)  # noqa: TRY400  the trace may hold the key
            self.account.failed("mcp_ghost", error)
            return _Ending(None, f"{type(error).__name__}: {self.account.words(error)}")

    async def _take_stock(self, *, is_first: bool) -> None:
        """Count what is available, and stop if servers were wanted but none came up."""
        account, toolbox = self.account, self.conversation.toolbox
        tools = Counter(tool.server for tool in toolbox.tools.values())
        connected = toolbox.alive
        account.servers = [
            ServerRecord(it.name, it.version, it.revision, tools[it.name], it.own_instructions)
            for it in connected
        ]
        account.tools_discovered = len(toolbox.schemas)
        recovery = "went on without this server" if connected else None
        for server, error in toolbox.failures.items():
            account.failed(server, error, recovery)
            _logger.warning("Server '%s' is not available: %s", server, account.words(error))
            await self.events.emit("server_failed", server=server, error=str(error))
        for known in account.servers if is_first else ():
            told = {**vars(known)}
            await self.events.emit("server_connected", server=told.pop("name"), **told)
        if is_first and toolbox.unmatched:
            patterns = ", ".join(toolbox.unmatched)
            _logger.warning("These patterns of allow or deny match no tool: %s", patterns)
        if self.conversation.servers and not toolbox.schemas and not connected:
            servers = ", ".join(self.conversation.servers)
            raise RunStoppedError(f"no server could be started ({servers})")

    async def _loop(self) -> LoopResult:
        """Ask and call until the model answers; the reply that a run left open is taken first."""
        settings, conversation, done = self.settings, self.conversation, self.account.replies
        answer_calls = answering(self)
        reply = self._state.latest_reply if self._state else None
        if reply is not None:
            self._messages.pop()
            done -= 1

        async def ask(_: Sequence[Message], iteration: int) -> LLMResponse:
            if reply is not None and iteration == 1:
                return reply
            return await self._ask(done + iteration)

        return await run_loop(
            self._messages,
            ask=ask,
            answer_calls=lambda response, iteration: answer_calls(response, done + iteration),
            max_iterations=max(settings["max_iterations"] - done, 1 if reply else 0),
            tools=lambda: names_of(conversation.known_tools),
        )

    async def _ended(self, loop: LoopResult) -> _Ending:
        if loop.end in (LoopEnd.ANSWER, LoopEnd.SPOKEN_CALL):
            was_held = not self.conversation.toolbox.schemas
            return await self._answered(loop.response, was_held=was_held)
        if loop.end is LoopEnd.FAILED_CALL:
            return _Ending(None, "a tool call failed, and backtracking is off")
        why = f"the limit of {self.settings['max_iterations']} iterations was reached"
        if loop.end is LoopEnd.EMPTY_REPLY:
            self._failed(_empty(loop.response), "asked for an answer without tools")
            why = "the model's last reply was empty"
        text = prompts.LAST_ANSWER.format(why=f"{why[:1].upper()}{why[1:]}.")
        self._messages.append({"role": "user", "content": text})
        response = await self._ask_model(self.account.replies + 1, [])
        if not response.tool_calls and (response.content or "").strip():
            return await self._answered(response, why, was_held=True)
        self._append(response)  # a model that still gives no answer has none
        if not response.tool_calls:
            self._failed(_empty(response))
        return _Ending(None, why)

    async def _ask(self, iteration: int) -> LLMResponse:
        toolbox = self.conversation.toolbox
        async with self.bound():
            changed = await toolbox.refresh()
        for server in changed:
            tools = sum(tool.server == server for tool in toolbox.tools.values())
            await self.events.emit("tools_changed", server=server, tools=tools)
        offered = self.conversation.offered()
        try:
            return await self._ask_model(iteration, offered)
        except LLMMalformedCallError as error:
            self._failed(str(error), "asked the model to make the call again")
            raise

    def _failed(self, words: str, recovery: str | None = None) -> _Ending:
        """Note a reply that is of no use, and how the run ends if it ends there."""
        self.account.failed(self.settings["provider"], words, recovery)
        return _Ending(None, words)

    async def _answered(self, response: LLMResponse, why: str = "", *, was_held: bool) -> _Ending:
        """How a run ends with an answer: in its form after another request for it, and one repair.

        Beside tools the model is told of the form, but not held to it (``was_held``): it could say
        nothing else with its calls, and not every provider takes both together.
        """
        if is_spoken_call(response.content or "", names_of(self.conversation.known_tools)):
            self._append(response)
            return self._failed("the model wrote a tool call as text, so nothing was called")
        if response.finish_reason == "content_filter":
            # Anthropic: what was written until then is no answer, and to be thrown away,
            # https://platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals
            self._append(response)
            return self._failed(f"the answer was refused or filtered ({_finish(response)})")
        texts = [prompts.REPAIR] if was_held else [prompts.IN_FORM, prompts.REPAIR]
        while True:
            self._append(response)
            if was_cut_off(response):
                self._failed(f"the answer was cut off ({_finish(response)})")
            answer = (response.content or "").strip()
            if self.form is None:
                return _Ending(answer, why)
            try:
                return _Ending(answer, why, self.form.read(answer))
            except FormError as error:
                problem = str(error)
            if not texts:
                why = f"the answer does not have the form that was asked for: {problem}"
                return self._failed(why)
            text = texts.pop(0).format(problem=problem)
            self._messages.append({"role": "user", "content": text})
            response = await self._ask_model(self.account.replies + 1, [])

    def _append(self, response: LLMResponse) -> None:
        """Add a reply that should hold no calls."""
        self._messages.append(assistant_message(response))
        for call in response.tool_calls or ():
            self._messages.append(tool_message(call.id, "Skipped: no tool is on offer."))


def _empty(response: LLMResponse) -> str:
    return f"the model's reply was empty ({_finish(response)})"


def _finish(response: LLMResponse) -> str:
    return f"finish reason: {response.finish_reason or 'none given'}"
