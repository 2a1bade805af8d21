"""One game that a guest plays: an episode like any other, a turn at a time."""

import threading
import time

from game_interface import Game
from game_server.reply import GuestReply, RefusedError, reply_of, words_of
from managers.context_manager import ContextManager
from mcp_ghost.text import counted
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from players.guest import GuestPlayer
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.game_state import EndReason, FailedTurn, TurnRecord
from session.playing import GUEST
from session.record.schema import Step

_CLOSING_SECONDS = 2.0
"""For a command that is being played when the game is closed."""
_TO_BE_CONTINUED = {
    EndReason.STALLED,
    EndReason.ENGINE_REFUSED,
    EndReason.ENGINE_FAILED,
    EndReason.ABORTED,
}


class HostedGame(ZorkOrchestratorV2):
    """Plays what a guest says; safe to be used by several threads."""

    def __init__(
        self,
        name: str,
        config: GameConfiguration,
        guest: str,
        *,
        resume: bool = False,
        others_follow: bool = True,
    ) -> None:
        """Wire the episode; ``others_follow`` says whether the guest may begin another.

        Raises:
            ConfigurationError: It cannot be played so, or not by a guest.
        """
        self.used = time.monotonic()
        """When a guest last asked for something."""
        self._guest = GuestPlayer(guest)
        self._others_follow = others_follow
        self._notices: list[str] = []
        self._failed: FailedTurn | None = None
        self._lock = threading.Lock()
        super().__init__(name, config.model_copy(update={"player_name": GUEST}), resume=resume)
        if self.config.player_name != GUEST:
            self.close()
            raise ConfigurationError(
                f"{name} was not started by a client of this server: continue it with "
                f"`uv run python main.py --resume {name}`."
            )
        self._context = ContextManager(self.mind.config, self.mind.transcript)

    @property
    def name(self) -> str:
        """The name of the episode."""
        return self.folder.name

    @property
    def guest(self) -> str:
        """Who plays."""
        return self._guest.model

    @property
    def ended(self) -> bool:
        """Whether it takes no more commands."""
        return self.game_state.game_over

    @property
    def can_go_on(self) -> bool:
        """Whether it has ended, and would not end again as soon as it is continued."""
        return self.game_state.end_reason in _TO_BE_CONTINUED

    def begin(self) -> GuestReply:
        """Start the game, or continue it; the latest words and facts.

        Raises:
            GameError, ConfigurationError: It cannot be played.
        """
        with self._lock:
            if self._turns is None and not self.ended:
                self._start()
                self._close_if_ended()
            return self._reply("\n\n".join([*self._notices, self._boundary.state.last_response]))

    def command(self, text: str) -> GuestReply:
        """Give the game a command; what it answers.

        Raises:
            RefusedError: It was not given to the game.
        """
        self.begin()
        with self._lock:
            if self.ended:
                turns = counted(self.game_state.turn_count, "turn")
                raise RefusedError(
                    f"The episode has ended after {turns} ({self.game_state.end_reason})"
                    + (": new_game starts another." if self._others_follow else ".")
                )
            self._guest.said, self._failed = text, None
            self._process_turn()
            self._close_if_ended()
            if self._failed:
                raise RefusedError(self._failed.failure)
            return self._reply(words_of(self._guest.turns[-1]))

    def status(self) -> GuestReply:
        """Return the facts of the moment."""
        self.begin()
        with self._lock:
            return self._reply("")

    def history(self, most: int, before: int | None) -> list[TurnRecord]:
        """Return the latest turns, as they were told; those before turn ``before``."""
        self.begin()
        with self._lock:
            until = len(self._guest.turns) if before is None else max(0, before - 1)
            return self._guest.turns[max(0, until - most) : until]

    @property
    def opening(self) -> str:
        """The first words of the game."""
        return self._boundary.state.opening

    def leave(self, why: EndReason = EndReason.ABORTED) -> None:
        """End the engine and the log; the episode can be continued."""
        got_it = self._lock.acquire(timeout=_CLOSING_SECONDS)
        try:
            if got_it and self._turns and not self.ended:
                self._end(why)
            self.close()
        finally:
            if got_it:
                self._lock.release()

    def _reply(self, text: str) -> GuestReply:
        self.used = time.monotonic()
        state, level = self._boundary.state, self.config.observation_level
        situation = "\n".join(self._context.situation(state))
        return reply_of(text, level, state, self.game_state.end_reason, situation)

    def _close_if_ended(self) -> None:
        if reason := self.game_state.end_reason:
            self._end(reason)
            self.close()

    def _choose_player(self, game: Game) -> GuestPlayer:
        return self._guest

    def _take_in(self, step: Step) -> None:
        super()._take_in(step)
        self._failed = step if isinstance(step, FailedTurn) else None

    def _notice(self, message: str) -> None:
        super()._notice(message)
        self._notices.append(message)
