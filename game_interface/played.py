"""What is played: anything that takes text commands, whatever is behind it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from game_interface.engines.engine import EngineChoice, EngineName
    from game_interface.machine.facts import Facts
    from game_interface.machine.vocabulary import Vocabulary
    from game_interface.story import StoryInfo

ENVIRONMENT = "gym:"
"""Before the id of a Gymnasium environment, where a story is named."""


class Played(Protocol):
    """Start, step, facts as far as they are known, a snapshot if there can be one, close."""

    @property
    def story(self) -> StoryInfo:
        """What is known about it before it is played."""

    @property
    def engine_name(self) -> str:
        """What runs it."""

    @property
    def seed(self) -> int:
        """The seed of its dice; the same seed and commands give the same game."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it knows; without any, it may know every word."""

    @property
    def is_over(self) -> bool:
        """Whether it takes no more commands."""

    @property
    def died_in_last_step(self) -> bool | None:
        """Whether the last step brought a death; None where that is not known."""

    def start(self, seed: int | None = None) -> str:
        """Begin (again), with other dice if a seed is given, and return the opening text."""

    def step(self, command: str) -> str:
        """Give it a command and return its answer.

        Raises: InvalidCommandError when the command is refused; EngineError when it failed.
        """

    def facts(self) -> Facts:
        """The facts of this moment; what is not known is None, which is not 0."""

    def snapshot(self) -> bytes | None:
        """This moment, from which `restore` continues; None where only its commands lead there."""

    def restore(self, data: bytes) -> None:
        """Continue from a snapshot.

        Raises: SnapshotError when it cannot.
        """

    def close(self) -> None:
        """Release what is held; calling it again does nothing."""


def check_played(story: str) -> None:
    """Refuse what cannot be played, before anything else is begun.

    Raises: StoryNotFoundError, StoryFormatError; of an environment, whatever its start raises.
    """
    if story.startswith(ENVIRONMENT):
        from game_interface.gym_environment import GymGame

        environment = GymGame(story)
        try:
            environment.start()
        finally:
            environment.close()
    else:
        from game_interface.story import check_story

        check_story(story)


def open_played(
    story: str | Path,
    *,
    seed: int | None,
    engine: EngineChoice | EngineName,
    turn_timeout_seconds: float | None = None,
    fallback: bool = False,
    on_notice: Callable[[str], None] | None = None,
    on_progress: Callable[[str, float | None], None] = lambda _label, _share: None,
    interpreter_path: str | None = None,
) -> Played:
    """Open a story, or the Gymnasium environment `gym:ID`.

    Raises: as `open_game`; EngineUnavailableError where Gymnasium is not installed.
    """
    name = str(story)
    if name.startswith(ENVIRONMENT):
        from game_interface.gym_environment import GymGame

        return GymGame(name, seed)
    from game_interface.game import TURN_TIMEOUT_SECONDS, open_game

    return open_game(
        story,
        seed=seed,
        engine=engine,
        turn_timeout_seconds=turn_timeout_seconds or TURN_TIMEOUT_SECONDS,
        fallback=fallback,
        on_notice=on_notice,
        on_progress=on_progress,
        interpreter_path=interpreter_path,
    )
