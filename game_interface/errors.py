"""Errors of the game layer.

GameError                     and what else `stories.errors` has, which can be imported from here
├── EngineUnavailableError    the engine that was asked for is not installed
├── EngineError               the engine could not carry a command out
│   └── EngineStoppedError    an environment failed, and the game with it
├── InvalidCommandError       the command was refused before any engine saw it
├── GameOverError             a command was sent to a game that has ended
└── SnapshotError             a snapshot is damaged, or belongs to another story or engine
"""

from stories.errors import GameError as GameError
from stories.errors import StoryDownloadError as StoryDownloadError
from stories.errors import StoryFormatError as StoryFormatError
from stories.errors import StoryNotFoundError as StoryNotFoundError


class EngineUnavailableError(GameError):
    """Raised when the engine that was asked for cannot be used here."""


class EngineError(GameError):
    """Raised when the engine failed inside a command; the game is as it was before it."""


class EngineStoppedError(EngineError):
    """Raised when a Gymnasium environment failed, which no snapshot brings back."""


class InvalidCommandError(GameError):
    """Raised when a command is not a valid game command; the game has not seen it."""


class GameOverError(GameError):
    """Raised when a command is sent to a game that has ended."""


class SnapshotError(GameError):
    """Raised when a snapshot is damaged, or belongs to another story or engine."""
