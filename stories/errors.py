"""Errors of story files, and the base of all that the game layer raises.

GameError
├── StoryNotFoundError        no story file under that name or path
├── StoryFormatError          the file is not a story that can be played, or a damaged one
└── StoryDownloadError        the download failed, was too slow, or brought the wrong file
"""


class GameError(Exception):
    """Base class of every error that the game layer raises."""


class StoryNotFoundError(GameError):
    """Raised when no story file can be found under the given name or path."""


class StoryFormatError(GameError):
    """Raised when a file is damaged, or no story that can be played here; says what it is.

    If a command raises it, the game stays as it was before.
    """


class StoryDownloadError(GameError):
    """Raised when a story could not be downloaded in time, or is not the expected file."""
