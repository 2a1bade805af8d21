"""A game being played: commands in, text and facts out."""

import base64
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

from game_interface.child.messages import Moment, Opened, Opening
from game_interface.child.process import TURN_TIMEOUT_SECONDS, EngineProcess
from game_interface.command_guard import validate_command
from game_interface.download import ZORK1_URL, OnProgress
from game_interface.engines.engine import MAX_SEED, EngineChoice, EngineName
from game_interface.errors import GameError, GameOverError
from game_interface.machine.facts import Facts
from game_interface.machine.vocabulary import Vocabulary
from game_interface.story import StoryInfo, find_story


class Player(Protocol):
    """Who plays the story: the process of an engine, or an engine in this process."""

    def start(self) -> Moment:
        """Begin (again)."""

    def step(self, command: str) -> Moment:
        """Give the game a command."""

    def restore(self, data: bytes) -> Moment:
        """Continue from a snapshot."""

    def close(self) -> None:
        """Release what is held; calling it again does nothing."""


class Game:
    """One story in one engine, sharing nothing with any other game."""

    def __init__(self, story: StoryInfo, player: Player, opened: Opened, seed: int) -> None:
        """Use `open_game`; a game must be started or restored before it is played."""
        self._story = story
        self._player = player
        self._opened = opened
        self._seed = seed
        self._moment: Moment | None = None
        self._closed = False

    @property
    def story(self) -> StoryInfo:
        """What is known about the story."""
        return self._story

    @property
    def engine_name(self) -> EngineName:
        """Which engine runs the story."""
        return self._opened.engine

    @property
    def seed(self) -> int:
        """The seed of the game's random numbers; the same seed and commands give the same game."""
        return self._moment.seed if self._moment else self._seed

    @property
    def dictionary(self) -> frozenset[str]:
        """The words that the game's parser knows, cut to its word length."""
        return self._opened.vocabulary.words

    @property
    def vocabulary(self) -> Vocabulary:
        """The same, and what can be asked of them."""
        return self._opened.vocabulary

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, so that it takes no more commands."""
        return self._current.ending is not None

    @property
    def died_in_last_step(self) -> bool | None:
        """Whether the last step brought a death, also one after which the game goes on.

        None where the story's memory does not tell, and its words did not announce one.
        """
        return self._current.died

    @property
    def _current(self) -> Moment:
        self._require_open()
        if self._moment is None:
            raise GameError("the game has not begun: call start() or restore() first")
        return self._moment

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("the game is closed; open it again")

    def start(self) -> str:
        """Begin (again) and return the opening text.

        Raises: StoryFormatError, EngineError when it cannot begin.
        """
        self._require_open()
        self._moment = self._player.start()
        return self._moment.text

    def step(self, command: str) -> str:
        """Give the game a command and return its answer, with its line breaks.

        Raises: InvalidCommandError when the command is refused; GameOverError after the end;
            StoryFormatError or EngineError when the story or the engine failed, after which the
            game stands as before the command; but after an EngineStoppedError it takes no more.
        """
        if self._current.ending is not None:
            raise GameOverError("the game is over; start a new one")
        self._moment = self._player.step(validate_command(command))
        return self._moment.text

    def facts(self) -> Facts:
        """The facts of this moment, read from the game's memory."""
        return self._current.facts

    def snapshot(self) -> bytes:
        """This moment as bytes, from which `restore` continues with the identical game."""
        return base64.b64decode(self._current.snapshot)

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot, taken in this process or another.

        Raises: SnapshotError when it is damaged, or of another story or engine.
        """
        self._require_open()
        self._moment = self._player.restore(data)

    def close(self) -> None:
        """Release the engine; calling it again does nothing."""
        self._closed = True
        self._player.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_game(
    story: str | Path = "zork1",
    *,
    seed: int | None = None,
    engine: EngineChoice = "auto",
    cache_dir: Path | None = None,
    on_notice: Callable[[str], None] | None = None,
    on_progress: OnProgress = lambda _label, _share: None,
    fallback: bool = False,
    download_url: str = ZORK1_URL,
    turn_timeout_seconds: float = TURN_TIMEOUT_SECONDS,
) -> Game:
    """Open a story: "zork1", "bundled" (or its name), or the path of a story file.

    Zork I is taken from the path in `ZORK1_STORY`, else from `cache_dir` (None: the user's), else
    downloaded into it, of which `on_progress` is told. With `fallback` the bundled story is played
    where that fails, and `on_notice` gets one line that says so. With `seed` None one is drawn;
    `Game.seed` says which. An engine that takes longer than `turn_timeout_seconds` over a command
    is stopped.

    Raises: StoryNotFoundError, StoryFormatError, StoryDownloadError, EngineUnavailableError,
        EngineError; ValueError for a seed outside 0..2147483647.
    """
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ValueError(f"the seed must be between 0 and {MAX_SEED}, not {seed}")
    chosen = seed if seed is not None else 1 + secrets.randbelow(MAX_SEED)
    process = EngineProcess(turn_timeout_seconds)
    try:
        found = find_story(
            story,
            cache_dir=cache_dir,
            download_url=download_url,
            fallback=fallback,
            on_notice=on_notice or (lambda _line: None),
            on_progress=on_progress,
        )
        profile = found.profile if found.info.profiled else None
        opened = process.open(
            Opening(found.image.data, profile, engine, chosen, turn_timeout_seconds)
        )
    except BaseException:  # interrupted, too: no process is left
        process.close()
        raise
    return Game(found.info, process, opened, chosen)
