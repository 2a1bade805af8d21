"""The game layer: a story file in, commands in, text and facts out. It knows no agent.

with open_game("zork1", seed=12) as game:
    print(game.start())
    print(game.step("open mailbox"))
    print(game.facts().score)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from game_interface.errors import (
    EngineError,
    EngineUnavailableError,
    GameError,
    GameOverError,
    InvalidCommandError,
    SnapshotError,
    StoryDownloadError,
    StoryFormatError,
    StoryNotFoundError,
)

if TYPE_CHECKING:
    from game_interface.command_guard import MAX_COMMAND_LENGTH, validate_command
    from game_interface.exits import Exit
    from game_interface.facts import Facts, Thing
    from game_interface.game import Game, open_game
    from game_interface.story import BUNDLED_STORY, StoryInfo
    from game_interface.vocabulary import Vocabulary

# Imported when first used: `--help` must not wait for pydantic.
_HOMES = {
    "BUNDLED_STORY": "story",
    "Exit": "exits",
    "Facts": "facts",
    "Game": "game",
    "MAX_COMMAND_LENGTH": "command_guard",
    "StoryInfo": "story",
    "Thing": "facts",
    "Vocabulary": "vocabulary",
    "open_game": "game",
    "validate_command": "command_guard",
}

__all__ = [
    "BUNDLED_STORY",
    "MAX_COMMAND_LENGTH",
    "EngineError",
    "EngineUnavailableError",
    "Exit",
    "Facts",
    "Game",
    "GameError",
    "GameOverError",
    "InvalidCommandError",
    "SnapshotError",
    "StoryDownloadError",
    "StoryFormatError",
    "StoryInfo",
    "StoryNotFoundError",
    "Thing",
    "Vocabulary",
    "open_game",
    "validate_command",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
