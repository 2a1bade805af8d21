"""The page's text, cut where sources begin and end."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from movie_generator.models import Narration, VideoScript


@dataclass(frozen=True)
class Passage:
    """A piece of the page's text."""

    text: str
    narrations: tuple[int, ...]
    """The numbers of the narrations that rest on it."""


def narrations(script: VideoScript) -> list[Narration]:
    """All of a script, in order; their numbers are their places here, from 0."""
    return [narration for section in script.sections for narration in section.narrations]


def passages(script: VideoScript) -> Iterator[Passage]:
    """The text of the script's page; sources that are not where they say they are mark nothing."""
    text = (script.page and script.page.text) or ""
    spans = {
        number: range(source.start, source.end)
        for number, narration in enumerate(narrations(script))
        if (source := narration.source)
        and 0 <= source.start < source.end <= len(text)
        and text[source.start : source.end] == source.quote
    }
    edges = {0, len(text), *(edge for it in spans.values() for edge in (it.start, it.stop))}
    cuts = sorted(edges)
    for start, end in pairwise(cuts):
        resting = tuple(number for number, span in spans.items() if start in span)
        yield Passage(text[start:end], resting)
