"""What replies of models cost: calls, tokens and dollars, per role."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse


@dataclass(frozen=True)
class Tally:
    """One sum; ``cached_tokens`` are part of ``prompt_tokens``."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """US dollars, as far as the provider reports them."""

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Tally) -> Tally:
        return Tally(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def of(cls, response: LLMResponse) -> Tally:
        """The tally of one reply."""
        usage = response.usage or {}
        return cls(
            calls=1,
            prompt_tokens=usage.get("prompt_tokens", 0),
            cached_tokens=usage.get("cached_tokens", 0),
            completion_tokens=usage.get("completion_tokens", 0),
            cost=response.cost or 0.0,
        )


Snapshot: TypeAlias = Mapping[str, Tally]
"""role -> sum"""


class Ledger:
    """Sums per role that only grow; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._roles: dict[str, Tally] = {}

    def add(self, role: str, tally: Tally) -> None:
        """Add to the sum of ``role``."""
        with self._lock:
            self._roles[role] = self._roles.get(role, Tally()) + tally

    def snapshot(self) -> Snapshot:
        """The sums as they are now."""
        with self._lock:
            return dict(self._roles)

    def since(self, earlier: Snapshot) -> Snapshot:
        """What came on top of ``earlier``, for the roles where something did."""
        grown = {
            role: tally - earlier.get(role, Tally()) for role, tally in self.snapshot().items()
        }
        return {role: tally for role, tally in grown.items() if tally != Tally()}

    @property
    def total(self) -> Tally:
        """The sum over all roles."""
        return sum(self.snapshot().values(), Tally())
