"""The turn as named steps: tell, decide, act, record."""

from __future__ import annotations

import base64
import time
from typing import TYPE_CHECKING

from mcp_ghost.messages import Usage
from mcp_ghost.text import one_line
from session.game_state import ExitSeen, FailedTurn, Observation, Place, TurnRecord, thing_text
from zork_agent import Decision

if TYPE_CHECKING:
    from game_interface import Facts, Game, Thing
    from managers.action_check import Check, Verdict
    from managers.candidate_commands import CandidateCommands
    from managers.context_manager import ContextManager
    from session.game_state import GameState
    from zork_agent import ZorkAgent


_NAMELESS = "Unnamed place"
"""Where the game is somewhere without a name, or does not say where."""


class TurnPlayer:
    """Plays one turn with the parts of an episode."""

    def __init__(
        self,
        game: Game,
        agent: ZorkAgent,
        context: ContextManager,
        candidates: CandidateCommands | None = None,
        check: Check | None = None,
        *,
        refuses: bool = True,
    ) -> None:
        """Without ``refuses`` the model is only told, later, what ``check`` objected to."""
        self._game = game
        self._agent = agent
        self._context = context
        self._candidates = candidates
        self._check = check
        self._refuses = refuses

    def play(self, state: GameState) -> TurnRecord | FailedTurn:
        """One turn, from what is known to the record of the outcome.

        Without a usable answer the game is given nothing: any command would be a move.
        """
        started = time.perf_counter()
        seen = _observed(state)
        facts = self._game.facts()
        menu = self._candidates.menu(facts) if self._candidates else []
        text = self._context.build(state, menu)
        judge = _Judge(self._check, facts, seen, text, refuses=self._refuses)
        decision = self._decide(state, text, menu, judge)
        if decision.failure:
            return FailedTurn(
                turn=state.turn_count + 1,
                failure=decision.failure,
                incurable=decision.incurable,
                tools=decision.tools,
                usage=decision.usage + judge.usage,
                seconds=_since(started),
            )
        response = self._game.step(decision.action)
        return self._record(state, seen.room, decision, judge, response, started)

    def _decide(self, state: GameState, text: str, menu: list[str], judge: _Judge) -> Decision:
        self._agent.turn = state.turn_count
        self._agent.last_decision = None
        answer = self._agent.get_action_with_reasoning(
            game_state_text=text,
            relevant_memories=None,
            candidates=menu,
            objection=judge.objection if self._check else None,
        )
        return self._agent.last_decision or Decision(
            action=str(answer["action"]), reasoning=str(answer["reasoning"])
        )

    def _record(
        self,
        state: GameState,
        place: Place,
        decision: Decision,
        judge: _Judge,
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
            advice=judge.advice_on(decision.action),
            response=response,
            scored=facts.score - state.score,
            after=observation_of(facts),
            died=self._game.died_in_last_step,
            won=facts.won,
            over=self._game.is_over,
            tools=decision.tools,
            usage=decision.usage + judge.usage,
            seconds=_since(started),
            snapshot=snapshot_of(self._game),
        )


class _Judge:
    """The objections to the proposals of one turn."""

    def __init__(
        self, check: Check | None, facts: Facts, seen: Observation, situation: str, *, refuses: bool
    ) -> None:
        self._check = check
        self._facts = facts
        self._seen = seen
        self._situation = situation
        self._refuses = refuses
        self._advice: dict[str, str] = {}
        self.usage = Usage()

    def objection(self, command: str) -> str | None:
        """Why the game must not be given ``command``; None when it may."""
        if self._check is None:
            return None
        verdict = self._verdict(self._check, command)
        self.usage += verdict.usage
        if verdict.kind == "refuse" and self._refuses:
            return verdict.reason
        if verdict.kind != "accept":
            self._advice[command] = verdict.reason
        return None

    def advice_on(self, command: str) -> str | None:
        """What was said against a command that was not refused."""
        return self._advice.get(command)

    def _verdict(self, check: Check, command: str) -> Verdict:
        seen = self._seen
        return check.check(command, self._facts, seen.world_hash, seen.room.id, self._situation)


def observation_of(facts: Facts) -> Observation:
    """The game's facts in the form that is kept.

    Every name is on one line, so that none can pose as part of a prompt.
    """
    return Observation(
        room=_place(facts.room_id, facts.room_name),
        score=facts.score,
        max_score=facts.max_score,
        moves=facts.moves,
        inventory=tuple(_named(thing) for thing in facts.inventory),
        visible=tuple(_named(thing) for thing in facts.visible),
        exits=tuple(
            ExitSeen(
                direction=way.direction,
                kind=way.kind,
                note=one_line(way.note) if way.note else None,
                room=None if way.room_id is None else _place(way.room_id, way.room_name),
            )
            for way in facts.exits
        ),
        dark=facts.dark,
        world_hash=facts.world_hash,
    )


def snapshot_of(game: Game) -> str:
    """The engine's state as text."""
    return base64.b64encode(game.snapshot()).decode("ascii")


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def _place(room_id: int, name: str | None) -> Place:
    return Place(id=room_id, name=one_line(name or "") or _NAMELESS)


def _named(thing: Thing) -> str:
    return one_line(thing_text(thing.name, thing.holder))


def _observed(state: GameState) -> Observation:
    if state.observation is None:
        raise RuntimeError("The game has not been started.")
    return state.observation
