"""A hash of the world that repeats when nothing but time has passed.

It covers the room, the score, which object is in which, the attributes that matter and the flags
that a profile names. It leaves out the move counter, clocks, the order of things on a pile,
bookkeeping such as "visited", and actors that wander about by themselves.
"""

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from game_interface.memory import Memory
    from game_interface.profile import Profile


def world_hash(memory: "Memory", profile: "Profile | None", room: int, score: int) -> str:
    """16 hexadecimal digits for the state of the world."""
    ignored = frozenset(profile.world.ignored_objects) if profile else frozenset()
    mask = _attribute_mask(memory, profile)
    values: list[object] = [room, score]
    values += [memory.area(*area) for area in (profile.world.memory if profile else ())]
    values += [memory.global_value(index) for index in (profile.world.globals if profile else ())]
    player = profile.player if profile else None
    for number in range(1, memory.image.object_count + 1):
        if number not in ignored:
            own_mask = 0 if number == player else mask  # what a parser notes on the player
            values += (memory.parent(number), memory.attributes(number) & own_mask)
    return sha256(repr(values).encode()).hexdigest()[:16]


def _attribute_mask(memory: "Memory", profile: "Profile | None") -> int:
    width = 8 * memory.image.attribute_bytes
    mask = (1 << width) - 1
    for attribute in profile.world.ignored_attributes if profile else ():
        mask &= ~(1 << (width - 1 - attribute))
    return mask
