"""What a story's memory means: one profile per story, found by the sha256 of its trimmed image.

The Z-machine fixes where objects and globals are, not what they stand for; that differs from one
story, and from one release of it, to the next. Numbers of globals, objects, attributes and
properties are the Z-machine's own, globals counted from 0.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from mcp_ghost.files import read_regular
from mcp_ghost.text import reason
from stories.errors import StoryFormatError
from stories.memory import MachineMemory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

STORIES = Path(__file__).resolve().parent
PROFILE_SUFFIX = ".profile.json"
GAMES_FILE = "games.json"
"""Known games in a list, each with its profile."""
ScoreForm: TypeAlias = Literal["number", "negated"]


class _ProfilePart:
    """Checked by pydantic where it is read, and loaded without it where the game is played."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  pydantic's own name for it


@dataclass(frozen=True, kw_only=True)
class Globals(_ProfilePart):
    """Which global variable holds what; None where none is known to."""

    room: int | None = None
    """The room that the player is in, also in the dark."""
    score: int | None = None
    score_form: ScoreForm = "number"
    """Whether it is counted down."""
    moves: int | None = None
    deaths: int | None = None
    """How often the player died and the game went on."""


@dataclass(frozen=True, kw_only=True)
class GlobalTest(_ProfilePart):
    """A statement that is true while a global has a value."""

    index: int
    value: int


@dataclass(frozen=True, kw_only=True)
class EndingGlobal(_ProfilePart):
    """A global that says how the game ended; other values than these mean that it goes on."""

    index: int
    death: tuple[int, ...] = (1,)
    victory: tuple[int, ...] = (2,)


@dataclass(frozen=True, kw_only=True)
class Attributes(_ProfilePart):
    """Attribute numbers; None where the story has no such attribute."""

    open: int | None = None
    transparent: int | None = None
    surface: int | None = None
    hidden: int | None = None
    """Set on things that the player cannot know of."""
    door: int | None = None
    portable: int | None = None
    """Set on things that can be carried."""
    fixed: tuple[int, ...] = ()
    """Where no such attribute exists: set on things that cannot be."""
    openable: tuple[int, ...] = ()

    def allow_carrying(self, memory: MachineMemory, number: int) -> bool | None:
        """Return whether an object can be carried; None where the attributes do not tell."""
        if self.portable is not None:
            return memory.has(number, self.portable)
        if self.fixed:
            return not any(memory.has(number, attribute) for attribute in self.fixed)
        return None


@dataclass(frozen=True, kw_only=True)
class Inform(_ProfilePart):
    """What exits of an Inform 6 library story need beyond the directions."""

    strings_start: int
    """The first packed address that is a string; lower ones are routines."""
    door_to: int
    found_in: int
    short_name: int | None = None


@dataclass(frozen=True, kw_only=True)
class WorldHash(_ProfilePart):
    """What counts as a change of the world."""

    ignored_objects: tuple[int, ...] = ()
    """Actors that wander about by themselves."""
    ignored_attributes: tuple[int, ...] = ()
    """Bookkeeping such as "visited"."""
    globals: tuple[int, ...] = ()
    """Flags of puzzles that no object shows; never clocks."""
    memory: tuple[tuple[int, int], ...] = ()
    """Areas of the dynamic memory, [start, end), for example properties of things."""


@dataclass(frozen=True, kw_only=True)
class Profile(_ProfilePart):
    """The meaning of one story's memory."""

    sha256: str
    title: str
    max_score: int | None = None
    score_is_victory: bool = False
    """Whether the story keeps no score, and one point for winning is what it is measured by."""
    player: int | None = None
    lists_more: bool = False
    """Whether the story says that the player has things, such as money, that no object holds."""
    rooms: int | None = None
    """Where no global holds the room: the object that all rooms are in; None: they are in none."""
    globals: Globals = Globals()
    dark_when: GlobalTest | None = None
    ending: EndingGlobal | None = None
    ending_lines: Mapping[str, Literal["death", "victory"]] = field(default_factory=dict)
    """Where no global tells: `line_digest` of a line that only this ending prints."""
    deaths_are_final: bool = True
    """Whether every death is known to end the game, or to be counted by a global."""
    attributes: Attributes = Attributes()
    directions: Mapping[str, int] = field(default_factory=dict)
    """Full direction words and their properties, in the order in which exits are listed."""
    inform: Inform | None = None
    """None: exits are encoded as Infocom's compiler did it."""
    scenery_property: int | None = None
    """A room's list of things that it shares with other rooms, one object number a byte."""
    world: WorldHash = WorldHash()

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError("sha256 must be 64 hexadecimal digits")


NO_PROFILE = Profile(sha256="0" * 64, title="")
"""Stands for the profile of a story that has none: it knows of nothing."""


@cache
def _reader() -> "TypeAdapter[Profile]":
    from pydantic import TypeAdapter  # slow to load

    return TypeAdapter(Profile)


def read_profile(path: Path) -> Profile:
    """Read and check a profile.

    Raises: StoryFormatError that names the file and the wrong field.
    """
    from pydantic import ValidationError

    try:
        return _reader().validate_json(read_regular(path))
    except (OSError, ValidationError) as error:
        raise StoryFormatError(
            f"the story profile {path} cannot be used: {reason(error)}"
        ) from error


def find_profile(sha256: str, folders: Iterable[Path]) -> Profile | None:
    """Return the profile of the story with this hash from the first folder that has one.

    Else it is that of a known game, if the story is one.
    """
    for folder in folders:
        for path in sorted(folder.glob(f"*{PROFILE_SUFFIX}")):
            try:
                document = json.loads(read_regular(path))
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(document, dict) and document.get("sha256") == sha256:
                return read_profile(path)
    games = json.loads((STORIES / GAMES_FILE).read_bytes())["games"]
    for profile in (game["profile"] for game in games):
        if profile["sha256"] == sha256:
            return _reader().validate_python(profile)
    return None
