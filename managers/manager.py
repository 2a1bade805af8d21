"""What managers have in common: they learn from records and report what they know in sections."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from managers.reflection.answer import ReflectionAnswer
from managers.reflection.evidence import EvidenceFinder
from session.game_state import GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Reflection

CHARACTERS_PER_TOKEN = 4
"""Roughly, for budgets."""
_HEADING = re.compile(r"^[^\S\n]*(?=#)", re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """A part of a prompt; the least important ones give way first."""

    title: str
    lines: tuple[str, ...]
    importance: int
    """Higher stays longer."""

    def text(self) -> str:
        """Return the section as it is sent."""
        return "\n".join([f"## {self.title}", *self.lines])


def section(title: str, lines: Iterable[str], importance: int) -> Iterator[Section]:
    """Yield a part of a prompt, unless there is nothing to say in it."""
    if told := tuple(lines):
        yield Section(title, told, importance)


class ToSumUp(NamedTuple):
    """Turns that are too many to be told word for word any longer."""

    text: str
    """What they said, after the summary of those before them."""
    until: int
    """The latest of them."""


def without_headings(text: str) -> str:
    """Words of a game or a model, with headings marked, lest they pose as parts of a prompt."""
    return _HEADING.sub(r"\g<0>\\", text)


def shortened(text: str, length: int = 70) -> str:
    """Quote a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"


class Manager:
    """One kind of knowledge. What it knows follows from what it was given, in order, alone.

    Managers are given what was carried over, then turn records and reflections as they happen; on
    resume the same again from the log. They do no I/O and know nothing of each other.
    """

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the game's first facts and what earlier episodes passed on."""

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""

    def learn(self, reflection: Reflection) -> None:
        """Learn what a reflection yielded."""

    def preamble(self) -> Iterable[Section]:
        """Return what goes into the prompt's head, and stays the same for the whole episode."""
        return ()

    def sections(self, state: GameState) -> Iterable[Section]:
        """Return what the model is told for the turn to come."""
        return ()

    def compact_lines(self, state: GameState) -> Iterable[str]:
        """Return what a very small model is told, in a line or two."""
        return ()

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterable[Section]:
        """Return what a reflection on ``records`` may confirm, change or end, with ids."""
        return ()

    def to_sum_up(self) -> ToSumUp | None:
        """Return what a reflection has to sum up, if anything."""
        return None

    def reconcile(self, answer: ReflectionAnswer, finder: EvidenceFinder) -> Mapping[str, object]:
        """Return the fields of a `Reflection` that this manager makes of the model's answer.

        Nothing changes yet: the reflection is written to the log first, then learned.
        """
        return {}
