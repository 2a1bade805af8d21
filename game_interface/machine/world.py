"""A hash of the world that repeats when nothing but time has passed.

It covers the room, the score, which object is in which, the attributes that matter and the flags
that a profile names. It leaves out the move counter, clocks, the order of things on a pile,
bookkeeping such as "visited", and actors that wander about by themselves.
"""

from hashlib import sha256

from stories.memory import MachineMemory
from stories.profile import Profile


def world_hash(memory: MachineMemory, profile: Profile, room: int, score: int) -> str:
    """16 hexadecimal digits for the state of the world."""
    world = profile.world
    width = 8 * memory.image.attribute_bytes
    mask = (1 << width) - 1
    for attribute in world.ignored_attributes:
        mask &= ~(1 << (width - 1 - attribute))
    values: list[object] = [room, score]
    values += [memory.area(*area) for area in world.memory]
    values += [memory.global_value(index) for index in world.globals]
    for number in range(1, memory.image.object_count + 1):
        if number not in world.ignored_objects:
            own_mask = 0 if number == profile.player else mask  # what a parser notes on the player
            values += (memory.parent(number), memory.attributes(number) & own_mask)
    return sha256(repr(values).encode()).hexdigest()[:16]
