"""One gate for all requests that this process sends to models, where somebody watches over them."""

from typing import Protocol


class Gate(Protocol):
    """Asked before each request, further tries included, and told what each call cost."""

    async def admit(self) -> None:
        """Wait until a request may be sent."""

    def charge(self, dollars: float) -> None:
        """Count what a call cost, as its server told."""


class _NoGate:
    """Lets everything pass."""

    async def admit(self) -> None:
        pass

    def charge(self, dollars: float) -> None:
        pass


_gates: list[Gate] = [_NoGate()]


def keep(gate: Gate) -> None:
    """Let ``gate`` decide from now on."""
    _gates.append(gate)


def at_hand() -> Gate:
    """The gate of this process."""
    return _gates[-1]
