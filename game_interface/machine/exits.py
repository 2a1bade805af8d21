"""The exits of a room, read from the room's own properties without taking a step.

Infocom's compiler distinguishes five kinds of exit by the length of the property (1 a room, 2 a
refusal, 3 a routine, 4 a room while a flag is set, 5 a room behind a door). The Inform 6 library
stores one word: a room, a door object, a refusal, or a routine.
"""

from dataclasses import dataclass
from typing import Literal

from stories.memory import MachineMemory, StoryImage
from stories.profile import Inform, Profile

_FIRST_GLOBAL = 16  # variable numbers 0 to 15 are the stack and the locals


@dataclass(frozen=True, slots=True)
class Exit:
    """A way out of the room."""

    direction: str
    room_id: int | None
    room_name: str | None
    kind: Literal["open", "door", "blocked", "conditional"]
    note: str | None = None
    """blocked: what the game says; door: its name and whether it is open."""


class ExitReader:
    """Reads exits out of the memory of one story."""

    def __init__(self, image: StoryImage, profile: Profile) -> None:
        self._image = image
        self._profile = profile

    def read(self, memory: MachineMemory, room: int) -> tuple[Exit, ...]:
        """Return the exits of a room, in the profile's order of directions."""
        ways = (self._exit(memory, room, *it) for it in self._profile.directions.items())
        return tuple(way for way in ways if way)

    def _exit(self, memory: MachineMemory, room: int, direction: str, prop: int) -> Exit | None:
        data = memory.property_data(room, prop)
        size = len(data)
        if not any(data):
            return None
        if inform := self._profile.inform:
            value = int.from_bytes(data[:2], "big")
            if memory.exists(value):
                if memory.has(value, self._profile.attributes.door):
                    beyond = _beyond(memory, value, room, inform)
                    return self._door(memory, direction, value, beyond)
                return Exit(direction, value, self._image.name(value), "open")
            if value >= inform.strings_start:
                return self._blocked(direction, value)
        elif size == 2 or (size == 4 and not memory.global_value(data[1] - _FIRST_GLOBAL)):
            return self._blocked(direction, int.from_bytes(data[-2:], "big"))
        elif size in (1, 4):
            return Exit(direction, data[0], self._image.name(data[0]), "open")
        elif size == 5:
            return self._door(memory, direction, data[1], data[0])
        return Exit(direction, None, None, "conditional")

    def _blocked(self, direction: str, packed: int) -> Exit | None:
        """Return a refusal; one without words is not an exit: the game does not tell them apart."""
        if not packed:
            return None
        note = " ".join(self._image.packed_text(packed).split())
        return Exit(direction, None, None, "blocked", note)

    def _door(
        self, memory: MachineMemory, direction: str, door: int, room: int | None
    ) -> Exit | None:
        attributes = self._profile.attributes
        if memory.has(door, attributes.hidden):
            return None
        state = "open" if memory.has(door, attributes.open) else "closed"
        name = self._image.name(room) if room else None
        return Exit(direction, room, name, "door", f"{self._image.name(door)} ({state})")


def _beyond(memory: MachineMemory, door: int, room: int, inform: Inform) -> int | None:
    """Find where an Inform door leads: by its own word for it, or the other of its two rooms."""
    target = int.from_bytes(memory.property_data(door, inform.door_to)[:2], "big")
    if memory.exists(target):
        return target
    data = memory.property_data(door, inform.found_in)
    rooms = {int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)}
    others = [other for other in rooms - {room} if memory.exists(other)]
    return others[0] if len(others) == 1 else None
