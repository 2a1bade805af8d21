"""The solution of a variant of the bundled story, derived from its layout and its words."""

from collections.abc import Callable, Iterable

from scripts.story.layout import BLOCKED, HOMES, ROOM_OF, SHUT, Layout

_NAMES = {
    "lantern": "storm lantern",
    "chamois": "chamois leather",
    "crank": "crank handle",
    "card": "recipe card",
    "boots": "lead boots",
    "windbag": "wind bag",
    "glass_jar": "glass jar",
}


def derive(layout: Layout, word: Callable[[str], str]) -> list[str]:
    """The commands that win, `word` being what the variant calls what the original calls so."""
    walk = _Walk(layout, word)
    walk.do("read {letter}")
    reachable = {thing for thing, place in layout.places.items() if place != "shelf"}
    walk.gather([*reachable, "watering_can"])
    walk.to("gull_point", "give {kipper} to {gull}", "take {brass key}")
    walk.to("kettle_room", "unlock {narrow door} with {brass key}", "open {narrow door}")
    walk.gather(HOMES.keys() - reachable)
    walk.to("courtyard", "fill {watering can}")
    walk.to("observatory", "put {crank handle} in {winch}", "turn {winch}")
    walk.do("clean {great lens} with {chamois leather}", "open {glass jar}")
    walk.do("put {glass jar} on {pedestal}", "close {glass jar}", "take {jar} of {sunbeam}")
    walk.to("drying_loft", "wear {lead boots}")
    walk.to("wind_walk", f"turn {{wind rose}} to {layout.wind}", "open {wind bag}")
    walk.to("drying_loft", "take off {lead boots}")
    walk.to(layout.hosts["cellar"], "turn on {storm lantern}", "open {trapdoor}")
    walk.to("snow_store", "open {birdcage}", "pour water on cloud")
    walk.to("grotto", "take {pearly shell}")
    walk.to("kitchen_garden", "take {cupped leaf}")
    walk.to("kettle_room", "put {jar} of {sunbeam} in {kettle}")
    walk.do(f"put {{bag}} of {layout.wind} wind in {{kettle}}", "put {cupped leaf} in {kettle}")
    walk.do("put {pearly shell} in {kettle}", "put {recipe card} in {slot}", "pull {lever}")
    return walk.commands


class _Walk:
    """A walk through the house, as the commands for it."""

    def __init__(self, layout: Layout, word: Callable[[str], str]) -> None:
        self.commands: list[str] = []
        self._layout = layout
        self._word = word
        self._here = "landing_stage"
        ways = [
            ("hall", "up", "gallery"),
            ("gallery", "down", "hall"),
            ("gallery", "up", "observatory"),
            ("observatory", "down", "gallery"),
            (layout.hosts["cellar"], "down", "cellar"),
            ("cellar", "up", layout.hosts["cellar"]),
            ("snow_store", "down", "cove"),
            ("cove", "up", "cliff_path"),
        ]
        ways += [(here, way, there) for (here, there), way in layout.ways.items()]
        bolted = {"kitchen_garden", "kitchen"}
        self._map: dict[str, list[tuple[str, str]]] = {room: [] for room, *_ in ways}
        for here, direction, there in ways:
            if there not in BLOCKED.get(here, ()) and {here, there} != bolted:
                self._map[here].append((direction, there))

    def do(self, *actions: str) -> None:
        for action in actions:
            parts = action.replace("}", "{").split("{")
            said = (self._word(part) if i % 2 else part for i, part in enumerate(parts))
            self.commands.append("".join(said))

    def to(self, room: str, *actions: str) -> None:
        self.commands += self._way(room)
        self._here = room
        self.do(*actions)

    def gather(self, things: Iterable[str]) -> None:
        """Take these things, always the nearest one next."""
        left = sorted(things)
        while left:
            thing = min(left, key=lambda each: len(self._way(self._room(each))))
            left.remove(thing)
            self.to(self._room(thing))
            place = self._layout.places.get(thing)
            if place in SHUT:
                self.do(f"open {{{place}}}")
            self.do(f"take {{{_NAMES.get(thing, thing.replace('_', ' '))}}}")

    def _room(self, thing: str) -> str:
        if thing in self._layout.places:
            return ROOM_OF[self._layout.places[thing]]
        return self._layout.can_place

    def _way(self, goal: str) -> list[str]:
        """The shortest way there, through open doors."""
        rooms, ways = [self._here], {self._here: list[str]()}
        for room in rooms:  # which grow meanwhile
            for direction, there in self._map[room]:
                if there not in ways:
                    ways[there] = [*ways[room], direction]
                    rooms.append(there)
        return ways[goal]
