"""The games being played here: whose they are, how many there may be, and how they go on."""

import math
import secrets
import shutil
import threading
import time
from datetime import UTC, datetime
from typing import NamedTuple

from game_interface.errors import StoryFormatError
from game_server.hosted import HostedGame
from game_server.limits import NAME_CHARACTERS, HostLimits
from mcp_ghost.text import counted, one_line
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.levels import ObservationLevel
from session.record.event_log import EVENTS_FILE
from session.record.folder import episode_folder

MOST_GAMES = 16
"""Open at the same time; the one that nobody has used for the longest time is closed first."""
IDLE_SECONDS = 1800.0
"""After which a game that nobody uses is closed. It can be continued."""


class Guest(NamedTuple):
    """Who calls."""

    name: str
    session: str | None
    """What its calls have in common; None where the protocol has no sessions."""


class Games:
    """Opens, finds and closes games; safe to be used by several threads."""

    def __init__(
        self, config: GameConfiguration, only: str | None = None, limits: HostLimits | None = None
    ) -> None:
        """Offer games.

        Args:
            config: The settings of every game, as far as a guest does not choose.
            only: The name of the only episode that is played here; its settings are fixed.
            limits: Within which guests choose.
        """
        self.config = config
        self.only = only
        self.limits = limits or HostLimits()
        self._begun = 0
        """New games, of those that may be begun."""
        self._lock = threading.Lock()
        self._open: dict[str, HostedGame] = {}
        self._current: dict[str, str] = {}
        """Session -> the name of its game."""

    @property
    def offer(self) -> str:
        """What a guest needs to know before it begins a game."""
        if self.only:
            return "Only one game is played here: leave out all arguments."
        return self.limits.described(self.config.story)

    def new(
        self, guest: Guest, story: str | None, seed: int | None, level: ObservationLevel | None
    ) -> HostedGame:
        """Return a new game that has begun, as close to the guest's wishes as the host allows.

        Raises:
            ConfigurationError, GameError: There can be none like this.
        """
        wishes = {"story": story, "seed": seed, "observation_level": level}
        if self.only:
            for name, wish in wishes.items():
                offered = getattr(self.config, name)
                if wish not in (None, offered):
                    raise ConfigurationError(
                        f"Only one game is played here, with the {name.replace('_', ' ')} "
                        f"{offered}: call new_game without arguments."
                    )
            return self.find(guest, None)
        most = self.limits.games
        granted = self.limits.granted(story, seed, level, self.config.story)
        settings = self.config.model_dump(exclude_unset=True)
        config = type(self.config).model_validate({**settings, **granted})
        with self._lock:
            if most is not None and self._begun >= most:
                raise ConfigurationError(
                    f"The host allows {counted(most, 'new game')} and no more: continue one that "
                    "you have started."
                )
            self._begun += 1
        try:
            return self._opened(guest, new_name(), config)
        except BaseException as error:  # interrupted, too: it did not begin
            with self._lock:
                self._begun -= 1
            if story is not None and isinstance(error, StoryFormatError):
                name = one_line(story, NAME_CHARACTERS)
                raise ConfigurationError(f"'{name}' is not a story that can be played.") from error
            raise

    def find(self, guest: Guest, name: str | None, *, to_play: bool = False) -> HostedGame:
        """Find the game of that name, or the guest's own; one that was left is resumed.

        ``to_play``: so is one that was named and has ended, where it can go on.

        Raises:
            ConfigurationError: There is none.
        """
        named = self.only or name or self._game_of(guest)
        with self._lock:
            game = self._open.get(named)
            if game and to_play and game.can_go_on and name and not self.only:
                self._open.pop(named).close()
            elif game:
                self._turn_to(guest, named)
                return game
        known = (episode_folder(self.config, named, resume=True) / EVENTS_FILE).is_file()
        if not known and not self.only:
            raise ConfigurationError(f"There is no episode to resume called '{named}'.")
        return self._opened(guest, named, self.config, resume=known)

    @property
    def playing(self) -> HostedGame | None:
        """The only game, once it has begun."""
        with self._lock:
            return self._open.get(self.only or "")

    def leave(self, session: str) -> None:
        """Close what was played in a session."""
        with self._lock:
            game = self._open.pop(self._current.pop(session, ""), None)
        if game:
            game.leave()

    def close_idle(self) -> None:
        """Close the games that have not been used for a while."""
        self._leave_unused_since(time.monotonic() - IDLE_SECONDS)

    def close(self) -> None:
        """Close all."""
        self._leave_unused_since(math.inf)

    def _leave_unused_since(self, moment: float) -> None:
        with self._lock:
            unused = [game for game in self._open.values() if game.used < moment]
            self._forget(unused)
        for game in unused:
            game.leave()

    def _opened(
        self, guest: Guest, name: str, config: GameConfiguration, *, resume: bool = False
    ) -> HostedGame:
        with self._lock:
            if game := self._open.get(name):  # which two calls at once asked for
                return game
            game = HostedGame(name, config, guest.name, resume=resume, others_follow=not self.only)
            most, level = self.limits.level, game.config.observation_level
            if most and not most.reaches(level):  # it began in another run of the server
                game.close()
                raise ConfigurationError(
                    f"{name} was started at the level {level}, and the host limits the level to "
                    f"{most}: call new_game to start another."
                )
            by_use = sorted(self._open.values(), key=lambda it: it.used)
            excess = by_use[: max(0, len(by_use) + 1 - MOST_GAMES)]
            self._forget(excess)
            self._open[game.name] = game
            self._turn_to(guest, name, new=not resume)
        for one in excess:
            one.leave()
        try:
            game.begin()
        except BaseException:  # interrupted, too: nobody else would close it
            with self._lock:
                self._forget([game])
            game.leave()
            if not resume:  # a log without a beginning could be neither shown nor resumed
                shutil.rmtree(game.folder, ignore_errors=True)
            raise
        return game

    def _turn_to(self, guest: Guest, name: str, *, new: bool = False) -> None:
        """Make it the guest's game, unless it is old and the guest is playing another."""
        if guest.session is not None:
            current = self._open.get(self._current.get(guest.session, ""))
            if new or current is None or current.ended:
                self._current[guest.session] = name

    def _forget(self, games: list[HostedGame]) -> None:
        names = {game.name for game in games}
        self._open = {name: it for name, it in self._open.items() if name not in names}
        self._current = {key: name for key, name in self._current.items() if name not in names}

    def _game_of(self, guest: Guest) -> str:
        with self._lock:
            mine = self._current.get(guest.session or "")
            if guest.session is None:  # all that is known of whose they are
                theirs = [it for it in self._open.values() if it.guest == guest.name]
                names = [it.name for it in theirs if not it.ended]
                names = names or [it.name for it in theirs[-1:]]
                if len(names) > 1:
                    raise ConfigurationError(
                        f"Several games are being played here: give the name of yours as `game` "
                        f"({', '.join(names)})."
                    )
                mine = names[0] if names else None
        if mine is None:
            raise ConfigurationError(
                "No game is being played here: call new_game first, or give the name of an "
                "earlier one as `game`."
            )
        return mine


def new_name() -> str:
    """Return a name for an episode that no other has, even one that began in the same second."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
    return f"{now}-{secrets.token_hex(3)}"
