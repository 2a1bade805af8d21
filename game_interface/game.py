"""A game being played: commands in, text and facts out."""

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from game_interface.catalogue import game_of
from game_interface.command_guard import validate_command
from game_interface.engines.engine import MAX_SEED, Engine, EngineChoice, EngineName, Reply
from game_interface.errors import EngineError, GameError, GameOverError, InvalidCommandError
from game_interface.machine.facts import Ending, Facts, FactsReader
from game_interface.machine.outcome import died_and_ending
from game_interface.snapshot import Progress, Snapshot, decode, encode
from game_interface.story import ENVIRONMENT, Story, StoryInfo, find_story
from stories.download import ZORK1_URL, OnProgress
from stories.memory import MachineMemory
from stories.vocabulary import Vocabulary

TURN_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class _Moment:
    """The game between two commands; what follows from it is worked out when it is asked for."""

    reply: Reply
    progress: Progress
    facts: Facts


class Game:
    """One story in one engine, sharing nothing with any other game.

    It is nothing but its latest moment, which a command that fails leaves unchanged.
    """

    def __init__(self, story: Story, engine: Engine, seed: int) -> None:
        """Use `open_game`; a game must be started or restored before it is played."""
        self.story: StoryInfo = story.info
        """The story's or environment's name, title, place and figures."""
        self.engine_name: EngineName = engine.name
        """Which engine runs the story."""
        self.seed = seed
        """The seed of the game's random numbers; seed and commands determine the game."""
        self.vocabulary = Vocabulary.of(story.image) if story.image else Vocabulary()
        """The words that the game's parser knows, cut to its word length."""
        self._story = story
        self._engine = engine
        self._reader = FactsReader(story.image, story.profile) if story.image else None
        self._moment: _Moment | None = None
        self._closed = False

    @property
    def is_over(self) -> bool:
        """Whether the game has ended, so that it takes no more commands."""
        return self._current.progress.ending is not None

    @property
    def died_in_last_step(self) -> bool | None:
        """Whether the last step brought a death, also one after which the game goes on.

        None where the story's memory does not tell, and its words did not announce one.
        """
        return self._current.progress.died

    @property
    def _current(self) -> _Moment:
        self._require_open()
        if self._moment is None:
            raise GameError("the game has not begun: call start() or restore() first")
        return self._moment

    def _require_open(self) -> None:
        if self._closed:
            raise GameError("the game is closed; open it again")

    def start(self, seed: int | None = None) -> str:
        """Begin (again), with other dice if a seed is given, and return the opening text.

        Raises: StoryFormatError, EngineError when it cannot begin.
        """
        self._require_open()
        seed = self.seed if seed is None else seed
        try:
            reply = self._engine.start(seed)
            memory = self._memory(reply)
            holders = self._reader.holders_of_player(memory) if self._reader and memory else ()
            ending: Ending | None = "other" if reply.ended else None
            progress = Progress(reply.died or False, ending, holders, self._digest(reply))
            self._moment, self.seed = self._seen(reply, progress), seed
        except EngineError as error:
            raise type(error)(f"the game cannot start: {error}") from error
        return _all_text(reply)

    def step(self, command: str) -> str:
        """Give the game a command, or a key by its name; return its answer, with its line breaks.

        An empty line is Enter. Where the game waits for a key, a line is answered with advice.

        Raises: InvalidCommandError when the command is refused; GameOverError after the end;
            EngineError when the engine failed. After each of them the game stands as before.
        """
        before = self._current
        if before.progress.ending is not None:
            raise GameOverError("the game is over; start a new one")
        waits_for = before.reply.waits_for
        try:
            is_enter = waits_for == "line" and not command.strip()
            given = "" if is_enter else validate_command(command, waits_for)
        except InvalidCommandError as error:
            if waits_for != "key":
                raise
            return f"(The game was given nothing: {error}.)"
        try:
            reply = self._engine.step(before.reply.state, given)
            died, ending = self._outcome(before.reply, reply)
            said = self._digest(reply)
            progress = replace(before.progress, died=died, ending=ending, said=said)
            self._moment = self._seen(reply, progress)
        except EngineError as error:
            raise type(error)(f"the engine failed at {given!r}: {error}") from error
        return _all_text(reply)

    def _outcome(self, before: Reply, reply: Reply) -> tuple[bool | None, Ending | None]:
        if facts := reply.facts:
            how: Ending = "victory" if facts.won else "death" if facts.dead else "other"
            return reply.died, how if reply.ended else None
        return died_and_ending(
            self._story.profile,
            self._memory(before),
            self._memory(reply),
            reply.text,
            has_quit=reply.ended,
            asks_at_end=partial(self._asks_at_end, reply),
        )

    def facts(self) -> Facts:
        """Return the facts of this moment, read from the game's memory."""
        return self._current.facts

    def snapshot(self) -> bytes:
        """Save this moment as bytes, from which `restore` continues with the identical game.

        Empty where only the same commands lead here again.
        """
        now = self._current
        if not now.reply.state:
            return b""
        snapshot = Snapshot(self._engine.name, self.seed, now.progress, now.reply.state)
        return encode(snapshot, self.story.sha256)

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot, taken in this process or another.

        Raises: SnapshotError when it is damaged, or of another story or engine.
        """
        self._require_open()
        snapshot = decode(data, self.story.sha256, self._engine.name)
        reply = self._engine.look(snapshot.state)
        self._moment = self._seen(reply, snapshot.progress)
        self.seed = snapshot.seed

    def close(self) -> None:
        """Release the engine; calling it again does nothing."""
        self._closed = True
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _memory(self, reply: Reply) -> MachineMemory | None:
        image, memory = self._story.image, reply.memory
        return MachineMemory(image, memory) if image and memory is not None else None

    def _digest(self, reply: Reply) -> str:
        """Hash what the story says, where its memory cannot be read."""
        if self._reader and reply.memory is not None:
            return ""
        return sha256(_all_text(reply).encode("utf-8", "replace")).hexdigest()[:16]

    def _seen(self, reply: Reply, progress: Progress) -> _Moment:
        memory, ending = self._memory(reply), progress.ending
        asks_for_key = ending and reply.waits_for == "key"  # which would be of no use
        facts = reply.facts or Facts(
            dead=ending == "death",
            won=ending == "victory",
            world_hash=progress.said,
            waits_for="line" if asks_for_key else reply.waits_for,
            status_line=reply.status_line,
        )
        if self._reader and memory:
            facts = self._reader.read(memory, facts, progress.player_globals)
        return _Moment(reply, progress, facts)

    def _asks_at_end(self, reply: Reply) -> bool:
        """Return whether the story now does nothing but ask: it answers all commands alike.

        They are given to a copy of the game, one after the other.
        """
        answers = set()
        try:
            for command in ("look", "inventory"):
                if reply.waits_for == "key":
                    return False
                reply = self._engine.step(reply.state, command)
                answers.add(re.sub("look|inventory", "", reply.text.lower()))  # it may repeat them
        except (EngineError, InvalidCommandError):
            return False
        return len(answers) == 1


def _all_text(reply: Reply) -> str:
    """Return what the story printed, with what is new above its main window."""
    return "\n\n".join(filter(None, (reply.upper, reply.text)))


def open_game(
    story: str | Path = "zork1",
    *,
    seed: int | None = None,
    engine: EngineChoice | EngineName = "auto",
    cache_dir: Path | None = None,
    on_notice: Callable[[str], None] | None = None,
    on_progress: OnProgress = lambda _label, _share: None,
    fallback: bool = False,
    download_url: str = ZORK1_URL,
    turn_timeout_seconds: float = TURN_TIMEOUT_SECONDS,
    interpreter_path: str | None = None,
) -> Game:
    """Open a story, by its name ("zork1", "bundled"), path or address, or an environment `gym:ID`.

    Zork I is taken from the path in `ZORK1_STORY`, else from `cache_dir` (None: the user's), else
    downloaded into it, of which `on_progress` is told. With `fallback` the bundled story is played
    where that fails, and `on_notice` gets one line that says so. With `seed` None one is drawn;
    `Game.seed` says which. A command that takes longer than `turn_timeout_seconds` is undone.
    `interpreter_path` names a folder with your own interpreters.

    Raises: StoryNotFoundError, StoryFormatError, StoryDownloadError, EngineUnavailableError;
        ValueError for a seed outside 0..2147483647.
    """
    if seed is not None and not 0 <= seed <= MAX_SEED:
        raise ValueError(f"the seed must be between 0 and {MAX_SEED}, not {seed}")
    found = find_story(
        story,
        cache_dir=cache_dir,
        download_url=download_url,
        fallback=fallback,
        on_notice=on_notice or (lambda _line: None),
        on_progress=on_progress,
    )
    chosen = seed if seed is not None else 1 + secrets.randbelow(MAX_SEED)
    if found.info.name.startswith(ENVIRONMENT):
        from game_interface.engines.gym_engine import GymEngine

        return Game(found, GymEngine(found.info.name), chosen)
    known = game_of(found.info.sha256)
    if engine == "auto" and known and known.needs_jericho:
        if find_spec("jericho"):
            engine = "jericho"
        elif on_notice:
            on_notice(
                f"The engine bocfel cannot play {found.info.title} to its end; the engine jericho "
                "can: `uv sync --extra jericho` installs it."
            )
    if engine == "jericho":
        from game_interface.engines.jericho_engine import JerichoEngine

        image = found.require_image("the engine 'jericho'")
        return Game(found, JerichoEngine(image, turn_timeout_seconds), chosen)
    from game_interface.engines.glk_engine import GlkEngine

    glk = GlkEngine(found.image, found.file, turn_timeout_seconds, interpreter_path)
    return Game(found, glk, chosen)


def check_story(story: str) -> None:
    """Refuse what cannot be played, or is not at hand, before anything else is begun.

    Raises: StoryNotFoundError, StoryFormatError; of an environment, whatever its start raises.
    """
    if story.startswith(ENVIRONMENT):
        with open_game(story) as environment:
            environment.start()
    elif story != "zork1":  # which may be downloaded when it is begun
        find_story(story)
