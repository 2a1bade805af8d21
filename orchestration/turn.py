"""The turn as named steps: tell, decide, act, record."""

from __future__ import annotations

import base64
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from game_interface.command_guard import MAX_COMMAND_LENGTH
from game_interface.errors import (
    EngineError,
    EngineStoppedError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
)
from mcp_ghost.text import one_line
from session.game_state import (
    NAMELESS,
    ExitSeen,
    FailedTurn,
    GameState,
    Observation,
    Place,
    RefusedCommand,
    TurnRecord,
    shown,
    thing_text,
)
from session.playing import PlayingSettings
from session.record.schema import write

if TYPE_CHECKING:
    from game_interface import Facts, Game, Thing
    from orchestration.boundary import Boundary
    from players.player import Player
    from session.record.resume import SavedEpisode
    from zork_agent import Decision

RESTARTED = "* Restarting *"
"""Between the last words of a game and the first ones of the next."""


@dataclass(frozen=True)
class TurnPlayer:
    """Plays one turn after the other."""

    game: Game
    player: Player
    rules: PlayingSettings
    boundary: Boundary

    def play(self, state: GameState) -> TurnRecord | FailedTurn:
        """One turn, from what is known to the record of the outcome.

        Without a usable answer the game is given nothing: any command would be a move. A command at
        which the engine fails is undone, and the player is told so.
        """
        started = time.perf_counter()
        place = _place_of(state)
        facts = self.boundary.facts(self.game.facts(), self.game.vocabulary)
        decision = self._cut(self.player.decide(self.boundary.state, facts))
        failure, response, of_the_game = decision.failure or self._objection(decision), "", False
        if not failure:
            try:
                response = self.game.step(decision.action)
            except InvalidCommandError as error:
                failure = f"The model's command '{decision.action}' cannot be played: {error}"
            except EngineStoppedError as error:
                failure, of_the_game = str(error), True
            except (EngineError, StoryFormatError) as error:
                return self._undone(state, place, decision, str(error), started)
        if not failure:
            return self._record(state, place, decision, response, started)
        costs_the_turn = decision.answered and self.rules.rules_unusable_answer == "turn"
        if costs_the_turn and not of_the_game:
            return self._passed(state, place, decision, failure, started)
        return FailedTurn(
            turn=state.turn_count + 1,
            failure=failure,
            proposed=decision.proposed,
            incurable=decision.incurable,
            of_the_game=of_the_game,
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
        )

    def _cut(self, decision: Decision) -> Decision:
        """With one command only, where that is the rule."""
        line, first = decision.action, self.game.vocabulary.first_command(decision.action)
        if first == line or decision.failure or self.rules.rules_several_commands != "cut":
            return decision
        told = f'The game was given only the first command of "{one_line(line)}".'
        advice = f"{told} {decision.advice}" if decision.advice else told
        return replace(decision, action=first, advice=advice)

    def _objection(self, decision: Decision) -> str | None:
        """What the rules of the episode have against a command."""
        commands = self.game.vocabulary.commands_in(decision.action)
        if self.rules.rules_several_commands == "refuse" and commands > 1:
            return f"'{decision.action}' is {commands} commands, and a turn takes one."
        return None

    def _record(
        self,
        state: GameState,
        place: Place | None,
        decision: Decision,
        response: str,
        started: float,
    ) -> TurnRecord:
        facts, game = self.game.facts(), self.game
        outcome, died, ended = observation_of(facts), game.died_in_last_step, None
        if self._begins_anew(state, facts, died=died):
            ended, response = outcome, _with_restart(response, game.start())
            outcome = observation_of(game.facts())
        return TurnRecord(
            turn=state.turn_count + 1,
            place=place,
            command=decision.action,
            proposed=decision.proposed,
            thinking=decision.reasoning,
            new_objective=decision.new_objective,
            nav_target=decision.nav_target,
            plan=decision.plan,
            close_objective=decision.close_objective,
            refused=decision.refused,
            advice=decision.advice,
            response=response,
            scored=_gain(state.score, facts.score),
            after=outcome,
            ended=ended,
            died=died,
            won=facts.won,
            over=game.is_over,
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
            snapshot=snapshot_of(game),
        )

    def _begins_anew(self, state: GameState, facts: Facts, *, died: bool | None) -> bool:
        """Whether the rules begin the game again, because it is over and not all was reached."""
        if self.rules.rules_after_death != "restart" or not (died or self.game.is_over):
            return False
        best = max(state.best_score, facts.score or 0)
        return not (facts.won and best >= (facts.max_score or best))

    def _passed(
        self, state: GameState, place: Place | None, decision: Decision, why: str, started: float
    ) -> TurnRecord:
        """A turn that an unusable answer cost: the game is as it was."""
        proposed = one_line(decision.proposed or decision.action, MAX_COMMAND_LENGTH)
        refused = RefusedCommand(command=proposed, thinking=decision.reasoning, reason=why)
        return self._unchanged(
            state,
            place,
            decision,
            started,
            refused=(*decision.refused, refused),
            response=f"(The game was given nothing: {why})",
        )

    def _undone(
        self, state: GameState, place: Place | None, decision: Decision, why: str, started: float
    ) -> TurnRecord:
        """A turn whose command the engine could not carry out: the game is as it was."""
        return self._unchanged(
            state,
            place,
            decision,
            started,
            command=decision.action,
            refused=decision.refused,
            advice=decision.advice,
            response=f"(The game could not carry this out, and is as it was before: {why})",
            engine_refused=why,
        )

    def _unchanged(
        self,
        state: GameState,
        place: Place | None,
        decision: Decision,
        started: float,
        *,
        command: str = "",
        **rest: Any,  # noqa: ANN401  fields of the record
    ) -> TurnRecord:
        return TurnRecord(
            turn=state.turn_count + 1,
            place=place,
            command=command,
            proposed=decision.proposed,
            thinking=decision.reasoning,
            after=observation_of(self.game.facts()),
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
            snapshot=snapshot_of(self.game),
            **rest,
        )


def log_turn(logger: logging.Logger, step: TurnRecord | FailedTurn) -> None:
    """Write what became of a turn."""
    if isinstance(step, FailedTurn):
        write(logger, f"Not played: {step.failure}", step, logging.WARNING)
        return
    after, answer = step.after, one_line(step.response, 80)
    write(logger, f"{after.room_name}, score {shown(after.score)}: {answer}", step)


def observation_of(facts: Facts) -> Observation:
    """The game's facts in the form that is kept.

    Every name is on one line, so that none can pose as part of a prompt.
    """
    name = one_line(facts.room_name)
    is_told = facts.room_id is not None and facts.score is not None
    return Observation(
        room=None if facts.room_id is None else _place(facts.room_id, facts.room_name),
        score=facts.score,
        max_score=facts.max_score,
        moves=facts.moves,
        inventory=None
        if facts.inventory is None
        else tuple(_named(thing) for thing in facts.inventory),
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
        waits_for=facts.waits_for,
        room_shown=bool(name) and name in one_line(facts.status_line),
        status_line="" if is_told else one_line(facts.status_line),
    )


def snapshot_of(game: Game) -> str:
    """The engine's state as text; empty where it has none."""
    return base64.b64encode(game.snapshot()).decode("ascii")


def return_to(saved: SavedEpisode, game: Game) -> None:
    """Bring ``game`` to where the episode stopped, by its snapshot or else by its commands.

    Raises:
        EpisodeDamagedError: Its log holds no moment of this story.
        SnapshotError: The story's file was replaced, or the same commands lead elsewhere.
    """
    if not game.snapshot():
        _play_again(saved, game)
        return
    try:
        game.restore(saved.snapshot)
    except SnapshotError as error:
        if saved.start.story_sha256 != game.story.sha256:
            raise
        raise saved.damaged_snapshot(str(error)) from error


def _play_again(saved: SavedEpisode, game: Game) -> None:
    """Give a game that has begun the commands of the episode."""
    for turn in saved.steps():
        if not isinstance(turn, TurnRecord) or not turn.command:
            continue
        answer = game.step(turn.command)
        if turn.ended:
            answer = _with_restart(answer, game.start())
        if answer != turn.response:
            raise SnapshotError(
                f"{game.story.title} does not answer {turn.command!r} as it did in turn "
                f"{turn.turn}, so the episode cannot be continued: it depends on more "
                "than seed and commands"
            )


def _with_restart(answer: str, opening: str) -> str:
    return f"{answer}\n\n{RESTARTED}\n\n{opening}"


def _gain(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def _place(room_id: int, name: str | None) -> Place:
    return Place(id=room_id, name=one_line(name or "") or NAMELESS)


def _named(thing: Thing) -> str:
    return one_line(thing_text(thing.name, thing.holder))


def _place_of(state: GameState) -> Place | None:
    if state.observation is None:
        raise RuntimeError("The game has not been started.")
    return state.observation.room
