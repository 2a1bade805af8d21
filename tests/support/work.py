"""How much work something is, counted and compared: the same on however busy a machine."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable
from types import FrameType

_CLEARLY_LINEAR = 6
_MOST_TRIES = 10


def steps(work: Callable[[], object]) -> int:
    """How many functions ``work`` calls, built-in ones too."""
    count = 0

    def heard(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(heard)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work: Callable[[int], object], size: int) -> float:
    """How many times as much four times the size costs: 4 where it is linear, 16 where squared.

    For work inside one call, which cannot be counted: this thread's own time, without collections
    of garbage. Each size keeps its best; both are tried again until the growth is clearly linear,
    since a busy machine's caches make either dearer, never cheaper.
    """

    def cost(of: int) -> float:
        began = time.thread_time()
        work(of)
        return time.thread_time() - began

    small = large = math.inf
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(_MOST_TRIES):
            small, large = min(small, cost(size), cost(size)), min(large, cost(4 * size))
            if large < _CLEARLY_LINEAR * small:
                break
    finally:
        if was_collecting:
            gc.enable()
    return large / small
