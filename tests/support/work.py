"""How much work something is, counted and compared: the same on however busy a machine."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from types import FrameType

_CLEARLY_LINEAR = 6


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

    For work inside one call, which cannot be counted: this thread's own time, the best of three.
    The larger size is not tried again once the growth is clearly linear.
    """

    def cost(of: int) -> float:
        began = time.thread_time()
        work(of)
        return time.thread_time() - began

    small, large = min(cost(size) for _ in range(3)), math.inf
    for _ in range(3):
        large = min(large, cost(4 * size))
        if large < _CLEARLY_LINEAR * small:
            break
    return large / small
