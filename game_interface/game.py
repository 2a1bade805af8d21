"""A game being played: commands in, text and facts out."""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Self

from game_interface.command_guard import validate_command
from game_interface.download import ZORK1_URL
from game_interface.engines.engine import MAX_SEED, Engine, EngineChoice, EngineName
from game_interface.engines.starting import start_engine
from game_interface.errors import GameError, GameOverError
from game_interface.machine.facts import Facts, FactsReader
from game_interface.machine.memory import MachineMemory
from game_interface.machine.outcome import died_and_ending
from game_interface.machine.vocabulary import Vocabulary
from game_interface.snapshot import Progress, Snapshot, decode, encode
from game_interface.story import Story, StoryInfo, find_story


class Game:
    """One story in one engine, sharing nothing with any other game."""

    def __init__(self, story: Story, engine: Engine, seed: int) -> None:
        """Use `open_game`; a game must be started or restored before it is played."""
        self._story = story
        self._engine = engine
        self._seed = seed
        self._facts = FactsReader(story.image, story.profile)
        self._progress: Progress | None = None
        self._closed = False

    @property
    def story(self) -> StoryInfo:
        """What is known about the story."""
        return self._story.info

    @property
    def engine_name(self) -> EngineName:
        """Which engine runs the story."""
        return self._engine.name

    @property
    def seed(self) -> int:
        """The seed of the game's random numbers; the same seed and commands give the same game."""
        return self._seed

    @property
    def dictionary(self) -> frozenset[str]:
        """The words that the game's parser knows, cut to its word length."""
        return self._story.image.dictionary

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the story and what they stand for."""
        return self._facts.vocabulary

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, so that it takes no more commands."""
        return self._current.ending is not None

    @property
    def died_in_last_step(self) -> bool:
        """Whether the last step brought a death, also one after which the game goes on."""
        return self._current.died

    @property
    def _current(self) -> Progress:
        self._require_open()
        if self._progress is None:
            raise GameError("the game has not begun: call start() or restore() first")
        return self._progress

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("the game is closed; open it again")

    def start(self) -> str:
        """Begin (again) and return the opening text."""
        self._require_open()
        text = self._engine.reset()
        self._progress = Progress(ending="other" if self._engine.done else None)
        return text

    def step(self, command: str) -> str:
        """Give the game a command and return its answer, with its line breaks.

        Raises: InvalidCommandError when the command is refused; GameOverError after the end;
            EngineError when the engine failed, after which the game stands as before the command.
        """
        progress = self._current
        if progress.ending is not None:
            raise GameOverError("the game is over; start a new one")
        cleaned = validate_command(command)
        before = self._memory()
        text = self._engine.step(cleaned)
        died, ending = died_and_ending(
            self._story.profile, before, self._memory(), text, quit_=self._engine.done
        )
        self._progress = Progress(progress.steps + 1, died, ending)
        return text

    def facts(self) -> Facts:
        """The facts of this moment, read from the game's memory."""
        progress = self._current
        return self._facts.read(self._memory(), ending=progress.ending, steps=progress.steps)

    def _memory(self) -> MachineMemory:
        return MachineMemory(self._story.image, self._engine.memory())

    def snapshot(self) -> bytes:
        """This moment as bytes, from which `restore` continues with the identical game."""
        moment = Snapshot(self.engine_name, self._seed, self._current, self._engine.snapshot())
        return encode(moment, self._story.image)

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot, taken in this process or another.

        Raises: SnapshotError when it is damaged, or of another story or engine.
        """
        self._require_open()
        snapshot = decode(data, self._story.image, self.engine_name)
        self._engine.restore(snapshot.vm)
        self._progress = snapshot.progress
        self._seed = snapshot.seed

    def close(self) -> None:
        """Release the engine; calling it again does nothing."""
        self._closed = True
        self._engine.close()

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
    fallback: bool = False,
    download_url: str = ZORK1_URL,
) -> Game:
    """Open a story: "zork1", "bundled" (or its name), or the path of a story file.

    Zork I is taken from the path in `ZORK1_STORY`, else from `cache_dir` (None: the user's), else
    downloaded into it. With `fallback` the bundled story is played where that fails, and
    `on_notice` gets one line that says so. With `seed` None one is drawn; `Game.seed` says which.

    Raises: StoryNotFoundError, StoryFormatError, StoryDownloadError, EngineUnavailableError;
        ValueError for a seed outside 1..2147483647.
    """
    if seed is not None and not 1 <= seed <= MAX_SEED:
        raise ValueError(f"the seed must be between 1 and {MAX_SEED}, not {seed}")
    found = find_story(
        story,
        cache_dir=cache_dir,
        download_url=download_url,
        fallback=fallback,
        on_notice=on_notice or (lambda _line: None),
    )
    chosen = seed if seed is not None else 1 + secrets.randbelow(MAX_SEED)
    return Game(
        found, start_engine(engine, found.image, chosen, profiled=found.info.profiled), chosen
    )
