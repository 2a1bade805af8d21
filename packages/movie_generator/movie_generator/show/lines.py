"""A script on a terminal: each narration, and below it the words of the page that it rests on."""

from collections.abc import Iterator
from itertools import pairwise

from mcp_ghost.cli.screen import Screen
from mcp_ghost.text import counted
from movie_generator.models import VideoScript


def passages(script: VideoScript) -> Iterator[tuple[str, list[int]]]:
    """The text of the script's page in pieces, each with the numbers of narrations that rest on it.

    They count from 0 throughout the script; a source that is not where it says it is marks nothing.
    """
    text = (script.page and script.page.text) or ""
    spans = {
        number: range(source.start, source.end)
        for number, (*_, narration) in enumerate(script.narrations())
        if (source := narration.source)
        and 0 <= source.start < source.end <= len(text)
        and text[source.start : source.end] == source.quote
    }
    edges = {0, len(text), *(edge for it in spans.values() for edge in (it.start, it.stop))}
    for start, end in pairwise(sorted(edges)):
        yield text[start:end], [number for number, span in spans.items() if start in span]


def show(script: VideoScript, screen: Screen) -> None:
    """Show ``script`` with its sources and images, and with what was left out of it."""
    screen.heading(script.title, script.page.url if script.page else "")
    screen.text(script.description)
    marked = {number for _, numbers in passages(script) for number in numbers}
    number = 0
    for section in script.sections:
        screen.heading(section.title, style="")
        for narration in section.narrations:
            known = number in marked
            who = f"{narration.persona_id}: " if narration.persona_id else ""
            screen.text(f"{who}{narration.text}", mark="•" if known else "?")
            if known and narration.source:
                screen.text(f"“{narration.source.quote}”", "dim")
            number += 1
        if section.slide_prompt:
            screen.text(f"picture: {section.slide_prompt}", "cyan")
        if section.source_image_url:
            screen.text(f"image: {section.source_image_url}", "cyan")
    if script.dropped:
        screen.heading("left out", style="red")
    for lost in script.dropped or []:
        screen.text(lost.text, "red", mark="✗")
        screen.text(lost.why, "dim")
    parts = [
        (counted(number, "narration"), "bold"),
        (f"{len(marked)} with a source on the page", ""),
        (f"{counted(len(script.dropped or []), 'sentence')} left out", ""),
    ]
    screen.parts(parts)
