"""Where the rooms of a variant of the bundled story lie, and where its things are.

The rooms of a floor lie on a grid, so that every way leads back the way it came, and a walk around
the house ends where it began.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

COMPASS = {"north": (0, 1), "east": (1, 0), "south": (0, -1), "west": (-1, 0)}
OPPOSITE = {"north": "south", "east": "west", "south": "north", "west": "east"}

Ways = dict[tuple[str, str], str]
"""Room and what it leads to -> direction."""

DOORS = {
    frozenset({"courtyard", "hall"}): "front_door",
    frozenset({"kitchen_garden", "kitchen"}): "back_door",
    frozenset({"kettle_room", "jar_room"}): "jar_door",
    frozenset({"drying_loft", "wind_walk"}): "iron_door",
}
CHOICES = {
    "gull_point": ("courtyard", "landing_stage"),
    "potting_shed": ("kitchen_garden", "courtyard"),
    "kettle_room": ("hall", "kitchen"),
    "office": ("hall", "gallery"),
    "bedroom": ("gallery", "drying_loft"),
    "cellar": ("kitchen", "hall", "kettle_room"),
}
"""Rooms that can be entered from one of several others."""

BLOCKED = {
    "landing_stage": ("sea",),
    "cliff_path": ("cove", "hill"),
    "gull_point": ("sea",),
    "kitchen_garden": ("wall",),
    "gallery": ("portrait",),
    "wind_walk": ("sky",),
    "cove": ("chute",),
}
"""Ways on which the player is told why not."""

ORIGINAL_WAYS: Ways = {
    ("landing_stage", "cliff_path"): "north",
    ("cliff_path", "courtyard"): "north",
    ("courtyard", "hall"): "north",
    ("courtyard", "kitchen_garden"): "west",
    ("hall", "kitchen"): "west",
    ("kitchen_garden", "kitchen"): "north",
    ("gallery", "drying_loft"): "north",
    ("drying_loft", "wind_walk"): "north",
    ("cellar", "snow_store"): "north",
    ("cove", "grotto"): "east",
    ("courtyard", "gull_point"): "east",
    ("kitchen_garden", "potting_shed"): "west",
    ("hall", "kettle_room"): "north",
    ("hall", "office"): "east",
    ("gallery", "bedroom"): "west",
    ("kettle_room", "jar_room"): "east",
}
_TO_THE_JARS = ("kettle_room", "jar_room")
_FIXED_LINKS = [way for way in ORIGINAL_WAYS if way[1] not in CHOICES and way != _TO_THE_JARS]
"""Rooms that always lie side by side; each begins where one before it ended."""
_MOST_AS_BEFORE = 5
"""Ways that may lead where they lead in the original."""

HOMES = {
    "lantern": "kitchen_table",
    "chamois": "rail",
    "kipper": "larder",
    "crank": "toolbox",
    "card": "drawer",
    "boots": "trunk",
    "windbag": "pegs",
    "glass_jar": "shelf",
}
"""Where the original keeps the things that change places in a variant."""

ROOM_OF = {
    "kitchen_table": "kitchen",
    "rail": "kitchen",
    "larder": "kitchen",
    "toolbox": "potting_shed",
    "drawer": "office",
    "trunk": "bedroom",
    "pegs": "drying_loft",
    "shelf": "jar_room",
    "coat_stand": "hall",
}
SHUT = ("larder", "toolbox", "drawer", "trunk")
_FORBIDDEN = {
    "drawer": ("boots", "lantern"),  # too large for it
    "toolbox": ("boots",),
    "shelf": ("kipper",),  # the key to that room is had for a kipper
}
CAN_PLACES = ("courtyard", "landing_stage", "potting_shed")


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of one variant."""

    hosts: Mapping[str, str]
    """A room of `CHOICES` -> the room that it is entered from."""
    ways: Ways
    """All level ways, both ways round, and the blocked ones."""
    places: Mapping[str, str]
    """A thing of `HOMES` -> where it is kept."""
    can_place: str
    wind: str
    """The wind that the recipe wants."""
    first_wind: str
    """Where the dial points at first."""


def draw(random: Random) -> Layout:
    """A layout in which everything that the end needs can be reached."""
    while True:
        hosts = {room: random.choice(others) for room, others in CHOICES.items()}
        links = [(host, room) for room, host in hosts.items() if room != "cellar"]
        ways = _laid_out([*_FIXED_LINKS, *links, _TO_THE_JARS], random)
        as_before = sum(ways.get(way) == direction for way, direction in ORIGINAL_WAYS.items())
        if ways and as_before <= _MOST_AS_BEFORE and _block(ways, random):
            break
    wind, first_wind = random.sample([each for each in COMPASS if each != "west"], 2)
    while True:  # none at its place in the original, and one where only the key leads
        places = dict(zip(HOMES, random.sample(list(ROOM_OF), len(HOMES)), strict=True))
        if "shelf" in places.values() and not any(
            thing in _FORBIDDEN.get(place, ()) or HOMES[thing] == place
            for thing, place in places.items()
        ):
            break
    return Layout(
        hosts=hosts,
        ways=ways,
        places=places,
        can_place=random.choice(CAN_PLACES),
        wind=wind,
        first_wind=first_wind,
    )


def _laid_out(links: list[tuple[str, str]], random: Random) -> Ways:
    """Directions for all links, or none when the rooms do not fit."""
    floors = {"landing_stage": 0, "gallery": 1, "cellar": 2, "cove": 3}
    cells = {room: (floor, 0, 0) for room, floor in floors.items()}
    ways: Ways = {}
    for here, there in links:
        floor, x, y = cells[here]
        free = [
            (direction, (floor, x + dx, y + dy))
            for direction, (dx, dy) in COMPASS.items()
            if cells.get(there, (floor, x + dx, y + dy)) == (floor, x + dx, y + dy)
            and (there in cells or (floor, x + dx, y + dy) not in cells.values())
        ]
        if not free:
            return {}
        direction, cells[there] = random.choice(free)
        ways[here, there] = direction
        ways[there, here] = OPPOSITE[direction]
    return ways


def _block(ways: Ways, random: Random) -> bool:
    """Give each refusal a direction that is still free; says whether there were enough."""
    for room, reasons in BLOCKED.items():
        taken = {direction for (here, _), direction in ways.items() if here == room}
        free = [direction for direction in COMPASS if direction not in taken]
        if len(free) < len(reasons):
            return False
        for reason, direction in zip(reasons, random.sample(free, len(reasons)), strict=True):
            ways[room, reason] = direction
    return True


def neighbours(layout: Layout, room: str) -> Iterator[tuple[str, str]]:
    """The rooms on the same floor that a room leads to, and the direction of each."""
    for (here, there), direction in layout.ways.items():
        if here == room and there not in BLOCKED.get(room, ()):
            yield there, direction
