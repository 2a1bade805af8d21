"""The errors of storage; those of the database are translated where they occur.

StorageError
└── LogUnreadableError      an episode's log cannot be taken in
"""


class StorageError(RuntimeError):
    """Raised when what was learned cannot be stored or read; nothing was changed then."""


class LogUnreadableError(StorageError):
    """Raised when the log of an episode is missing or damaged."""
