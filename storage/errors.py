"""The errors of storage; those of the database are translated where they occur.

StorageError
└── LogRefusedError         an episode's log cannot be taken in
"""


class StorageError(RuntimeError):
    """Raised when what was learned cannot be stored or read; nothing was changed then."""


class LogRefusedError(StorageError):
    """Raised when the log of an episode is missing or damaged, or has the uid of another one."""
