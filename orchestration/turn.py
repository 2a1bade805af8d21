"""The turn as named steps: tell, decide, act, record."""

import base64
import re
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from game_interface import Facts, Game, Thing
from game_interface.command_guard import MAX_COMMAND_LENGTH, validate_command
from game_interface.errors import (
    EngineError,
    EngineStoppedError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
)
from mcp_ghost.text import one_line
from orchestration.boundary import Boundary
from players.player import Player
from session.game_state import (
    NAMELESS,
    Decision,
    ExitSeen,
    FailedTurn,
    GameState,
    Observation,
    Place,
    RefusedCommand,
    ThingSeen,
    TurnRecord,
)
from session.perception.printed import says
from session.playing import PlayingSettings

if TYPE_CHECKING:
    from session.record.resume import SavedEpisode


RESTARTED = "* Restarting *"
"""Between the last words of a game and the first ones of the next."""
_RESTORE = re.compile(r"restore (?:turn )?([0-9]{1,9})|restart", re.IGNORECASE)


@dataclass(frozen=True)
class TurnPlayer:
    """Plays one turn after the other."""

    game: Game
    player: Player
    rules: PlayingSettings
    boundary: Boundary
    moments: list[tuple[str, str]] = field(default_factory=list)
    """Before each turn, where the rules let the player take the game back: what the game had said,
    and its snapshot as text."""

    def play(self, state: GameState) -> TurnRecord | FailedTurn:
        """Play one turn, from what is known to the record of the outcome.

        Without a usable answer the game is given nothing: any command would be a move. A command at
        which the engine fails is undone, and the player is told so.
        """
        started = time.perf_counter()
        facts = self.boundary.facts(self.game.facts(), self.game.vocabulary)
        decision = self._decision(facts)
        recorded = partial(self._recorded, state, decision, started)
        if self.rules.rules_restore and (wanted := _RESTORE.fullmatch(decision.proposed.strip())):
            turn, count = int(wanted[1] or 1), len(self.moments)
            text, snapshot = self.moments[turn - 1] if 1 <= turn <= count else ("", "")
            if snapshot:
                self.game.restore(base64.b64decode(snapshot))
                return recorded(
                    command=decision.proposed.strip(),
                    response=f"(The game is as it was before turn {turn}.)\n\n{text}",
                    ended=state.observation,
                    restored=turn,
                )
            why = f"the game cannot go back to before turn {turn}; turns so far: {count}."
            decision = replace(decision, failure=why)
        failure, of_the_game = decision.failure, False
        if not failure:
            try:
                # Checked here, too: the game itself would answer a line where it waits for a key.
                response = self.game.step(validate_command(decision.action, facts.waits_for))
            except InvalidCommandError as error:
                failure = f"The command '{decision.action}' cannot be played: {error}"
                decision = replace(decision, unplayable=True)
            except EngineStoppedError as error:
                failure, of_the_game = str(error), True
            except (EngineError, StoryFormatError) as error:
                why = str(error)
                return recorded(
                    command=decision.action,
                    refused=decision.refused,
                    advice=decision.advice,
                    response=f"(The game could not carry this out, and is as it was before: {why})",
                    engine_refused=why,
                )
            else:
                return recorded(**self._played(state, decision, response))
        if decision.answered and self.rules.rules_unusable_answer == "turn" and not of_the_game:
            proposed = one_line(decision.proposed or decision.action, MAX_COMMAND_LENGTH)
            refused = RefusedCommand(command=proposed, thinking=decision.reasoning, reason=failure)
            return recorded(
                command="",
                refused=(*decision.refused, refused),
                response=f"(The game was given nothing: {failure})",
            )
        return FailedTurn(
            turn=state.turn_count + 1,
            failure=failure,
            proposed=decision.proposed,
            incurable=decision.incurable,
            of_the_game=of_the_game,
            unplayable=decision.unplayable,
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
        )

    def _decision(self, facts: Facts) -> Decision:
        """Return what the player decides, under the rule for a line of several commands."""
        decision, vocabulary = self.player.decide(self.boundary.state, facts), self.game.vocabulary
        line, rule = decision.action, self.rules.rules_several_commands
        if decision.failure:
            return decision
        if rule == "refuse" and (commands := vocabulary.commands_in(line)) > 1:
            failure = f"'{line}' is {commands} commands, and a turn takes one."
            return replace(decision, failure=failure)
        if rule != "cut" or (first := vocabulary.first_command(line)) == line:
            return decision
        told = f'The game was given only the first command of "{one_line(line)}".'
        advice = f"{told} {decision.advice}" if decision.advice else told
        return replace(decision, action=first, advice=advice)

    def _played(self, state: GameState, decision: Decision, response: str) -> dict[str, Any]:
        """Return what came of a command of the game, which is restarted if the rules say so."""
        facts, game = self.game.facts(), self.game
        after, died, over, ended = observation_of(facts), game.died_in_last_step, game.is_over, None
        best = max(state.best_score, facts.score or 0)
        won_all = facts.won and best >= (facts.max_score or best)
        if self.rules.rules_after_death == "restart" and (died or over) and not won_all:
            ended, response = after, _with_restart(response, game.start())
            after, over = observation_of(game.facts()), game.is_over
        known = state.score is not None and facts.score is not None
        return {
            **{name: getattr(decision, name) for name in decision.NOTES},
            "command": decision.action,
            "refused": decision.refused,
            "advice": decision.advice,
            "response": response,
            "scored": (facts.score or 0) - (state.score or 0) if known else None,
            "after": after,
            "ended": ended,
            "died": died,
            "won": facts.won,
            "over": over,
        }

    def _recorded(
        self,
        state: GameState,
        decision: Decision,
        started: float,
        **outcome: Any,  # noqa: ANN401  fields of the record
    ) -> TurnRecord:
        """Return the record of a turn; without ``after``, the game is as it was."""
        if "after" not in outcome:
            outcome["after"] = observation_of(self.game.facts())
        return TurnRecord(
            turn=state.turn_count + 1,
            place=state.observation.room,
            proposed=decision.proposed,
            thinking=decision.reasoning,
            tools=decision.tools,
            usage=decision.usage,
            seconds=_since(started),
            snapshot=snapshot_of(self.game),
            **outcome,
        )


def observation_of(facts: Facts) -> Observation:
    """Return the game's facts in the form that is kept.

    Every name is on one line, so that none can pose as part of a prompt.
    """
    is_told = facts.room_name != "" and facts.score is not None
    carried = facts.inventory
    return Observation(
        room=_place(facts.room_id, facts.room_name),
        score=facts.score,
        max_score=facts.max_score,
        moves=facts.moves,
        inventory=None if carried is None else tuple(_seen(thing) for thing in carried),
        visible=tuple(_seen(thing) for thing in facts.visible),
        exits=tuple(
            ExitSeen(
                direction=way.direction,
                kind=way.kind,
                note=one_line(way.note) if way.note else None,
                room=_place(way.room_id, way.room_name),
            )
            for way in facts.exits
        ),
        dark=facts.dark,
        world_hash=facts.world_hash,
        waits_for=facts.waits_for,
        room_shown=says(facts.status_line, facts.room_name),
        status_line="" if is_told else one_line(facts.status_line),
    )


def snapshot_of(game: Game) -> str:
    """Return the engine's state as text; empty where it has none."""
    return base64.b64encode(game.snapshot()).decode("ascii")


def return_to(saved: "SavedEpisode", game: Game) -> None:
    """Bring ``game`` to where the episode stopped, by its snapshot or else by its commands.

    Raises:
        EpisodeDamagedError: Its log holds no moment of this story.
        SnapshotError: The story's file was replaced, or the same commands lead elsewhere.
    """
    if game.snapshot():
        try:
            game.restore(saved.snapshot)
        except SnapshotError as error:
            if saved.start.story_sha256 != game.story.sha256:
                raise
            raise saved.damaged_snapshot(str(error)) from error
        return
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


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 4)


def _place(room_id: int | None, name: str | None) -> Place | None:
    return None if room_id is None else Place(id=room_id, name=one_line(name or "") or NAMELESS)


def _seen(thing: Thing) -> ThingSeen:
    return ThingSeen(one_line(thing.name), one_line(thing.holder) if thing.holder else None)
