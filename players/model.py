"""The player `model`: a model with our mind, told what its managers know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from game_interface.command_guard import KEY_NAMES
from managers.action_check import Check
from managers.candidate_commands import CandidateCommands
from managers.context_manager import ContextManager, Prompt
from mcp_ghost.messages import Usage
from session.game_configuration import GameConfiguration
from session.game_state import GameState, Observation, TurnRecord
from zork_agent import Decision, ZorkAgent

if TYPE_CHECKING:
    from game_interface import Facts
    from game_interface.machine.facts import Waits


class ModelPlayer:
    """Tells the agent about the game and checks what it proposes."""

    def __init__(
        self, config: GameConfiguration, agent: ZorkAgent, context: ContextManager, check: Check
    ) -> None:
        self.model = agent.model
        self.base_url = agent.role.base_url
        self._agent = agent
        self._context = context
        self._check = check
        self._refuses = config.action_check_mode == "refuse"
        self._prompt = agent.system_prompt
        compact, level = config.prompt_profile() == "compact", config.observation_level
        self._candidates = CandidateCommands() if compact and level.tells_facts else None

    def begin(self, opening: str, observation: Observation) -> None:
        """The managers are told by the mind."""

    def take_in(self, record: TurnRecord) -> None:
        """The managers are told by the mind."""
        if self._candidates:
            self._candidates.apply(record)

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """What the agent wants to do, as far as the check lets it."""
        if self._prompt:  # what is known at the first decision stands at the prompt's head
            self._agent.system_prompt, self._prompt = self._context.head(self._prompt), ""
        menu = []
        if self._candidates:
            menu = [*KEY_NAMES] if facts.waits_for == "key" else self._candidates.menu(facts)
        prompt = self._context.build(state, menu)
        judge = _Judge(self._check, facts, prompt.lately, self._refuses)
        decision = self._ask(state, prompt, menu, judge, facts.waits_for)
        return replace(
            decision,
            usage=decision.usage + judge.usage,
            advice=decision.advice or judge.advice.get(decision.action),
        )

    def _ask(
        self,
        state: GameState,
        prompt: Prompt,
        menu: list[str],
        judge: _Judge,
        waits_for: Waits | None,
    ) -> Decision:
        self._agent.turn = state.turn_count
        self._agent.last_decision = None
        answer = self._agent.get_action_with_reasoning(
            game_state_text=prompt.text,
            relevant_memories=None,
            story=prompt.story,
            candidates=menu,
            objection=None if waits_for == "key" else judge.objection,
            waits_for=waits_for,
        )
        return self._agent.last_decision or Decision(
            action=str(answer["action"]), reasoning=str(answer["reasoning"])
        )


@dataclass
class _Judge:
    """The objections to the proposals of one turn."""

    check: Check
    facts: Facts
    situation: str
    refuses: bool
    """Otherwise the model is only told, later, what ``check`` objected to."""
    usage: Usage = field(default_factory=Usage)
    advice: dict[str, str] = field(default_factory=dict)

    async def objection(self, command: str) -> str | None:
        """Why the game must not be given ``command``; None when it may."""
        verdict = await self.check.check(command, self.facts, self.situation)
        self.usage += verdict.usage
        if verdict.kind == "refuse" and self.refuses:
            return verdict.reason
        if verdict.kind != "accept":
            self.advice[command] = verdict.reason
        return None
