"""Errors of the game layer.

GameError
├── StoryNotFoundError        no story file under that name or path
├── StoryFormatError          the file is not a story that can be played, or a damaged one
├── StoryDownloadError        the download failed, was too slow, or brought the wrong file
├── EngineUnavailableError    the engine that was asked for is not installed
├── EngineError               the engine could not carry a command out
│   └── EngineStoppedError    an environment failed, and the game with it
├── InvalidCommandError       the command was refused before any engine saw it
├── GameOverError             a command was sent to a game that has ended
└── SnapshotError             a snapshot is damaged, or belongs to another story or engine
"""


class GameError(Exception):
    """Base class of every error that the game layer raises."""


class StoryNotFoundError(GameError):
    """Raised when no story file can be found under the given name or path."""


class StoryFormatError(GameError):
    """Raised when a file is damaged, or no story that can be played here; says what it is.

    Inside a command the game is as it was before it.
    """


class StoryDownloadError(GameError):
    """Raised when a story could not be downloaded in time, or is not the expected file."""


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
