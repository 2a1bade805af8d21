"""What interpreters built with RemGlk say, and what they keep of the screen: JSON.

The protocol is that of RemGlk 0.3 (https://eblong.com/zarf/glk/remglk/docs.html). Windows are told
apart by what they are for ("rock"): bocfel has 1 for the story, 2 above it, 3 for the status line
of early versions and 4 for its own messages. Their numbers depend on the clock.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from game_interface.errors import EngineError
from game_interface.machine.facts import Waits

FATAL: Final = "Fatal error: "
"""How bocfel begins to say that it gives up; glulxe says it in the story's window."""
GLULXE_FATAL: Final = "Glulxe fatal error: "
KEYS: Final = {"space": " ", "enter": "return"}
"""The names of keys that differ in commands and in the protocol."""
_MESSAGES, _EARLY_STATUS = 4, 3
_STATUS_ROWS: Final = 2
"""A window of more rows is more than a status line."""
_CHANGING: Final = re.compile(r"[\d\s:.,-]+")


class Update(NamedTuple):
    """One document, understood."""

    generation: int
    text: str
    drawn: Mapping[int, str]
    """Rows that changed in a window above the story's, by their numbers."""
    echo: str | None
    """The command, as the interpreter repeats it; None where it does not."""
    was_cleared: bool
    """Whether the story's window was, with all that stood in it."""
    messages: str
    """What the interpreter itself says."""
    waits_for: Waits | None
    """None after the end, or where the name of a file is asked for."""
    window: int
    """The one that waits."""
    longest: int
    """The characters that a line may have."""
    asks_for_file: bool
    ended: bool


class Above(NamedTuple):
    """What stands above the story's text."""

    status: tuple[str, ...] = ()
    """The rows of the status line."""
    upper: str = ""
    """What else is shown: a menu, a quotation, a form."""


def input_event(generation: int, window: int, waits_for: Waits, command: str) -> bytes:
    """Return the document that answers with a line, or with a key."""
    kind, value = ("char", KEYS.get(command, command)) if waits_for == "key" else ("line", command)
    event = {"type": kind, "gen": generation, "window": window, "value": value}
    return json.dumps(event, ensure_ascii=False).encode()


def no_file_event(generation: int) -> bytes:
    """Return the document that names no file: a story neither writes files nor reads any."""
    event = {"type": "specialresponse", "gen": generation, "response": "fileref_prompt"}
    return json.dumps({**event, "value": None}).encode()


def understood(output: bytes, windows: Sequence[Mapping[str, Any]]) -> Update:
    """Return what a document says, which follows a state with these windows.

    Raises: EngineError when it is an error, or no such document.
    """
    try:
        document = json.loads(output.decode(errors="replace"))
        if document["type"] != "update":
            raise EngineError(f"the interpreter reported an error: {document['message']}")
        return _read(document, {it["tag"]: it["rock"] for it in windows})
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise EngineError(f"the interpreter's answer cannot be read ({error!r})") from error


def _read(document: Mapping[str, Any], rocks: dict[int, int]) -> Update:
    rocks.update((it["id"], it["rock"]) for it in document.get("windows", ()))
    text, messages, echo, was_cleared = "", "", None, False
    drawn: dict[int, str] = {}
    for content in document.get("content", ()):
        printed = ""
        for number, paragraph in enumerate(content.get("text", ())):
            spans = list(paragraph.get("content", ()))
            if number == 0 and spans and spans[0]["style"] == "input":
                echo = spans.pop(0)["text"]
            printed += "" if paragraph.get("append") else "\n"
            printed += "".join(span["text"] for span in spans)
        for line in content.get("lines", ()):
            drawn[line["line"]] = "".join(span["text"] for span in line.get("content", ())).rstrip()
        if rocks.get(content["id"]) == _MESSAGES:
            messages += printed
        else:
            text += printed
            was_cleared = was_cleared or bool(content.get("clear"))
    asked = document.get("input", ())
    kinds_asked = (it for it in asked if it.get("type") in ("line", "char"))
    waiting: Mapping[str, Any] = next(kinds_asked, {})
    kinds: Mapping[str | None, Waits] = {"line": "line", "char": "key"}
    return Update(
        generation=int(document["gen"]),
        text=text.encode("utf-8", "replace").decode(),  # a story can print half a character
        drawn=drawn,
        echo=echo,
        was_cleared=was_cleared,
        messages=messages.strip(),
        waits_for=kinds.get(waiting.get("type")),
        window=int(waiting.get("id", 0)),
        longest=int(waiting.get("maxlen", 0)),
        asks_for_file="specialinput" in document,
        ended=bool(document.get("exit")),
    )


def above(library: Mapping[str, Any], before: tuple[str, ...], waits_for: Waits | None) -> Above:
    """Read what stands above the text in RemGlk's state; ``before`` is the earlier status line.

    A window of one or two rows is a status line. Of a larger one as many rows are as there were
    before, where a command is waited for, or where they are the same but for numbers: a quotation
    is shown below them. A menu, which waits for a key, has the whole window. The status line of
    early versions is left out: the interpreter draws it only after the state was saved.
    """
    status: list[str] = []
    more: list[str] = []
    for window in library["windows"]:
        if window["rock"] == _EARLY_STATUS or "grid_lines" not in window:
            continue
        rows = [str(line["chars"]).rstrip() for line in window["grid_lines"]]
        height = max((at for at, row in enumerate(rows, 1) if row), default=0)
        if height <= _STATUS_ROWS:
            status += rows[:height]
            continue
        kept = rows[: max(1, len(before))]
        if waits_for == "line" or [*map(_steady, kept)] == [*map(_steady, before)]:
            status += kept
            rows = rows[len(kept) :]
        more += rows
    return Above(tuple(status), _block(more))


def last_above(update: Update, before: tuple[str, ...]) -> str:
    """Return what was shown above the last words of a story, which leaves no state behind."""
    first = max(1, len(before))
    return _block([row for at, row in sorted(update.drawn.items()) if at >= first])


def _block(rows: Sequence[str]) -> str:
    margin = min((len(row) - len(row.lstrip()) for row in rows if row), default=0)
    return "\n".join(row[margin:] for row in rows).strip("\n")


def _steady(row: str) -> str:
    """Return what of a status line stays from turn to turn, in one place."""
    return _CHANGING.sub(" ", row).strip()
