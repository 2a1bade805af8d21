"""One game that a guest plays and of which nothing is written: for training and tree search."""

import base64
import zlib
from typing import Final

from pydantic import BaseModel, ConfigDict, NonNegativeInt

from game_interface import open_game
from game_interface.errors import SnapshotError
from game_server.reply import GuestReply, RefusedError, reply_of, words_of
from orchestration.boundary import Boundary
from orchestration.endings import Endings
from orchestration.turn import TurnPlayer, observation_of, snapshot_of
from players.guest import GuestPlayer
from players.player import Player
from session.game_configuration import GameConfiguration
from session.game_state import EndReason, FailedTurn, GameState, Observation, Situation, TurnRecord
from session.knowledge import CarriedOver
from session.perception.perception import Perception
from session.playing import GUEST

_FORMAT: Final = b"zorkgpt-state 2"
_MOST_BYTES: Final = 2**25


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
        self._boundary = Boundary(self._config.observation_level, "")
        self.game_state = GameState("")
        self._turns = TurnPlayer(self._game, self._guest, self._config, self._boundary)
        self._endings = Endings(self._config, self.game_state)

    @property
    def ended(self) -> bool:
        """Whether it takes no more commands."""
        return self.game_state.game_over

    def begin(self, seed: int | None = None) -> GuestReply:
        """Start the game, or start it again; its first words.

        Raises:
            GameError: It cannot begin.
        """
        self._set_up()
        opening = self._game.start(seed)
        seen = observation_of(self._game.facts())
        self.game_state.begin(opening, seen)
        self._boundary.begin(Player(), opening, seen, CarriedOver())
        if self._game.is_over:
            self.game_state.end_reason = EndReason.GAME_OVER
        return self._reply("\n\n".join([*self._notices, opening]))

    def command(self, text: str) -> GuestReply:
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
        return self._reply(words_of(self._boundary.state.history[-1]))

    def status(self) -> GuestReply:
        """Return the facts of the moment."""
        return self._reply("")

    def state(self) -> bytes:
        """Save this moment, from which `restore` continues.

        The layout is a line of text with format and version, then compressed JSON.

        Raises:
            SnapshotError: Of such a game there is none.
        """
        told = self._boundary.state
        snapshot, seen = snapshot_of(self._game), told.observation
        if not snapshot:
            raise SnapshotError(f"{self._game.story.name} has no state that can be saved")
        moment = _SavedGame(
            snapshot=snapshot,
            perception=self._boundary.perception,
            counts=_Counts.model_validate(self.game_state),
            seen=seen,
            latest=told.history[-1].model_copy(update={"snapshot": ""}) if told.history else None,
        )
        return _FORMAT + b"\n" + zlib.compress(moment.model_dump_json().encode())

    def restore(self, data: bytes) -> GuestReply:
        """Continue from a moment, of this process or another; what was told last.

        Raises:
            SnapshotError: It is damaged, of another story or of another level; nothing changed.
        """
        data = data if isinstance(data, bytes | bytearray) else b""  # whatever else is no state
        kind, _, compressed = data.partition(b"\n")
        if kind != _FORMAT:
            raise SnapshotError("this is not a state of this version of the environment")
        unpacker = zlib.decompressobj()
        try:
            moment = _SavedGame.model_validate_json(unpacker.decompress(compressed, _MOST_BYTES))
            snapshot = base64.b64decode(moment.snapshot, validate=True)
        except (zlib.error, ValueError) as error:
            raise SnapshotError("the state is damaged") from error
        if not unpacker.eof:
            raise SnapshotError("the state is damaged")
        level = self._config.observation_level
        if moment.perception.level is not level:
            raise SnapshotError(
                f"the state is of a game at the level {moment.perception.level}, and this one is "
                f"played at {level}"
            )
        self._game.restore(snapshot)
        for name, count in moment.counts:
            setattr(self.game_state, name, count)
        self.game_state.observation = observation_of(self._game.facts())
        boundary, counts, latest = self._boundary, moment.counts, moment.latest
        boundary.perception, boundary.state = moment.perception, GameState("")
        boundary.state.begin(counts.last_response, moment.seen)
        boundary.state.turn_count, boundary.state.deaths = counts.turn_count, counts.deaths
        if latest:
            boundary.state.history.append(latest)
        return self._reply(words_of(latest) if latest else counts.last_response)

    def leave(self) -> None:
        """Close the game."""
        self._game.close()

    def _reply(self, text: str) -> GuestReply:
        level = self._config.observation_level
        return reply_of(text, level, self._boundary.state, self.game_state.end_reason)


class _Counts(BaseModel):
    """What a `GameState` counts and compares to find the end of an episode."""

    model_config = ConfigDict(from_attributes=True)

    turn_count: NonNegativeInt
    last_action: str | None
    last_response: str
    deaths: int | None
    turns_without_news: NonNegativeInt
    turns_with_one_answer: NonNegativeInt
    refused_in_a_row: NonNegativeInt
    end_reason: EndReason | None
    best_score: int
    situations: set[Situation]


class _SavedGame(BaseModel):
    """All that the next step of a game depends on, between two commands."""

    snapshot: str
    """The engine's state, base64."""
    perception: Perception
    counts: _Counts
    seen: Observation
    """As it was told."""
    latest: TurnRecord | None
    """The latest turn, as it was told, without its snapshot."""
