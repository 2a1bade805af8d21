"""Questions on the terminal: a server's, as a form, and whether a call may be made."""

import asyncio
import os
import re
import shutil
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mcp_ghost.cli.picture import LINE_END, lines, picture, word
from mcp_ghost.cli.screen import Screen
from mcp_ghost.redact import names_a_secret
from mcp_ghost.text import counted
from mcp_ghost.toolset import Allowed

Field: TypeAlias = Mapping[str, Any]
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_LINES_AROUND = 6
"""Of a question: its heading, what follows its picture, and the answer."""


class Person:
    """Whoever sits at the terminal: asked one thing at a time, by servers and before calls."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._turn = asyncio.Lock()

    async def fill_in(
        self, server: str, message: str, schema: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The answers to a server's form, by name; None when the input ended instead."""
        fields = schema.get("properties") or {}
        async with self._turn:
            self._screen.idle()
            self._screen.text(f"The server {word(server)} asks:", "bold", mark="?")
            self._screen.exact(self._screen.rows(f"│ {line}" for line in lines(message)))
            self._screen.text("Enter ends each answer, Ctrl-D declines.", "dim")
            answers: dict[str, Any] = {}
            forget_input()
            try:
                for name, field in fields.items():
                    await self._ask(answers, name, field, schema.get("required") or ())
            except EOFError:
                self._screen.text("declined", "yellow", mark="!")
                return None
            return answers

    async def _ask(
        self, answers: dict[str, Any], name: str, field: Field, required: Sequence[str]
    ) -> None:
        """Ask until the answer fits; an empty one leaves out what need not be there."""
        label = _label(name, field)
        if looks_secret(name, field):
            warning = "This looks like a secret, which no server may ask for in this way."
            self._screen.text(warning, "yellow", mark="!")
        while name not in answers:
            text = (await line_after(f"   {label}: ")).strip()
            if not text and ("default" in field or name not in required):
                return
            try:
                answers[name] = value_of(field, text)
            except ValueError as error:
                self._screen.text(str(error), "yellow", mark="!")

    async def approve(
        self, tool_name: str, arguments: dict[str, Any], annotations: dict[str, Any]
    ) -> bool | str | Allowed:
        """True, always, or why not; an answer that is neither yes nor no is the reason."""
        async with self._turn:
            try:
                said = (await self._asked(tool_name, arguments, annotations)).strip()
            except EOFError:
                return "nobody answers"
        if said.lower() in ("a", "always"):
            return Allowed.ALWAYS
        if said.lower() in _YES:
            return True
        return False if said.lower() in ("", *_NO) else said

    async def _asked(
        self, tool_name: str, arguments: dict[str, Any], annotations: dict[str, Any]
    ) -> str:
        """The answer to a question that was shown to its end."""
        screen, drawn = self._screen, picture(arguments)
        rows = screen.rows(drawn)
        screen.idle()
        screen.text(f"The model wants to call {word(tool_name)}", "bold", mark="?")
        page = max(shutil.get_terminal_size().lines - _LINES_AROUND, 8)
        for start in range(0, len(rows), page):
            screen.exact(rows[start : start + page])
            if (shown := start + page) < len(rows):
                forget_input()
                prompt = f"   Lines 1 to {shown:,} of {len(rows):,}. Enter shows more, n refuses: "
                if (await line_after(prompt)).strip().lower() in _NO:
                    return "n"
        characters = counted(sum(map(len, drawn)), "character")
        hints = ", ".join(name for name in _HINTS if annotations.get(name) is True)
        screen.text(f"That is all: {characters} in {counted(len(rows), 'line')}.", "dim")
        said = f"The tool's annotations: {hints}." if hints else "The tool has no annotations."
        screen.text(said, "dim")
        forget_input()
        return await line_after("   y = yes, n = no, a = always in this run, or say why not: ")


def value_of(field: Field, text: str) -> str | float | bool | list[str]:
    """What somebody means who answers ``text``.

    Raises:
        ValueError: It does not fit; the message says what would.
    """
    kind = field.get("type", "string")
    if kind == "array":
        items = field.get("items", {})
        return [_chosen(items, part.strip()) for part in text.split(",") if part.strip()]
    if kind == "boolean":
        if text.lower() not in (*_YES, *_NO):
            raise ValueError("yes or no?")
        return text.lower() in _YES
    if kind in ("integer", "number"):
        try:
            number = int(text) if kind == "integer" else float(text)
        except ValueError:
            whole = "whole " if kind == "integer" else ""
            raise ValueError(f"a {whole}number is needed") from None
        if not field.get("minimum", number) <= number <= field.get("maximum", number):
            raise ValueError(f"from {field.get('minimum', '…')} to {field.get('maximum', '…')}")
        return number
    if not text:
        raise ValueError("an answer is needed")
    return _chosen(field, text)


def _chosen(field: Field, text: str) -> str:
    """``text``, or the choice that it names by value, title or number."""
    choices = dict(_choices(field))
    if not choices or text in choices:
        return text
    titles = {title.lower(): value for value, title in choices.items()}
    if text.lower() in titles:
        return titles[text.lower()]
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return [*choices][int(text) - 1]
    raise ValueError(f"one of: {', '.join(choices)}")


def _choices(field: Field) -> Iterator[tuple[str, str]]:
    """Values and titles, in each of the ways in which a schema may list them."""
    for option in field.get("oneOf") or field.get("anyOf") or ():
        yield str(option["const"]), str(option.get("title", option["const"]))
    values = field.get("enum") or ()
    names = field.get("enumNames") or values
    for value, title in zip(values, names, strict=False):
        yield str(value), str(title)


def looks_secret(name: str, field: Field) -> bool:
    """Whether a question is for what nobody may know."""
    words = f"{name} {_label(name, field)} {field.get('format')}"
    return any(map(names_a_secret, re.findall(r"\w+", words)))


def _label(name: str, field: Field) -> str:
    choices = [*_choices(field), *_choices(field.get("items", {}))]
    listed = ", ".join(f"{number} {title}" for number, (_, title) in enumerate(choices, start=1))
    kind = "y/n" if field.get("type") == "boolean" else listed
    asked = str(field.get("title") or name)
    about = [str(it) for it in (field.get("description"), kind) if it]
    default = f" [{field['default']}]" if "default" in field else ""
    label = asked + (f" ({'; '.join(about)})" if about else "") + default
    return "⟨U+000A⟩".join(it.removesuffix(LINE_END) for it in lines(label))


def forget_input() -> None:
    """Drop what was typed before the question that follows could be read."""
    if os.isatty(sys.stdin.fileno()):
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def line_after(prompt: str) -> str:
    """The next line of standard input; waiting for it can be cancelled, unlike in a thread.

    Raises:
        EOFError: There is none.
    """
    sys.stderr.write(prompt)
    sys.stderr.flush()
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
    line = os.read(descriptor, 4096)  # a terminal hands over whole lines
    if not line:
        sys.stderr.write("\n")
        raise EOFError
    return line.decode(errors="replace")
