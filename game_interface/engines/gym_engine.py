"""A Gymnasium environment of text, played like a story.

It tells what it likes in `info`: these names are understood, and whatever is missing is unknown:
`score`, `max_score`, `moves`, `deaths` (whole numbers), `room` or `location` (a name), `inventory`
(a list of names), `died` and `won` (true or false). Rewards are not taken for a score.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from hashlib import sha256
from numbers import Real
from typing import TYPE_CHECKING, Any

from game_interface.engines.engine import EngineName, Reply
from game_interface.errors import (
    EngineStoppedError,
    EngineUnavailableError,
    InvalidCommandError,
    SnapshotError,
    StoryFormatError,
    StoryNotFoundError,
)
from game_interface.machine.facts import Facts, Thing
from mcp_ghost.text import one_line

if TYPE_CHECKING:
    from gymnasium import Env


class GymEngine:
    """One environment, in this process. It has no states: only the same commands lead back."""

    name: EngineName = "gymnasium"

    def __init__(self, name: str) -> None:
        """Make the environment `gym:ID` or `gym:MODULE:ID`.

        Raises: EngineUnavailableError, StoryNotFoundError, StoryFormatError.
        """
        self._name = name
        wanted = name.partition(":")[2]
        try:
            import gymnasium
        except ModuleNotFoundError as error:
            raise EngineUnavailableError(
                "Gymnasium is not installed: run `uv sync --extra gym` to play its environments"
            ) from error
        try:
            self._env: Env[Any, Any] = gymnasium.make(wanted, disable_env_checker=True)
        except (gymnasium.error.Error, ImportError) as error:
            raise StoryNotFoundError(
                f"there is no environment {wanted!r} ({error}); to import the module that "
                "registers it, write gym:MODULE:ID"
            ) from error
        except Exception as error:  # somebody else's code
            raise StoryFormatError(f"gym:{wanted} cannot be created: {_named(error)}") from error
        self._actions: object = getattr(self._env, "action_space", None)
        """The space of its actions; None where it declares none."""
        self._given = sha256()
        """The commands so far: of an unknown world, it is not known that it is as it was."""

    def start(self, seed: int) -> Reply:
        """Begin.

        Raises: StoryFormatError when it is not played in text; EngineStoppedError when it fails.
        """
        from gymnasium import spaces

        self._given = sha256()
        # What Gymnasium itself knows not to be text; of a space of its own, nobody can tell.
        numbers = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)
        composed = (spaces.Dict, spaces.Graph, spaces.OneOf, spaces.Sequence, spaces.Tuple)
        if isinstance(self._actions, numbers + composed):
            raise StoryFormatError(
                f"{self._name} cannot be played: its actions are not text, but "
                f"{one_line(self._actions)}"
            )
        try:
            text, info = self._env.reset(seed=seed)
        except Exception as error:  # somebody else's code
            raise EngineStoppedError(f"{self._name} cannot start: {_named(error)}") from error
        return self._reply(text, info, ended=False)

    def step(self, state: bytes, command: str) -> Reply:
        """Give it a command."""
        from gymnasium.spaces import Text

        space = self._actions
        if isinstance(space, Text) and not space.contains(command):
            raise InvalidCommandError(
                f"{self._name} takes commands of {space.min_length} to {space.max_length} "
                f"characters out of {space.characters!r}"
            )
        self._given.update(f"{command}\n".encode())
        try:
            text, _, terminated, truncated, info = self._env.step(command)
        except Exception as error:  # somebody else's code
            raise EngineStoppedError(f"{self._name} failed: {_named(error)}") from error
        return self._reply(text, info, ended=bool(terminated or truncated))

    def look(self, state: bytes) -> Reply:
        """Refuse: there are no states."""
        raise SnapshotError(f"{self._name} cannot be continued from a snapshot")

    def close(self) -> None:
        """Close the environment."""
        self._env.close()

    def _reply(self, text: object, info: Mapping[str, Any], *, ended: bool) -> Reply:
        if not isinstance(text, str):
            raise StoryFormatError(
                f"{self._name} cannot be played: it gives {type(text).__name__}, not text"
            )
        room = str(info.get("room") or info.get("location") or "")
        carried, died = info.get("inventory"), info.get("died")
        has_list = isinstance(carried, list | tuple)
        facts = Facts(
            room_id=-1 - zlib.crc32(room.encode()) if room else None,
            room_name=room,
            score=_whole(info.get("score")),
            max_score=_whole(info.get("max_score")),
            moves=_whole(info.get("moves")),
            inventory=tuple(Thing(0, str(it)) for it in carried or ()) if has_list else None,
            deaths=_whole(info.get("deaths")),
            dead=ended and bool(died),
            won=ended and bool(info.get("won")),
            world_hash=self._given.hexdigest(),
            status_line=room,
        )
        died = None if died is None else bool(died)
        return Reply(text.strip("\n"), b"", None, ended=ended, facts=facts, died=died)


def _named(error: Exception) -> str:
    """Describe an error of other people's code; some say little without their names."""
    return f"{type(error).__name__}: {error}"


def _whole(value: object) -> int | None:
    """Return a number without a fraction; anything else is not known."""
    is_whole = isinstance(value, Real) and not isinstance(value, bool) and float(value) % 1 == 0
    return int(value) if is_whole else None  # type: ignore[call-overload]  # any Real has it
