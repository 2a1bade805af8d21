"""The player `model`: a model with our mind, told what its managers know."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from game_interface import Facts
from game_interface.command_guard import KEY_NAMES
from managers.action_check import Check
from managers.context_manager import ContextManager
from managers.manager import Manager
from mcp_ghost.messages import Usage
from mcp_ghost.text import one_line
from players.player import Player
from session.game_configuration import GameConfiguration
from session.game_state import Decision, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Reflection
from session.perception.directions import DIRECTIONS
from zork_agent import ZorkAgent

_SHOWN = 4
"""Ways out in a menu, and as many other commands."""
_STAY = 3
"""Turns after which a room is left: a small model would try each verb on each thing first."""


class ModelPlayer(Player):
    """Tells the managers what happened and the agent what they know; checks what it proposes."""

    def __init__(
        self,
        config: GameConfiguration,
        agent: ZorkAgent,
        context: ContextManager,
        check: Check,
        managers: Sequence[Manager] = (),
    ) -> None:
        self.model = agent.model
        self.base_url = agent.role.base_url
        self._agent = agent
        self._context = context
        self._check = check
        self._managers = managers
        self._refuses = config.action_check_mode == "refuse"
        self._prompt = agent.system_prompt
        compact, level = config.prompt_profile() == "compact", config.observation_level
        self._candidates = CandidateCommands() if compact and level.tells_facts else None

    def begin(self, opening: str, observation: Observation, carried: CarriedOver) -> None:
        """Tell the managers the game's first facts and what earlier episodes passed on."""
        for manager in self._managers:
            manager.begin(observation, carried)

    def take_in(self, record: TurnRecord) -> None:
        """Tell the managers of a finished turn."""
        for manager in self._managers:
            manager.apply(record)
        if self._candidates:
            self._candidates.apply(record)

    def learn(self, reflection: Reflection) -> None:
        """Tell the managers what looking back yielded."""
        for manager in self._managers:
            manager.learn(reflection)

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Return what the agent wants to do, as far as the check lets it."""
        agent = self._agent
        if self._prompt:  # what is known at the first decision stands at the prompt's head
            agent.system_prompt, self._prompt = self._context.head(self._prompt), ""
        waits_for_key = facts.waits_for == "key"
        menu = []
        if self._candidates:
            menu = [*KEY_NAMES] if waits_for_key else self._candidates.menu(facts)
        prompt = self._context.build(state, menu)
        judged, advice = Usage(), dict[str, str]()

        async def objection(command: str) -> str | None:
            nonlocal judged
            verdict = await self._check.check(command, facts, prompt.lately)
            judged += verdict.usage
            if verdict.kind == "refuse" and self._refuses:
                return verdict.reason
            if verdict.kind != "accept":
                advice[command] = verdict.reason  # which the model is told later
            return None

        agent.turn, agent.last_decision = state.turn_count, None
        answer = agent.get_action_with_reasoning(
            game_state_text=prompt.text,
            relevant_memories=None,
            story=prompt.story,
            candidates=menu,
            objection=None if waits_for_key else objection,
            waits_for=facts.waits_for,
        )
        decision: Decision | None = agent.last_decision
        decision = decision or Decision(str(answer["action"]), str(answer["reasoning"]))
        return replace(
            decision,
            usage=decision.usage + judged,
            advice=decision.advice or advice.get(decision.action),
        )


class CandidateCommands:
    """A short menu of commands for models too small to find words, from what they were told.

    What was tried in a room before comes last there.
    """

    def __init__(self) -> None:
        self._tried: dict[int | None, dict[str, int]] = {}
        self._stayed = 0
        """Turns since the player came here."""

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        tried = self._tried.setdefault(record.place_id, {})
        tried[record.command] = tried.get(record.command, 0) + 1
        here = record.after.room_id == record.place_id
        self._stayed = self._stayed + 1 if here else 0

    def menu(self, facts: Facts) -> list[str]:
        """At most eight commands: ways out, those never taken before all others, and what is new.

        Other ways are offered only where all that the game's words name were taken.
        """
        tried = self._tried.get(facts.room_id, {})
        kinds = {way.direction: way.kind for way in facts.exits}
        known = [way for way, kind in kinds.items() if kind != "blocked"]
        ways = [way for way in known if way not in tried]
        if not ways:
            at_a_venture = (way for way in DIRECTIONS.values() if way not in kinds)
            ways = [*sorted(known, key=lambda way: tried[way]), *at_a_venture]
        acts = [act for act in _acts(facts) if act not in tried]
        if known and self._stayed >= _STAY:
            acts = []
        return [*ways[:_SHOWN], *acts[:_SHOWN]] or ["look"]


def _acts(facts: Facts) -> Iterator[str]:
    """Yield what things are good for: what the game has shown does not tell which can be taken."""
    here = {one_line(thing.name): thing.holder for thing in facts.visible}
    carried = dict.fromkeys(one_line(thing.name) for thing in facts.inventory or ())
    if here:
        yield "take all"  # which most parsers take to mean what lies about
    yield from (f"take {name}" for name, holder in here.items() if holder)
    for verb in ("examine", "open"):
        yield from (f"{verb} {name}" for name in here)
    yield from (f"examine {name}" for name in carried)
