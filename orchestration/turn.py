"""The turn as named steps: tell, decide, act, record."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING

from session.game_state import ExitSeen, Observation, Place, TurnRecord
from zork_agent import Decision

if TYPE_CHECKING:
    from game_interface import Facts, Game, Thing
    from managers.candidate_commands import CandidateCommands
    from managers.context_manager import ContextManager
    from session.game_state import GameState
    from zork_agent import ZorkAgent


class TurnPlayer:
    """Plays one turn with the parts of an episode."""

    def __init__(
        self,
        game: Game,
        agent: ZorkAgent,
        context: ContextManager,
        candidates: CandidateCommands | None,
    ) -> None:
        self._game = game
        self._agent = agent
        self._context = context
        self._candidates = candidates

    def play(self, state: GameState) -> TurnRecord:
        """One turn, from what is known to the record of what came of it."""
        started = time.perf_counter()
        place = _observed(state).room
        decision = self._decide(state, *self._tell(state))
        response = self._game.step(decision.action)
        return self._record(state, place, decision, response, started)

    def _tell(self, state: GameState) -> tuple[str, list[str]]:
        menu = self._candidates.menu(self._game.facts()) if self._candidates else []
        return self._context.build(state, menu), menu

    def _decide(self, state: GameState, text: str, menu: list[str]) -> Decision:
        self._agent.turn = state.turn_count
        self._agent.last_decision = None
        answer = self._agent.get_action_with_reasoning(
            game_state_text=text, relevant_memories=None, candidates=menu
        )
        return self._agent.last_decision or Decision(
            action=str(answer["action"]), reasoning=str(answer["reasoning"])
        )

    def _record(
        self,
        state: GameState,
        place: Place,
        decision: Decision,
        response: str,
        started: float,
    ) -> TurnRecord:
        facts = self._game.facts()
        return TurnRecord(
            turn=state.turn_count + 1,
            place=place,
            command=decision.action,
            proposed=decision.proposed,
            thinking=decision.reasoning,
            new_objective=decision.new_objective,
            nav_target=decision.nav_target,
            refused=decision.refused,
            response=response,
            scored=facts.score - state.score,
            after=observation_of(facts),
            died=self._game.died_in_last_step,
            won=facts.won,
            over=self._game.is_over,
            failure=decision.failure,
            tools=decision.tools,
            usage=decision.usage,
            seconds=round(time.perf_counter() - started, 4),
            snapshot=snapshot_of(self._game),
        )


def observation_of(facts: Facts) -> Observation:
    """The game's facts in the form that is kept."""
    return Observation(
        room=Place(id=facts.room_id, name=facts.room_name),
        score=facts.score,
        max_score=facts.max_score,
        moves=facts.moves,
        inventory=tuple(_named(thing) for thing in facts.inventory),
        visible=tuple(_named(thing) for thing in facts.visible),
        exits=tuple(
            ExitSeen(
                direction=way.direction,
                kind=way.kind,
                note=way.note,
                room=None
                if way.room_id is None
                else Place(id=way.room_id, name=way.room_name or ""),
            )
            for way in facts.exits
        ),
        dark=facts.dark,
        world_hash=facts.world_hash,
    )


def snapshot_of(game: Game) -> str:
    """The engine's state as text."""
    return base64.b64encode(game.snapshot()).decode("ascii")


def _named(thing: Thing) -> str:
    return f"{thing.name} (in {thing.holder})" if thing.holder else thing.name


def _observed(state: GameState) -> Observation:
    if state.observation is None:
        raise RuntimeError("The game has not been started.")
    return state.observation
