"""The turn as named steps: tell, decide, act, record."""

from __future__ import annotations

import base64
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from game_interface.errors import EngineError, InvalidCommandError, SnapshotError, StoryFormatError
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

if TYPE_CHECKING:
    from game_interface import Facts, Game, Thing
    from players.player import Player
    from session.record.resume import SavedEpisode
    from zork_agent import Decision

_NAMELESS = "Unnamed place"
"""Where the game is somewhere without a name."""


@dataclass(frozen=True)
class TurnPlayer:
    """Plays one turn after the other."""

    game: Game
    player: Player

    def play(self, state: GameState) -> TurnRecord | FailedTurn:
        """One turn, from what is known to the record of the outcome.

        Without a usable answer the game is given nothing: any command would be a move. Where the
        game fails at a command, it stands as before it.
        """
        started = time.perf_counter()
        place = _place_of(state)
        decision = self.player.decide(state, self.game.facts())
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
                usage=decision.usage,
                seconds=_since(started),
            )
        return self._record(state, place, decision, response, started)

    def _record(
        self,
        state: GameState,
        place: Place | None,
        decision: Decision,
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
            advice=decision.advice,
            response=response,
            scored=_gain(state.score, facts.score),
            after=observation_of(facts),
            died=self.game.died_in_last_step,
            won=facts.won,
            over=self.game.is_over,
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
            snapshot=snapshot_of(self.game),
        )


def observation_of(facts: Facts) -> Observation:
    """The game's facts in the form that is kept.

    Every name is on one line, so that none can pose as part of a prompt.
    """
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


def _gain(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def _place(room_id: int, name: str | None) -> Place:
    return Place(id=room_id, name=one_line(name or "") or _NAMELESS)


def _named(thing: Thing) -> str:
    return one_line(thing_text(thing.name, thing.holder))


def _place_of(state: GameState) -> Place | None:
    if state.observation is None:
        raise RuntimeError("The game has not been started.")
    return state.observation.room
