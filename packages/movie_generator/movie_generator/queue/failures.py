"""Failures: which are temporary, when to try again, and how to report them in one line."""

import random
from dataclasses import dataclass

from mcp_ghost.errors import LLMError, LLMStatusError, MCPError, UrlRefusedError
from mcp_ghost.providers.transport import is_transient
from mcp_ghost.text import one_line
from movie_generator.errors import MovieGeneratorError
from movie_generator.pages.results import sounds_passing

FIRST_PAUSE = 2.0
"""Seconds between the first attempt at a job and the second; each further pause is longer."""
PAUSE_FACTOR = 3.0
LONGEST_PAUSE = 900.0
"""Seconds, if nobody asks for more."""
LONGEST_ASKED_PAUSE = 86_400.0
"""Seconds, whatever a server asks for."""
_JITTER = 0.25
_LONGEST_REASON = 1000
_SAYS_LITTLE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError)
"""Errors whose text means nothing without their name."""


class JobTimeoutError(MovieGeneratorError, TimeoutError):
    """Raised when a job took longer than it may."""


@dataclass(frozen=True)
class Failure:
    """What an attempt at a job ended with."""

    reason: str
    """One line."""
    passes: bool = False
    """Whether another attempt may well succeed."""
    retry_after: float | None = None
    """Seconds before which a server wants no other attempt."""
    starts_over: bool = False
    """Whether what the attempt finished is of no use to the next one: it led to the failure."""

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """What ``error`` means for the job; of a group, the first error in it."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        name, text = type(error).__name__, str(error).strip()
        told = f"{name}: {text}" if text and isinstance(error, _SAYS_LITTLE) else text or name
        reason = one_line(told, _LONGEST_REASON)
        match error:
            case LLMStatusError():
                return cls(reason, is_transient(error), error.retry_after)
            case LLMError():
                return cls(reason, is_transient(error))
            case MCPError():
                return cls(reason, sounds_passing(reason))
            case UrlRefusedError():
                return cls(reason, error.passes)
            case MovieGeneratorError():
                return cls(reason, error.passes, error.retry_after, error.starts_over)
        return cls(reason, starts_over=True)

    def pause(self, attempts: int) -> float:
        """Seconds until the next attempt after ``attempts`` of them."""
        grown = FIRST_PAUSE * PAUSE_FACTOR ** min(attempts - 1, 20)
        own = min(grown, LONGEST_PAUSE) * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311  no secret
        return max(own, min(self.retry_after or 0.0, LONGEST_ASKED_PAUSE))
