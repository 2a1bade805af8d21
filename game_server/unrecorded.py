"""One game that a guest plays and of which nothing is written: for training and tree search."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

from game_interface import open_game
from game_interface.errors import SnapshotError
from game_server.position import Counted, Learned, Position
from game_server.told import RefusedError, Told, told, words_of
from orchestration.boundary import Boundary
from orchestration.endings import Endings
from orchestration.turn import TurnPlayer, observation_of, snapshot_of
from players.guest import GuestPlayer
from session.game_state import FailedTurn, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Reflection
from session.playing import GUEST

if TYPE_CHECKING:
    from session.game_configuration import GameConfiguration
    from session.levels import ObservationLevel


class UnrecordedGame:
    """Plays turns by the rules of an episode, as `HostedGame` does, without its log and parts."""

    def __init__(self, config: GameConfiguration) -> None:
        """Open the game.

        Raises:
            GameError: It cannot be played.
        """
        self._config = config = config.model_copy(update={"player_name": GUEST})
        self._notices: list[str] = []
        self._game = open_game(
            config.story,
            seed=config.seed,
            engine=config.engine,
            on_notice=self._notices.append,
            turn_timeout_seconds=config.turn_timeout_seconds,
            interpreter_path=config.interpreter_path,
        )
        self._guest = GuestPlayer("")
        self._set_up()

    def _set_up(self) -> None:
        self._boundary = _Boundary(self._config.observation_level)
        self.game_state = GameState("")
        self._turns = TurnPlayer(self._game, self._guest, self._config, self._boundary)
        self._endings = Endings(self._config, self.game_state)

    @property
    def ended(self) -> bool:
        """Whether it takes no more commands."""
        return self.game_state.game_over

    def begin(self, seed: int | None = None) -> Told:
        """Start the game, or start it again; its first words.

        Raises:
            GameError: It cannot begin.
        """
        self._set_up()
        opening = self._game.start(seed)
        seen = observation_of(self._game.facts())
        self.game_state.begin(opening, seen)
        self._boundary.begin(None, opening, seen, CarriedOver())
        return self._told("\n\n".join([*self._notices, opening]))

    def command(self, text: str) -> Told:
        """Give the game a command; what it answers.

        Raises:
            RefusedError: It was not given to the game.
        """
        self._guest.said = text
        step = self._turns.play(self.game_state)
        if isinstance(step, FailedTurn):
            self.game_state.end_reason = self._endings.given_up(step, has_answered=True)
            raise RefusedError(step.failure)
        self._boundary.take_in(step)
        self.game_state.apply(step)
        self.game_state.end_reason = self._endings.after(step)
        return self._told(words_of(self._boundary.state.history[-1]))

    def status(self) -> Told:
        """What is known now."""
        return self._told("")

    def state(self) -> bytes:
        """This moment, from which `restore` continues.

        Raises:
            SnapshotError: Of such a game there is none.
        """
        told_state = self._boundary.state
        snapshot, seen = snapshot_of(self._game), told_state.observation
        if not snapshot or seen is None:
            raise SnapshotError(f"{self._game.story.name} has no state that can be saved")
        latest = told_state.history[-1] if told_state.history else None
        return Position(
            level=self._config.observation_level,
            snapshot=snapshot,
            learned=self._boundary.learned(),
            counted=Counted.of(self.game_state),
            seen=seen,
            latest=latest and latest.model_copy(update={"snapshot": ""}),
        ).packed()

    def restore(self, data: bytes) -> Told:
        """Continue from a moment, of this process or another; what was told last.

        Raises:
            SnapshotError: It is damaged, of another story or of another level; nothing changed.
        """
        position = Position.unpacked(data)
        if position.level is not self._config.observation_level:
            raise SnapshotError(
                f"the state is of a game at the level {position.level}, and this one is played at "
                f"{self._config.observation_level}"
            )
        try:
            snapshot = base64.b64decode(position.snapshot, validate=True)
        except binascii.Error as error:
            raise SnapshotError("the state is damaged") from error
        self._game.restore(snapshot)
        position.counted.put_into(self.game_state)
        self.game_state.observation = observation_of(self._game.facts())
        self._boundary.restore(position)
        latest = position.latest
        return self._told(words_of(latest) if latest else position.counted.last_response)

    def leave(self) -> None:
        """Close the game."""
        self._game.close()

    def _told(self, text: str) -> Told:
        level = self._config.observation_level
        return told(text, level, self._boundary.state, self.game_state.end_reason)


class _Nobody:
    """Learns nothing, where an episode has a mind."""

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn nothing."""

    def take_in(self, step: TurnRecord | Reflection) -> None:
        """Learn nothing."""


class _Boundary(Boundary):
    """A boundary behind which nobody learns, and which can be brought back to a moment."""

    def __init__(self, level: ObservationLevel) -> None:
        super().__init__(level, _Nobody(), "")

    def learned(self) -> Learned:
        """What the game has told so far."""
        return Learned.of(self._perception)

    def restore(self, position: Position) -> None:
        """Make what was told up to that moment all that was ever told."""
        position.learned.put_into(self._perception)
        counted, self.state = position.counted, GameState("")
        self.state.begin(counted.last_response, position.seen)
        self.state.turn_count, self.state.deaths = counted.turn_count, counted.deaths
        if position.latest:
            self.state.history.append(position.latest)
