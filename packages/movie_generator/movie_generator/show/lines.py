"""A script on a terminal: each narration, and below it the words of the page that it rests on."""

from mcp_ghost.cli.screen import Screen
from mcp_ghost.text import counted
from movie_generator.models import Narration, ScriptSection, VideoScript
from movie_generator.show.passages import narrations, passages


def show(script: VideoScript, screen: Screen) -> None:
    """Show ``script`` with its sources and images, and with what was left out of it."""
    screen.heading(script.title, script.page.url if script.page else "")
    screen.text(script.description)
    marked = {number for passage in passages(script) for number in passage.narrations}
    number = 0
    for section in script.sections:
        screen.heading(section.title, style="")
        for narration in section.narrations:
            _narration(narration, screen, known=number in marked)
            number += 1
        _pictures(section, screen)
    if script.dropped:
        screen.heading("left out", style="red")
    for lost in script.dropped or []:
        screen.text(lost.text, "red", mark="✗")
        screen.text(lost.why, "dim")
    total = len(narrations(script))
    parts = [
        (counted(total, "narration"), "bold"),
        (f"{len(marked)} with a source on the page", ""),
        (f"{counted(len(script.dropped or []), 'sentence')} left out", ""),
    ]
    screen.parts(parts)


def _narration(narration: Narration, screen: Screen, *, known: bool) -> None:
    who = f"{narration.persona_id}: " if narration.persona_id else ""
    screen.text(f"{who}{narration.text}", mark="•" if known else "?")
    if known and narration.source:
        screen.text(f"“{narration.source.quote}”", "dim")


def _pictures(section: ScriptSection, screen: Screen) -> None:
    if section.slide_prompt:
        screen.text(f"picture: {section.slide_prompt}", "cyan")
    if section.source_image_url:
        screen.text(f"image: {section.source_image_url}", "cyan")
