"""What passes between the program and the process of an engine.

Requests are pickled: whoever sends them is trusted. Answers come from where a foreign story runs
in foreign code, so they are lines of JSON, checked when they are read.
"""

import json
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from game_interface.engines.engine import EngineChoice, EngineName
from game_interface.machine.facts import Ending, Facts
from game_interface.machine.profile import Profile
from game_interface.machine.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Opening:
    """What the process is told first."""

    story: bytes
    profile: Profile | None
    engine: EngineChoice
    seed: int
    turn_seconds: float


@dataclass(frozen=True, slots=True)
class Opened:
    """The story is loaded."""

    engine: EngineName
    vocabulary: Vocabulary


@dataclass(frozen=True, slots=True)
class Moment:
    """The game after its opening, after a command, or where a snapshot continues it."""

    text: str
    facts: Facts
    seed: int
    died: bool | None
    """Whether a death happened in the last step; None where that is not known."""
    ending: Ending | None
    snapshot: str
    """Base64."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the game layer."""

    kind: str
    message: str


Answer: TypeAlias = Opened | Moment | Failure


def encode(answer: Answer) -> bytes:
    """An answer as a line; half a character, which a story can print, becomes a question mark."""
    text = json.dumps(answer, default=_plain, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def decode(line: bytes) -> Answer:
    """The answer in a line.

    Raises:
        ValueError: It is not an answer.
    """
    return _answers().validate_json(line)


def _plain(value: object) -> object:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, frozenset):
        return sorted(value)
    raise TypeError(f"{value!r} is not part of an answer")


@cache
def _answers() -> "TypeAdapter[Answer]":
    from pydantic import TypeAdapter  # not needed in the engine's process, and slow to load

    return TypeAdapter(Answer)
