"""Make a story's profile from the compiler's debug information.

    inform6 -k story.inf story.z5        # writes gameinfo.dbg beside it
    uv run python scripts/story/make_profile.py story.z5 gameinfo.dbg

Writes story.profile.json. For files that Jericho supports, workshop/story/learned_profile.py makes
one by playing its walkthrough.

The program finds a profile beside the story file that it is made for. With it the game's room,
score, things, exits, darkness and endings are known; without it little more than its text is. The
story must use the standard library 6/11 or 6/12 and keep the player in `selfobj`. The numbers
change with every build, so make the profile again after each.

What counts as a change of the world, for telling progress from dithering, is everything but time:
the object tree, the attributes except `visited`, `moved` and `workflag`, and all properties except
`time_left` and the library's own notes. Name globals that hold the state of a puzzle with
--state-global, and creatures that wander about by themselves with --wanderer.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from pydantic import TypeAdapter

from game_interface.errors import StoryFormatError
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, Errors, program
from session.perception.directions import DIRECTIONS
from stories.memory import MachineMemory, StoryImage
from stories.profile import (
    PROFILE_SUFFIX,
    Attributes,
    EndingGlobal,
    Globals,
    GlobalTest,
    Inform,
    Profile,
    WorldHash,
)

Area = tuple[int, int]
FIXED = ("scenery", "static", "animate")
BOOKKEEPING = ("visited", "moved", "workflag")
CLOCK = "time_left"
LIBRARY_NOTES = ("ext_number_1",)


class DebugInfo:
    """The numbers that the compiler gave to the names of a story."""

    def __init__(self, path: Path, image: StoryImage) -> None:
        """Read a gameinfo.dbg file.

        Raises: StoryFormatError when it is not such a file.
        """
        try:
            self._root = ET.parse(path).getroot()  # noqa: S314 - the user's own compiler wrote it
        except (OSError, ET.ParseError) as error:
            raise StoryFormatError(
                f"{path} is not debug information of Inform 6: {error}"
            ) from error
        self._image = image
        self._path = path

    def number(self, kind: str, name: str) -> int:
        """The value of a constant, object, attribute or property."""
        return int(self._entry(kind, name).findtext("value", ""))

    def global_index(self, name: str) -> int:
        """The number of a global variable, counted from 0."""
        address = int(self._entry("global-variable", name).findtext("address", ""))
        return (address - self._image.globals_table) // 2

    def section(self, name: str) -> tuple[int, int]:
        """Start and end of a part of the story file."""
        section = self._entry("story-file-section", name, key="type")
        return int(section.findtext("address", "")), int(section.findtext("end-address", ""))

    def _entry(self, kind: str, name: str, *, key: str = "identifier") -> ET.Element:
        for entry in self._root.iter(kind):
            if entry.findtext(key) == name:
                return entry
        raise StoryFormatError(f"{self._path} has no {kind} {name!r}")


def make_profile(
    image: StoryImage,
    debug: DebugInfo,
    *,
    state_globals: Sequence[str] = (),
    wanderers: Sequence[str] = (),
) -> Profile:
    """The profile of a story.

    Raises: StoryFormatError when a name of the library or of the caller is missing.
    """
    return Profile(
        sha256=image.sha256,
        title=image.packed_text(debug.number("constant", "Story")),
        max_score=debug.number("constant", "MAX_SCORE"),
        player=debug.number("object", "selfobj"),
        globals=Globals(
            room=debug.global_index("real_location"),
            score=debug.global_index("score"),
            moves=debug.global_index("turns"),
        ),
        dark_when=GlobalTest(
            index=debug.global_index("location"), value=debug.number("object", "thedark")
        ),
        ending=EndingGlobal(index=debug.global_index("deadflag")),
        attributes=Attributes(
            open=debug.number("attribute", "open"),
            transparent=debug.number("attribute", "transparent"),
            surface=debug.number("attribute", "supporter"),
            hidden=debug.number("attribute", "concealed"),
            door=debug.number("attribute", "door"),
            fixed=tuple(debug.number("attribute", name) for name in FIXED),
            openable=(debug.number("attribute", "openable"),),
        ),
        directions={
            word: debug.number("property", f"{short}_to")
            for short, word in {**DIRECTIONS, "in": "in", "out": "out"}.items()
        },
        inform=Inform(
            strings_start=debug.section("strings area")[0] // image.packed_scale,
            door_to=debug.number("property", "door_to"),
            found_in=debug.number("property", "found_in"),
            short_name=debug.number("property", "short_name"),
        ),
        world=WorldHash(
            ignored_objects=tuple(debug.number("object", name) for name in wanderers),
            ignored_attributes=tuple(debug.number("attribute", name) for name in BOOKKEEPING),
            globals=tuple(debug.global_index(name) for name in state_globals),
            memory=tuple(_property_areas(image, debug)),
        ),
    )


def as_json(profile: Profile) -> bytes:
    """The profile as its file holds it."""
    return TypeAdapter(Profile).dump_json(profile, indent=2, exclude_none=True) + b"\n"


def _property_areas(image: StoryImage, debug: DebugInfo) -> Iterator[Area]:
    """Where the properties lie that make up the state of the world, with gaps between them."""
    memory = MachineMemory(image, image.data[: image.dynamic_size])
    clock = debug.number("property", CLOCK)
    numbers = range(1, image.object_count + 1)
    clocks = ((a, z) for n in numbers for it, a, z in memory.properties(n) if it == clock)
    holes = sorted((*clocks, *_library_notes(image, debug)))
    for section in ("common properties", "individual properties"):
        start, end = debug.section(section)
        for hole_start, hole_end in holes:
            if start <= hole_start < end:
                yield start, hole_start
                start = hole_end
        yield start, end


def _library_notes(image: StoryImage, debug: DebugInfo) -> Iterator[Area]:
    """Individual properties: tables of number, size and data, each ended by number 0."""
    notes = set()
    for name in LIBRARY_NOTES:
        with suppress(StoryFormatError):  # other releases of the library have others
            notes.add(debug.number("property", name))
    address, end = debug.section("individual properties")
    while address < end:
        prop = image.word(address) & 0x7FFF
        if not prop:
            address += 2
            continue
        data = address + 3
        address = data + image.data[address + 2]
        if prop in notes:
            yield data, address


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the profile and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("story", type=Path, help="the compiled story file")
    parser.add_argument("debug_info", type=Path, help="gameinfo.dbg of the same build")
    parser.add_argument("-o", "--output", type=Path, help="default: next to the story file")
    about = "a global that holds the state of a puzzle; may be repeated"
    parser.add_argument("--state-global", action="append", default=[], metavar="NAME", help=about)
    about = "a creature that wanders about by itself; may be repeated"
    parser.add_argument("--wanderer", action="append", default=[], metavar="OBJECT", help=about)
    options = parser.parse_args(arguments)
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program("make_profile.py", lambda: _write(options), lambda: errors)


def _write(options: argparse.Namespace) -> int:
    image = StoryImage(options.story.read_bytes())
    profile = make_profile(
        image,
        DebugInfo(options.debug_info, image),
        state_globals=options.state_global,
        wanderers=options.wanderer,
    )
    output = options.output or options.story.with_name(options.story.stem + PROFILE_SUFFIX)
    output.write_bytes(as_json(profile))
    print(f"{output}: {profile.title}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
