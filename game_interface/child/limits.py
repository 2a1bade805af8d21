"""What the process of an engine may use. Beyond its limits the system ends it, and it alone."""

import math
import resource
from contextlib import suppress

MEMORY_BYTES = 2**30
FILE_BYTES = 2**24
"""An engine may write a copy of the story and of itself; a story may write files, too."""
START_SECONDS = 60.0
"""For the process to start and to load the story."""
SPARE_SECONDS = 1
"""Of processor time: while the program is there, it is the first to stop a turn."""
OUT_OF_MEMORY = 71
"""Exit code of a process that needed more."""


def limit_process() -> None:
    """Limit what does not depend on turns."""
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, FILE_BYTES)
    _limit(resource.RLIMIT_CORE, 0)


def limit_time(seconds: float) -> None:
    """Let the process use so much more processor time, and a little."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = used.ru_utime + used.ru_stime + seconds + SPARE_SECONDS
    _limit(resource.RLIMIT_CPU, math.ceil(allowed))


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    with suppress(ValueError, OSError):  # macOS limits no memory
        resource.setrlimit(kind, (most, hard))
