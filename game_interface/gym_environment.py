"""A Gymnasium environment of text, played like a story.

It tells what it likes in `info`: these names are understood, and whatever is missing is unknown:
`score`, `max_score`, `moves`, `deaths` (whole numbers), `room` or `location` (a name), `inventory`
(a list of names), `died` and `won` (true or false). Rewards are not taken for a score.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping
from hashlib import sha256
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from game_interface.command_guard import validate_command
from game_interface.engines.engine import MAX_SEED
from game_interface.errors import (
    EngineStoppedError,
    EngineUnavailableError,
    GameError,
    GameOverError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
    StoryNotFoundError,
)
from game_interface.machine.facts import Facts, Thing
from game_interface.machine.vocabulary import Vocabulary
from game_interface.story import StoryInfo
from mcp_ghost.text import one_line

if TYPE_CHECKING:
    from gymnasium import Env


class GymGame:
    """One environment, in this process; it has no snapshots."""

    engine_name = "gymnasium"
    vocabulary = Vocabulary.unknown()

    def __init__(self, name: str, seed: int | None = None) -> None:
        """Make the environment `gym:ID` or `gym:MODULE:ID`; with a seed of None one is drawn.

        Raises: EngineUnavailableError, StoryNotFoundError, StoryFormatError.
        """
        wanted = name.partition(":")[2]
        self._env = _made(wanted)
        self.seed = 1 + secrets.randbelow(MAX_SEED) if seed is None else seed
        self.story = StoryInfo(
            name=name,
            title=wanted,
            path=Path(name),
            sha256=sha256(name.encode()).hexdigest(),
            release=0,
            serial="",
            max_score=None,
            profiled=False,
        )
        self._facts: Facts | None = None
        self._given = sha256()
        """The commands so far: of an unknown world, it is not known that it is as it was."""
        self._over = False
        self._died: bool | None = None

    @property
    def is_over(self) -> bool:
        """Whether the environment has ended the game, or cut it off."""
        return self._over

    @property
    def died_in_last_step(self) -> bool | None:
        """What it tells of that."""
        return self._died

    def start(self, seed: int | None = None) -> str:
        """Begin (again), with the same seed unless another is given.

        Raises: StoryFormatError when it is not played in text; EngineStoppedError when it fails.
        """
        self._given, self._over = sha256(), False
        self.seed = self.seed if seed is None else seed
        self._refuse_other_actions()
        try:
            text, info = self._env.reset(seed=self.seed)
        except Exception as error:  # somebody else's code
            raise EngineStoppedError(f"{self.story.name} cannot start: {_named(error)}") from error
        return self._taken_in(text, info, at_start=True)

    def step(self, command: str) -> str:
        """Give it a command; its answer.

        Raises: InvalidCommandError, GameOverError; EngineStoppedError when it fails.
        """
        self.facts()
        if self._over:
            raise GameOverError("the game is over; start a new one")
        given = self._valid(command)
        self._given.update(f"{given}\n".encode())
        try:
            text, _, terminated, truncated, info = self._env.step(given)
        except Exception as error:  # somebody else's code
            raise EngineStoppedError(
                f"{self.story.name} failed at {given!r}: {_named(error)}"
            ) from error
        self._over = bool(terminated or truncated)
        return self._taken_in(text, info)

    def facts(self) -> Facts:
        """What it has told of this moment."""
        if self._facts is None:
            raise GameError("the game has not begun: call start() first")
        return self._facts

    def snapshot(self) -> None:
        """There is none: the same commands lead here again."""

    def restore(self, data: bytes) -> None:
        """Refuse: there are no snapshots.

        Raises: SnapshotError.
        """
        raise SnapshotError(f"{self.story.name} cannot be continued from a snapshot")

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _refuse_other_actions(self) -> None:
        """Refuse what Gymnasium itself knows not to be text; of a space of its own, nobody can."""
        from gymnasium import spaces

        numbers = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)
        composed = (spaces.Dict, spaces.Graph, spaces.OneOf, spaces.Sequence, spaces.Tuple)
        if isinstance(self._actions, numbers + composed):
            raise StoryFormatError(
                f"{self.story.name} cannot be played: its actions are not text, but "
                f"{one_line(self._actions)}"
            )

    @property
    def _actions(self) -> object:
        """The space of its actions; None where it declares none."""
        return getattr(self._env, "action_space", None)

    def _valid(self, command: str) -> str:
        from gymnasium.spaces import Text

        given, space = validate_command(command), self._actions
        if isinstance(space, Text) and not space.contains(given):
            raise InvalidCommandError(
                f"{self.story.name} takes commands of {space.min_length} to {space.max_length} "
                f"characters out of {space.characters!r}"
            )
        return given

    def _taken_in(self, text: object, info: Mapping[str, Any], *, at_start: bool = False) -> str:
        if not isinstance(text, str):
            raise StoryFormatError(
                f"{self.story.name} cannot be played: it gives {type(text).__name__}, not text"
            )
        died = info.get("died", False if at_start else None)
        self._died = None if died is None else bool(died)
        self._facts = self._told(info)
        return text.strip("\n")

    def _told(self, info: Mapping[str, Any]) -> Facts:
        room = str(info.get("room") or info.get("location") or "")
        carried = info.get("inventory")
        has_list = isinstance(carried, list | tuple)
        return Facts(
            room_id=-1 - zlib.crc32(room.encode()) if room else None,
            room_name=room,
            score=_whole(info.get("score")),
            max_score=_whole(info.get("max_score")),
            moves=_whole(info.get("moves")),
            inventory=tuple(Thing(0, str(it)) for it in carried or ()) if has_list else None,
            visible=(),
            exits=(),
            dark=False,
            deaths=_whole(info.get("deaths")),
            dead=self._over and bool(self._died),
            won=self._over and bool(info.get("won")),
            world_hash=self._given.hexdigest(),
            status_line=room,
        )


def _made(wanted: str) -> Env[Any, Any]:
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise EngineUnavailableError(
            "Gymnasium is not installed: run `uv sync --extra gym` to play its environments"
        ) from error
    try:
        return gymnasium.make(wanted, disable_env_checker=True)
    except (gymnasium.error.Error, ImportError) as error:
        raise StoryNotFoundError(
            f"there is no environment {wanted!r} ({error}); to import the module that "
            "registers it, write gym:MODULE:ID"
        ) from error
    except Exception as error:  # somebody else's code
        raise StoryFormatError(f"gym:{wanted} cannot be made: {_named(error)}") from error


def _named(error: Exception) -> str:
    """What went wrong in somebody else's code; some errors say little without their names."""
    return f"{type(error).__name__}: {error}"


def _whole(value: object) -> int | None:
    """A number without a fraction; anything else is not known."""
    is_whole = isinstance(value, Real) and not isinstance(value, bool) and float(value) % 1 == 0
    return int(value) if is_whole else None  # type: ignore[call-overload]  # a Real
