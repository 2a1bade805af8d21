"""The errors of script generation; those of servers, models and refused URLs are ``mcp_ghost``'s.

MovieGeneratorError
├── SettingsError           config.yaml, or what the environment says, cannot be used
├── AgentError              the agent did not finish
│   └── IterationLimitError because it may not ask the model again (a RuntimeError too)
├── PageError               the page cannot be read, or holds nothing
│   └── RobotsRefusedError  because its site asks programs not to (in robots.py)
│       └── RobotsUnknownError  or does not say just now
├── ScriptError             the model wrote no usable script
├── UnsavedError            a script could not be saved, and was printed
├── JobTimeoutError         a job took longer than it may (in queue/failures.py; a TimeoutError too)
├── JobStateError           a job cannot change in that way (in queue/jobs.py)
└── JobDatabaseError        the queue cannot be used (in queue/database.py; a RuntimeError too)
"""

from mcp_ghost.text import one_line

_PASSING_STATUSES = frozenset({408, 425, 429})
_LASTING_STATUSES = frozenset({501, 505, 506, 508, 510, 511, 525, 526})
"""Of servers that cannot do it later either: not implemented, a version, a loop, a certificate."""


class MovieGeneratorError(Exception):
    """Base of all errors of this package."""

    starts_over = False
    """Whether the steps so far led to it, so that another attempt must not reuse them."""

    def __init__(
        self, *said: object, passes: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(*said)
        self.passes = passes
        """Whether the same may succeed later."""
        self.retry_after = retry_after
        """Seconds for which a server wants no further request."""


class SettingsError(MovieGeneratorError, ValueError):
    """Raised when a setting is missing or cannot be used; the message names it."""


class AgentError(MovieGeneratorError, RuntimeError):
    """Raised when the agent ended without an answer."""


class IterationLimitError(AgentError):
    """Raised when the model still wanted tools after its last permitted reply."""


class PageError(MovieGeneratorError):
    """Raised when a page cannot be read, or holds no text."""


class ScriptError(MovieGeneratorError):
    """Raised when the model wrote no usable script, not even when told what was wrong."""

    starts_over = True


class UnsavedError(MovieGeneratorError):
    """Raised when a script that was to be saved could only be printed."""


def is_passing(status: int) -> bool:
    """Whether a failure with this status may be temporary."""
    return status in _PASSING_STATUSES or (500 <= status < 600 and status not in _LASTING_STATUSES)


def reason_of(error: BaseException) -> str:
    """What ``error`` says, on one line; some of the network's have no words, but a name."""
    return one_line(error) or f"the network failed ({type(error).__name__})"
