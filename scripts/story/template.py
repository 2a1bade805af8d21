"""The marks in the source of the bundled story, at which a variant says something else.

`{{kipper}}` is a word of `words.toml`, and `{{hall>kitchen: west}}` has a label that says what the
text depends on. What a mark holds behind its label is the original's text, so that the source can
be read, and the original cannot drift from it.
"""

import re
from collections.abc import Callable
from pathlib import Path

_MARK = re.compile(r"\{\{(?:([\w.>' -]+): )?(.*?)\}\}", re.DOTALL)

Value = Callable[[str | None, str], str]
"""A variant's text for a label (None: a plain word) and the original's text."""


class TemplateError(Exception):
    """Raised when a mark cannot be read; the message names it."""


def render(source: str, value: Value) -> str:
    """The source with the value of each mark in its place.

    Raises: TemplateError when a mark is not closed, or stands in another one.
    """
    rendered = _MARK.sub(lambda mark: value(mark[1], mark[2]), source)
    if stray := re.search(r".*(\{\{|\}\}).*", rendered):
        raise TemplateError(f"a mark is not closed, or stands in another one: {stray[0].strip()}")
    return rendered


def render_folder(source: Path, target: Path, value: Value) -> Path:
    """Write the story and its parts, rendered, into a folder; returns the file to compile."""
    (target / source.stem).mkdir()
    for file in (source, *sorted((source.parent / source.stem).glob("*.inf"))):
        text = render(file.read_text(encoding="utf-8"), value)
        (target / file.relative_to(source.parent)).write_text(text, encoding="utf-8")
    return target / source.name
