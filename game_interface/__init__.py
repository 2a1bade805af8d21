"""The game layer: a story file and commands go in, text and facts come out. It knows no agents.

with open_game("zork1", seed=12) as game:
    print(game.start())
    print(game.step("open mailbox"))
    print(game.facts().score)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from game_interface.command_guard import MAX_COMMAND_LENGTH as MAX_COMMAND_LENGTH
    from game_interface.command_guard import validate_command as validate_command
    from game_interface.game import Game as Game
    from game_interface.game import check_story as check_story
    from game_interface.game import open_game as open_game
    from game_interface.machine.exits import Exit as Exit
    from game_interface.machine.facts import Facts as Facts
    from game_interface.machine.facts import Thing as Thing
    from game_interface.story import BUNDLED_STORY as BUNDLED_STORY
    from game_interface.story import StoryInfo as StoryInfo
    from stories.vocabulary import Vocabulary as Vocabulary

# Imported on first use: `--help` must not wait for pydantic.
_HOMES = {
    "BUNDLED_STORY": "game_interface.story",
    "Exit": "game_interface.machine.exits",
    "Facts": "game_interface.machine.facts",
    "Game": "game_interface.game",
    "MAX_COMMAND_LENGTH": "game_interface.command_guard",
    "StoryInfo": "game_interface.story",
    "Thing": "game_interface.machine.facts",
    "Vocabulary": "stories.vocabulary",
    "check_story": "game_interface.game",
    "open_game": "game_interface.game",
    "validate_command": "game_interface.command_guard",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
