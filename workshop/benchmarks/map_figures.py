"""How good an episode's map is: what points the wrong way, crosses, or runs through rooms.

    uv run python workshop/benchmarks/map_figures.py latest --workdir game_files

A passage points the wrong way where its end lies more than 45 degrees off the direction that was
walked. "Askew" counts what is off by less: a way back that turns a corner cannot be straight.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from math import atan2, degrees
from pathlib import Path

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ghost.cli.arguments import Parser  # noqa: E402
from mcp_ghost.cli.program import DONE, Errors, program  # noqa: E402
from mcp_ghost.results import JSONObject  # noqa: E402
from session.game_configuration import ConfigurationError  # noqa: E402
from viewer.library import Library  # noqa: E402
from viewer.map.links import COMPASS, Spot  # noqa: E402

COLUMN, ROW = 148, 84
"""Pixels between rooms, as the page draws them."""
BOX = (110, 40)
"""Pixels of a room."""
Line = tuple[Spot, Spot]


def figures(drawn: JSONObject) -> dict[str, float]:
    """The figures of a map of the form of an episode's ``map``."""
    rooms = {room["id"]: room for room in drawn["rooms"]}
    spots = {room: (it["x"], it["y"]) for room, it in rooms.items()}
    walked = [it for it in drawn["passages"] if it["from"] != it["to"]]
    compass = [it for it in walked if it["direction"] in COMPASS]
    level = {room: it["level"] for room, it in rooms.items()}
    on_sheet = [it for it in walked if level[it["from"]] == level[it["to"]]]
    flat = [it for it in compass if it in on_sheet]
    off = [_off(COMPASS[it["direction"]], spots[it["from"]], spots[it["to"]]) for it in flat]
    pairs = {frozenset((it["from"], it["to"])) for it in on_sheet}
    lines = [(spots[one], spots[two]) for one, two in map(tuple, pairs)]
    across, down = ([spot[axis] for spot in spots.values()] for axis in (0, 1))
    width, height = max(across) - min(across) + 1, max(down) - min(down) + 1
    return {
        "rooms": len(rooms),
        "levels": len(set(level.values())),
        "passages on the compass": len(compass),
        "between levels": len(compass) - len(flat),
        "wrong directions": sum(it > 45.01 for it in off),
        "askew": sum(0.01 < it <= 45.01 for it in off),
        "lines through rooms": sum(
            _passes(line, spot) for line in lines for spot in spots.values()
        ),
        "crossings": sum(_cross(*one, *two) for one, two in combinations(lines, 2)),
        "columns": width,
        "rows": height,
        "width to height": round(width * COLUMN / (height * ROW), 2),
    }


def _off(side: Spot, start: Spot, end: Spot) -> float:
    """Degrees between the direction walked and the one drawn."""
    across, down = end[0] - start[0], end[1] - start[1]
    off = abs(degrees(atan2(down, across) - atan2(side[1], side[0]))) % 360
    return min(off, 360 - off)


def _passes(line: Line, spot: Spot) -> bool:
    """Whether a line runs through the box of a room that is at neither of its ends."""
    if spot in line:
        return False
    (x, y), (end_x, end_y) = line
    return any(
        abs(x + (end_x - x) * n / 200 - spot[0]) * COLUMN < BOX[0] / 2
        and abs(y + (end_y - y) * n / 200 - spot[1]) * ROW < BOX[1] / 2
        for n in range(201)
    )


def _cross(a: Spot, b: Spot, c: Spot, d: Spot) -> bool:
    if {a, b} & {c, d}:
        return False
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Spot, b: Spot, c: Spot) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _lines(drawn: JSONObject) -> Iterator[str]:
    for name, figure in figures(drawn).items():
        yield f"{name:<24} {figure:>7}"


def main() -> int:
    """Print the figures of one episode."""
    parser = Parser(
        prog="workshop/benchmarks/map_figures.py", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("episode", metavar="EPISODE", help="its name, its folder, or 'latest'")
    parser.add_argument("--workdir", type=Path, default=Path("game_files"), metavar="DIR")
    flags = parser.parse_args()

    def run() -> int:
        print("\n".join(_lines(Library(flags.workdir).find(flags.episode).map.json())))
        return DONE

    return program("map_figures", run, lambda: Errors(wrong_use=(ConfigurationError,)))


if __name__ == "__main__":
    sys.exit(main())
