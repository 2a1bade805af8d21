"""The games as Gymnasium environments: `zorkgpt/bundled-v0` and `zorkgpt/zork1-v0`.

    import gymnasium, game_server.environment

    env = gymnasium.make("zorkgpt/bundled-v0")
    text, info = env.reset(seed=7)
    text, reward, terminated, truncated, info = env.step("north")

An observation is what the game prints, the reward is the points that a command won, and `info` has
what the level of observation tells besides, as far as it is known. A command that no game may be
given costs no turn: `info["refused"]` says why. Where nothing is recorded, `get_state` and
`set_state` of `env.unwrapped` save a moment and return to it.
"""

from __future__ import annotations

import multiprocessing
from ctypes import c_char
from multiprocessing.context import BaseContext
from multiprocessing.sharedctypes import SynchronizedString
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import gymnasium
from gymnasium.spaces import Text
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from game_interface import MAX_COMMAND_LENGTH
from game_interface.engines.engine import MAX_SEED
from game_interface.errors import SnapshotError
from game_server.reply import GuestReply, RefusedError
from game_server.unrecorded import UnrecordedGame
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.levels import ObservationLevel

if TYPE_CHECKING:
    from game_server.hosted import HostedGame

_ASCII = "".join(map(chr, range(0x20, 0x7F)))
_LATIN = _ASCII + "".join(map(chr, range(0xA0, 0x100)))
MOST_CHARACTERS = 2**16
"""Of one observation."""
_MOST_BYTES = 4
"""Of a character in UTF-8."""
_Memory: TypeAlias = tuple[SynchronizedString, ...]


class PrintedText(Text):
    """Any text of at most a length; its characters are those of samples.

    Gymnasium's vectors can share it between processes. A vector asks once, at its start, for what
    its processes share, and expects it to change with the memory behind it. Gymnasium's own `Text`
    gives it strings, which stay as blank as they were.
    """

    def contains(self, x: object) -> bool:
        """Return whether it is a text that is not too long."""
        return isinstance(x, str) and len(x) <= self.max_length


class PrintedTexts:
    """What the games of a vector have printed last; a copy of it is a tuple of texts."""

    def __init__(self, memory: _Memory) -> None:
        self._memory = memory

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: int) -> str:
        return self._memory[index].value.decode()

    def __deepcopy__(self, _memo: object) -> tuple[str, ...]:
        return tuple(self[index] for index in range(len(self)))


@create_shared_memory.register(PrintedText)
def _create(
    space: PrintedText, n: int = 1, ctx: BaseContext | ModuleType = multiprocessing
) -> _Memory:
    return tuple(ctx.Array(c_char, space.max_length * _MOST_BYTES) for _ in range(n))


@read_from_shared_memory.register(PrintedText)
def _read(_space: PrintedText, shared_memory: _Memory, n: int = 1) -> PrintedTexts:
    return PrintedTexts(shared_memory[:n])


@write_to_shared_memory.register(PrintedText)
def _write(_space: PrintedText, index: int, value: str, shared_memory: _Memory) -> None:
    shared_memory[index].value = value.encode(errors="replace")


class TextGame(gymnasium.Env[str, str]):
    """One game after the other; with a work folder, each is an episode like any other."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  as Gymnasium has it

    def __init__(
        self,
        story: str = "zork1",
        level: str = ObservationLevel.FACTS,
        max_turns: int | None = None,
        workdir: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Prepare games of a story.

        Args:
            story: As for `main.py --story`.
            level: What `info` tells: `text`, `status`, `facts` or `facts+exits`.
            max_turns: Turns after which a game is cut off; None: the configured number.
            workdir: Folder in which episodes are recorded; None: they are not.
            render_mode: `ansi`, or None.
        """
        self.render_mode = render_mode
        self.observation_space = PrintedText(MOST_CHARACTERS, min_length=0, charset=f"{_LATIN}\n")
        self.action_space = Text(MAX_COMMAND_LENGTH, charset=_ASCII)
        given: dict[str, Any] = {"max_turns_per_episode": max_turns, "workdir": workdir}
        known = {name: it for name, it in given.items() if it is not None}
        self._config = GameConfiguration.at_hand(story=story, observation_level=level, **known)
        self._arguments = (story, level, max_turns, workdir, render_mode)
        self._is_recorded = bool(workdir)
        self._game: HostedGame | UnrecordedGame | None = None
        self._text = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a new game; the same seed begins the same game.

        Raises:
            ConfigurationError: The score of the story is not known, so there is no reward.
        """
        super().reset(seed=seed)
        if seed is None:
            seed = int(self.np_random.integers(1, MAX_SEED))
        dice = seed % (MAX_SEED + 1)
        game = self._game
        if self._is_recorded:
            from game_server.games import new_name  # with all that writes an episode
            from game_server.hosted import HostedGame

            self.close()
            config = self._config.model_copy(update={"seed": dice})
            self._game = game = HostedGame(new_name(), config, "gymnasium")
            reply = game.begin()
        else:
            if not isinstance(game, UnrecordedGame):
                self._game = game = UnrecordedGame(self._config)
            reply = game.begin(dice)
        if game.game_state.score is None:
            raise ConfigurationError(
                f"The score of {self._config.story} cannot be read, so there is no reward: "
                "choose a game that `uv run python main.py games` lists with its points."
            )
        return self._seen(reply, None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Give the game a command; return its answer, and the points that this earned.

        Raises:
            gymnasium.error.InvalidAction: The command is not text; no turn was played.
            gymnasium.error.ResetNeeded: The game has not begun, or is over.
        """
        if not isinstance(action, str):
            raise gymnasium.error.InvalidAction(f"A command must be text, not {action!r}.")
        game = self._game
        if game is None or game.ended:
            raise gymnasium.error.ResetNeeded("The game has not begun, or is over: call reset().")
        try:
            reply = game.command(action)
        except RefusedError as error:
            text, info = self._seen(game.status(), str(error))
            return text, 0.0, False, game.ended, info  # refused, or an environment failed
        text, info = self._seen(reply, None)
        reason = game.game_state.end_reason
        by_the_game = reason is not None and reason.is_final
        reward = float(game.game_state.history[-1].scored or 0)
        return text, reward, by_the_game, game.ended and not by_the_game, info

    def render(self) -> str | None:
        """Return what the game printed last."""
        return self._text if self.render_mode == "ansi" else None

    def get_state(self) -> bytes:
        """Save this moment of the game, from which `set_state` continues, in any process.

        Raises:
            SnapshotError: The game is recorded, or it is somebody else's environment.
        """
        return self._unrecorded().state()

    def set_state(self, state: bytes) -> None:
        """Return to a moment of a game of the same story at the same level.

        Raises:
            SnapshotError: It is damaged or of another game, or this game is recorded; nothing has
                changed.
        """
        if self._game is None and not self._is_recorded:
            self.reset()
        self._text = self._unrecorded().restore(state).text[:MOST_CHARACTERS]

    def __getstate__(self) -> tuple[Any, ...]:
        """Take it apart for `copy.deepcopy` and `pickle`: arguments, dice and state."""
        state = self.get_state() if self._game or self._is_recorded else None
        return self._arguments, self.spec, self.np_random, state

    def __setstate__(self, parts: tuple[Any, ...]) -> None:
        arguments, spec, dice, state = parts
        TextGame.__init__(self, *arguments)
        self.spec = spec
        if state is not None:
            self.set_state(state)
        self.np_random = dice  # last, because a game that begins rolls them

    def close(self) -> None:
        """End the game."""
        if self._game:
            self._game.leave()
            self._game = None

    def _unrecorded(self) -> UnrecordedGame:
        if self._is_recorded:
            raise SnapshotError(
                "this game is recorded, and a record only goes forward: leave out `workdir` to "
                "save a state, to return to one or to copy the environment"
            )
        if not isinstance(self._game, UnrecordedGame):
            raise gymnasium.error.ResetNeeded("The game has not begun: call reset().")
        return self._game

    def _seen(self, reply: GuestReply, refused: str | None) -> tuple[str, dict[str, Any]]:
        self._text = reply.text[:MOST_CHARACTERS]
        # Gymnasium's vectors hold numbers in arrays, in which None has no place.
        facts = {"waits_for": reply.waits_for, **reply.facts}
        known = {name: it for name, it in facts.items() if it is not None}
        return self._text, {**known, "turn": reply.turn, "ended": reply.ended, "refused": refused}


for _story in ("bundled", "zork1"):
    gymnasium.register(
        f"zorkgpt/{_story}-v0", f"{__name__}:{TextGame.__name__}", kwargs={"story": _story}
    )
