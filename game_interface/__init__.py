"""The game layer: a story file and commands go in, text and facts come out. It knows no agents.

with open_game("zork1", seed=12) as game:
    print(game.start())
    print(game.step("open mailbox"))
    print(game.facts().score)
"""

from game_interface.command_guard import MAX_COMMAND_LENGTH, validate_command
from game_interface.game import Game, check_story, open_game
from game_interface.machine.exits import Exit
from game_interface.machine.facts import Facts, Thing
from game_interface.story import BUNDLED_STORY, StoryInfo
from stories.vocabulary import Vocabulary

__all__ = [
    "BUNDLED_STORY",
    "MAX_COMMAND_LENGTH",
    "Exit",
    "Facts",
    "Game",
    "StoryInfo",
    "Thing",
    "Vocabulary",
    "check_story",
    "open_game",
    "validate_command",
]
