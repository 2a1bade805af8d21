"""The agent: one decision a turn, made by the model, with tools where it wants them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from managers.answer import AgentResponse, UnplayableError, answer_format, plan_in, read_answer
from managers.tools.events import ToolEvents
from managers.tools.session import ToolSession
from mcp_ghost.errors import LLMError, LLMStatusError
from mcp_ghost.loop import LoopEnd, LoopObserver, names_of, run_loop
from mcp_ghost.messages import LLMResponse, Message, ToolSchema, Usage, assistant_message
from mcp_ghost.providers.refusal import is_out_of_credit
from prompts import load_prompt, with_hints
from session.events import event_context, log_event
from session.game_configuration import GameConfiguration
from session.game_state import Decision, RefusedCommand
from session.loop import running_loop
from session.tracing import observed

if TYPE_CHECKING:
    from game_interface.machine.facts import Waits
    from llm_client import LLMClient
    from managers.mcp_manager import MCPManager

__all__ = ["AgentResponse", "Decision", "ZorkAgent"]

_INCURABLE = frozenset({401, 402, 403, 404})
RECORDED_CHARACTERS = 10_000
"""Of each text of the model; one that rambles must not fill the disk."""
FORCE_FINAL = (
    "Give your final action now, without calling any more tools: one JSON object with the keys "
    "thinking, action, new_objective, close_objective, nav_target and plan."
)
REFUSED = (
    'The game was not given "{command}": {reason} Choose another command, or this one again if you '
    "have a reason to insist. Answer with one JSON object as before."
)
Objection: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Why a command must not be given to the game; None when nothing speaks against it."""


def is_incurable(error: LLMError) -> bool:
    """Whether the next try would get the same error."""
    return isinstance(error, LLMStatusError) and (
        error.status in _INCURABLE or is_out_of_credit(error.said, error.named)
    )


class ZorkAgent:
    """Asks a model for the next command."""

    def __init__(
        self,
        config: GameConfiguration,
        model: str | None = None,
        client: LLMClient | None = None,
        logger: logging.Logger | None = None,
        episode_id: str = "unknown",
        mcp_manager: MCPManager | None = None,
    ) -> None:
        self.config = config
        self.role = config.role("agent")
        self.model = model or self.role.model
        self.logger = logger or logging.getLogger("zorkgpt.agent")
        if client is None:
            from llm_client import LLMClient  # its imports wait until a model is actually asked

            client = LLMClient(config=config, base_url=config.agent_base_url, logger=self.logger)
        self.client = client
        self.episode_id = episode_id
        self.is_embedded = config.uses_embedded_model
        self.mcp_manager = mcp_manager
        self.mcp_enabled = config.mcp_enabled and mcp_manager is not None
        self.turn = 0
        """The game's turn that was decided last."""
        self.last_decision: Decision | None = None
        profile, level = config.prompt_profile(), config.observation_level
        prompt = load_prompt("agent", profile, level, config.observation_prior_knowledge)
        self.system_prompt = with_hints(prompt, config.player_hints)
        self.tools_prompt = load_prompt("agent_tools", profile)

    def get_action_with_reasoning(
        self,
        game_state_text: str,
        relevant_memories: str | None = None,
        *,
        story: Sequence[Message] = (),
        candidates: Sequence[str] = (),
        objection: Objection | None = None,
        waits_for: Waits | None = "line",
    ) -> dict[str, str | None]:
        """The next command as ``action``, with ``reasoning`` and ``new_objective``.

        Where the model fails, the action is ``look``, or the key ``enter``, and
        ``last_decision.failure`` says why.

        Args:
            game_state_text: What the model is told about the game.
            relevant_memories: More to tell, after the game.
            candidates: Commands to choose from, for models too small to find words.
            objection: Asked about each proposal, within the turn; what it says is told to the
                model, which then proposes something else. After so many refusals as are configured
                it is played as it is.
            story: Messages that come before all that: the turns so far, from user to assistant.
            waits_for: Whether the game waits for a command or for a key; None where nobody knows.

        Raises:
            MCPError: The tool server cannot start, or the model takes no tools.
            RuntimeError: The calling thread already runs an event loop.
        """
        if running_loop() is not None:
            raise RuntimeError(
                "get_action_with_reasoning() runs an event loop, but this thread "
                "already runs one: call it with asyncio.to_thread()."
            )
        from llm_client import loop_of  # its imports wait until a model is actually asked

        loop = loop_of(self.client)
        text = "\n\n".join(part for part in (game_state_text, relevant_memories) if part)
        turn = self._decide(_Deliberation(self, candidates, objection, waits_for), text, story)
        decision = self.last_decision = loop.run(turn) if loop else asyncio.run(turn)
        return {
            "action": decision.action,
            "reasoning": decision.reasoning,
            "new_objective": decision.new_objective,
        }

    async def _decide(
        self, deliberation: _Deliberation, text: str, story: Sequence[Message]
    ) -> Decision:
        self.turn += 1
        manager, most = self.mcp_manager, self.config.mcp_max_tool_iterations
        langfuse = getattr(manager, "langfuse_client", None) if self.mcp_enabled else None
        about = {"mcp_enabled": self.mcp_enabled, "max_iterations": most}
        name = "agent-tool-calling-session"
        session = observed(langfuse, self.logger, name=name, metadata=about)
        with event_context(episode_id=self.episode_id, turn=self.turn):
            with session as span:
                decision = await deliberation.decide(text, story)
                used = {"iterations_used": decision.iterations, "tools_called": len(decision.tools)}
                span.update(metadata={**used, "final_action": decision.action})
            if not decision.failure:
                action = decision.action
                message = f"Agent action: {action}"
                log_event(self.logger, logging.INFO, message, "agent_action", action=action)
        return decision


def safe_command(waits_for: Waits | None) -> str:
    """What stands where nothing was decided, and does no harm if it is played."""
    return "enter" if waits_for == "key" else "look"


class _Deliberation:
    """One turn's conversation with the model and its tools."""

    def __init__(
        self,
        agent: ZorkAgent,
        candidates: Sequence[str],
        objection: Objection | None,
        waits_for: Waits | None,
    ) -> None:
        self._agent = agent
        self._objection = objection
        self._waits_for = waits_for
        self._refused: list[RefusedCommand] = []
        self._config = agent.config
        self._logger = agent.logger
        self._answer_format = answer_format(candidates)
        manager = agent.mcp_manager if agent.mcp_enabled else None
        most = getattr(agent.client, "most_tools", None)
        self._tools = ToolSession(manager, agent.config, agent.logger, most)
        servers = getattr(manager, "server_names", ())
        self._events = ToolEvents(agent.logger, agent.config.mcp_max_tool_iterations, servers)
        self._responses: list[LLMResponse] = []
        self._schema_was_enforced = False

    async def decide(self, text: str, story: Sequence[Message]) -> Decision:
        """The model's decision; the safe default when it has none."""
        agent, lost = self._agent, Usage()
        if self._tools.are_on:
            from llm_client import require_tool_support

            require_tool_support(agent.model, force=self._config.mcp_force_tool_support)
        try:
            await self._tools.open()
            prompts = [agent.system_prompt]
            if self._tools.offered:
                prompts += [agent.tools_prompt, self._tools.instructions]
            head = _cached("system", "\n\n".join(filter(None, prompts)))
            messages = [head, *story, _cached("user", text)]
            try:
                decision = await self._accepted(await self._propose(messages), messages)
            except LLMError as error:
                lost = error.usage
                why = f"The model could not be asked: {error}"
                decision = self._fall_back(why, None, error)
            if decision.failure:
                message = decision.reasoning
                raw = (self._responses[-1].content or "") if decision.answered else ""
                fields = {"error": decision.failure, "raw_response": raw[:RECORDED_CHARACTERS]}
                log_event(self._logger, logging.ERROR, message, "agent_parse_error", **fields)
            await self._tools.settle()
        finally:
            await self._tools.close()
        if self._events.iteration:
            self._events.session_ended(decision.action)
        return replace(
            decision,
            refused=tuple(self._refused),
            tools=self._events.used,
            iterations=self._events.iteration,
            usage=sum((it.spent for it in self._responses), lost),
        )

    async def _accepted(self, decision: Decision, messages: list[Message]) -> Decision:
        """The check advises; after so many refusals it is the model that is believed."""
        while self._objection and not decision.failure:
            command = decision.action
            reason = await self._objection(command)
            if not reason:
                break
            if len(self._refused) >= self._config.action_check_max_refusals:
                return replace(decision, advice=reason)
            self._refused.append(
                RefusedCommand(command=command, thinking=decision.reasoning, reason=reason)
            )
            message = f"Refused: {command} ({reason})"
            fields = {"action": command, "reason": reason}
            log_event(self._logger, logging.INFO, message, "action_refused", **fields)
            messages.append(assistant_message(self._responses[-1]))
            messages.append(_cached("user", REFUSED.format(command=command, reason=reason)))
            decision = decision.kept_in(self._decision(await self._ask(messages, [])))
        return decision

    async def _propose(self, messages: list[Message]) -> Decision:
        with_tools = bool(self._tools.schemas)
        observer = self._events if with_tools else LoopObserver()
        result = await run_loop(
            messages,
            ask=lambda messages, _: self._ask(messages, self._tools.offered),
            answer_calls=self._tools.answering(observer, with_images=not self._agent.is_embedded),
            max_iterations=self._config.mcp_max_tool_iterations if with_tools else 1,
            tools=lambda: names_of(self._tools.schemas),
            observer=observer,
        )
        if result.end is LoopEnd.ANSWER:
            decision = self._decision(result.response)
            if not decision.failure:
                return decision
            messages.append(assistant_message(result.response))
        else:
            decision = self._fall_back(str(result.end), result.response, None)
        if result.end is LoopEnd.EMPTY_REPLY:
            self._events.reply_was_empty(result.response)
        was_asked_twice = result.end is LoopEnd.EMPTY_REPLY and result.response.calls > 1
        if self._schema_was_enforced or was_asked_twice:
            return decision
        message = f"Forcing final action after {decision.failure}"
        fields = {"iterations": self._events.iteration, "reason": decision.failure}
        log_event(self._logger, logging.WARNING, message, "mcp_no_content", **fields)
        messages.append(_cached("user", FORCE_FINAL))
        return self._decision(await self._ask(messages, []))

    async def _ask(self, messages: list[Message], tools: list[ToolSchema]) -> LLMResponse:
        """The reply with ``tools`` on offer; without any, the form of a decision is enforced."""
        # Its imports wait until a model is actually asked.
        from llm_client import PLAYER, completed, offering

        agent = self._agent
        options: dict[str, Any] = {}
        if not tools:
            self._schema_was_enforced = True
            if self._tools.schemas:
                # Some providers want the definitions of tools that the history mentions.
                options["known_tools"] = self._tools.known
        elif agent.is_embedded:
            # A model this small needs the form of its answer enforced beside the tools' forms.
            options["guided_json"] = self._answer_format["json_schema"]["schema"]
        # Checked here too, because the client may be one that does not.
        with offering(tools, agent.model, force=self._config.mcp_force_tool_support):
            response = await completed(
                agent.client,
                model=agent.model,
                messages=messages,
                **agent.role.sampling,
                name=PLAYER,
                tools=tools or None,
                tool_choice="auto" if tools else None,
                response_format=None if tools else self._answer_format,
                retry_empty=not self._tools.schemas,  # beside tools, the answer is forced instead
                **options,
            )
        self._responses.append(response)
        return response

    def _decision(self, response: LLMResponse) -> Decision:
        """Read the model's answer; ``failure`` says why it is none."""
        try:
            answer, command = read_answer(response.content or "", self._waits_for)
        except ValueError as error:
            why = f"an answer that is not a decision ({error})"
            return self._fall_back(why, response, error)
        return Decision(
            command,
            answer.thinking[:RECORDED_CHARACTERS],
            new_objective=(answer.new_objective or "")[:RECORDED_CHARACTERS] or None,
            nav_target=(answer.nav_target or "")[:RECORDED_CHARACTERS] or None,
            plan=plan_in(answer.plan),
            close_objective=(answer.close_objective or "")[:RECORDED_CHARACTERS] or None,
            proposed=answer.action[:RECORDED_CHARACTERS],
        )

    def _fall_back(
        self, failure: str, response: LLMResponse | None, error: Exception | None
    ) -> Decision:
        return Decision(
            safe_command(self._waits_for),
            f"No usable answer: {failure}",
            proposed=((response and response.content) or "")[:200],
            failure=failure,
            answered=response is not None,
            incurable=isinstance(error, LLMError) and is_incurable(error),
            unplayable=isinstance(error, UnplayableError),
        )


def _cached(role: str, content: str) -> Message:
    return {"role": role, "content": content, "cache_control": {"type": "ephemeral"}}
