"""The turn as named steps: tell, decide, act, record."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from game_interface.errors import EngineError, InvalidCommandError, SnapshotError, StoryFormatError
from managers.action_check import Check
from managers.candidate_commands import CandidateCommands
from managers.context_manager import ContextManager
from mcp_ghost.messages import Usage
from mcp_ghost.text import one_line
from session.game_state import (
    ExitSeen,
    FailedTurn,
    GameState,
    Observation,
    Place,
    TurnRecord,
    thing_text,
)
from zork_agent import Decision, ZorkAgent

if TYPE_CHECKING:
    from game_interface import Facts, Game, Thing
    from session.record.resume import SavedEpisode

_NAMELESS = "Unnamed place"
"""Where the game is somewhere without a name, or does not say where."""


@dataclass(frozen=True)
class TurnPlayer:
    """Plays one turn with the parts of an episode."""

    game: Game
    agent: ZorkAgent
    context: ContextManager
    candidates: CandidateCommands | None
    check: Check
    refuses: bool
    """Otherwise the model is only told, later, what ``check`` objected to."""

    def play(self, state: GameState) -> TurnRecord | FailedTurn:
        """One turn, from what is known to the record of the outcome.

        Without a usable answer the game is given nothing: any command would be a move. Where the
        game fails at a command, it stands as before it.
        """
        started = time.perf_counter()
        place, facts = _place_of(state), self.game.facts()
        menu = self.candidates.menu(facts) if self.candidates else []
        text = self.context.build(state, menu)
        judge = _Judge(self.check, facts, text, self.refuses)
        decision = self._decide(state, text, menu, judge)
        failure, response, of_the_game = decision.failure, "", False
        if not failure:
            try:
                response = self.game.step(decision.action)
            except InvalidCommandError as error:
                failure = f"The model's command '{decision.action}' cannot be played: {error}"
            except (EngineError, StoryFormatError) as error:
                failure, of_the_game = str(error), True
        if failure:
            return FailedTurn(
                turn=state.turn_count + 1,
                failure=failure,
                incurable=decision.incurable,
                of_the_game=of_the_game,
                tools=decision.tools,
                usage=decision.usage + judge.usage,
                seconds=_since(started),
            )
        return self._record(state, place, decision, judge, response, started)

    def _decide(self, state: GameState, text: str, menu: list[str], judge: _Judge) -> Decision:
        self.agent.turn = state.turn_count
        self.agent.last_decision = None
        answer = self.agent.get_action_with_reasoning(
            game_state_text=text,
            relevant_memories=None,
            candidates=menu,
            objection=judge.objection,
        )
        return self.agent.last_decision or Decision(
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
        facts = self.game.facts()
        return TurnRecord(
            turn=state.turn_count + 1,
            place=place,
            command=decision.action,
            proposed=decision.proposed,
            thinking=decision.reasoning,
            new_objective=decision.new_objective,
            nav_target=decision.nav_target,
            refused=decision.refused,
            advice=judge.advice.get(decision.action),
            response=response,
            scored=facts.score - state.score,
            after=observation_of(facts),
            died=self.game.died_in_last_step,
            won=facts.won,
            over=self.game.is_over,
            tools=decision.tools,
            usage=decision.usage + judge.usage,
            seconds=_since(started),
            snapshot=snapshot_of(self.game),
        )


@dataclass
class _Judge:
    """The objections to the proposals of one turn."""

    check: Check
    facts: Facts
    situation: str
    refuses: bool
    usage: Usage = field(default_factory=Usage)
    advice: dict[str, str] = field(default_factory=dict)

    def objection(self, command: str) -> str | None:
        """Why the game must not be given ``command``; None when it may."""
        verdict = self.check.check(command, self.facts, self.situation)
        self.usage += verdict.usage
        if verdict.kind == "refuse" and self.refuses:
            return verdict.reason
        if verdict.kind != "accept":
            self.advice[command] = verdict.reason
        return None


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


def return_to(saved: SavedEpisode, game: Game) -> None:
    """Bring ``game`` to where the episode stopped.

    Raises:
        EpisodeDamagedError: Its log holds no moment of this story.
        SnapshotError: The story's file was replaced.
    """
    try:
        game.restore(saved.snapshot)
    except SnapshotError as error:
        if saved.start.story_sha256 != game.story.sha256:
            raise
        raise saved.damaged_snapshot(str(error)) from error


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def _place(room_id: int, name: str | None) -> Place:
    return Place(id=room_id, name=one_line(name or "") or _NAMELESS)


def _named(thing: Thing) -> str:
    return one_line(thing_text(thing.name, thing.holder))


def _place_of(state: GameState) -> Place:
    if state.observation is None:
        raise RuntimeError("The game has not been started.")
    return state.observation.room
