"""What interpreters built with RemGlk say: JSON documents about windows, texts and input.

The protocol is that of RemGlk 0.3 (https://eblong.com/zarf/glk/remglk/docs.html). A document tells
what has changed since the one before, so a `Screen` is kept from turn to turn. Windows are told
apart by what they are for: bocfel has 1 for the story, 2 above it, 3 for the status line of early
versions and 4 for its own messages; the numbers of windows depend on the clock.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from game_interface.engines.engine import Waits
from game_interface.errors import EngineError

MESSAGES: Final = 4
"""bocfel's window for what it has to say itself."""
STATUS: Final = 3
FATAL: Final = "Fatal error: "
KEYS: Final = {
    "space": " ",
    "enter": "return",
    "escape": "escape",
    "up": "up",
    "down": "down",
    "left": "left",
    "right": "right",
    "delete": "delete",
}
"""The names of keys in commands, and in the protocol."""
_STATUS_ROWS: Final = 2
"""A window of more rows is more than a status line."""
_MOST_ROWS: Final = 255
_MOST_COLUMNS: Final = 255
_CHANGING: Final = re.compile(r"[\d\s:.,-]+")


@dataclass(frozen=True, slots=True)
class Screen:
    """What is on the screen besides the story's text, and what is waited for."""

    generation: int = 0
    windows: Mapping[str, int] = field(default_factory=dict)
    """Number -> what it is for."""
    grids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Number -> rows of the windows that hold no running text, in order."""
    status: tuple[str, ...] = ()
    """The rows of the status line."""
    upper: str = ""
    """What else the upper window shows."""
    window: int = 0
    """The one that waits."""
    waits_for: Waits | None = None
    """None after the end, or where the name of a file is asked for."""
    longest: int = 0
    """The characters that a line may have."""

    @property
    def status_line(self) -> str:
        """The rows of the status line as one."""
        return " ".join(" ".join(self.status).split())

    def renumbered(self, numbers: Mapping[int, int]) -> Self:
        """With other numbers for windows; those that have none there keep theirs."""

        def new(number: str) -> str:
            return str(numbers.get(int(number), number))

        return replace(
            self,
            windows={new(number): rock for number, rock in self.windows.items()},
            grids={new(number): rows for number, rows in self.grids.items()},
            window=numbers.get(self.window, self.window),
        )


@dataclass(frozen=True, slots=True)
class Told:
    """One document, understood."""

    screen: Screen
    text: str
    echo: str | None
    """The command, as the interpreter repeats it; None where it does not."""
    was_cleared: bool
    """Whether the main window was, with all that stood in it."""
    messages: str
    """What the interpreter itself says."""
    asks_for_file: bool
    ended: bool


def line_event(screen: Screen, command: str) -> bytes:
    """The document that answers with a line, or with a key."""
    if screen.waits_for == "key":
        value, kind = KEYS.get(command, command), "char"
    else:
        value, kind = command, "line"
    event = {"type": kind, "gen": screen.generation, "window": screen.window, "value": value}
    return json.dumps(event, ensure_ascii=False).encode()


def no_file_event(screen: Screen) -> bytes:
    """The document that names no file: a story neither writes files nor reads any."""
    event = {"type": "specialresponse", "gen": screen.generation}
    return json.dumps(event | {"response": "fileref_prompt", "value": None}).encode()


def understood(output: bytes, before: Screen) -> Told:
    """What a document says after a screen.

    Raises: EngineError when it is an error, or no such document.
    """
    try:
        document = json.loads(output.decode(errors="replace"))
        if document["type"] != "update":
            raise EngineError(f"the interpreter refuses: {document['message']}")
        return _read(document, before)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise EngineError(f"the interpreter's answer cannot be read ({error!r})") from error


def _read(document: Mapping[str, Any], before: Screen) -> Told:
    windows, grids = dict(before.windows), dict(before.grids)
    if "windows" in document:
        windows = {str(it["id"]): int(it["rock"]) for it in document["windows"]}
        grids = {
            str(it["id"]): _resized(before.grids.get(str(it["id"]), ()), int(it["gridheight"]))
            for it in document["windows"]
            if it["type"] == "grid"
        }
    texts, messages, echo, was_cleared = [], [], None, False
    for content in document.get("content", ()):
        number = str(content["id"])
        if number in grids:
            rows = list(grids[number])
            for line in content.get("lines", ()):
                rows[line["line"]] = _joined(line)[:_MOST_COLUMNS].rstrip()
            grids[number] = tuple(rows)
        elif windows.get(number) == MESSAGES:
            messages.append(_paragraphs(content)[0])
        else:
            text, repeated = _paragraphs(content)
            texts.append(text)
            was_cleared = was_cleared or bool(content.get("clear"))
            echo = repeated if echo is None else echo
    asked = document.get("input", ())
    waiting = next((it for it in asked if it.get("type") in ("line", "char")), None)
    is_key = waiting is not None and waiting["type"] == "char"
    status, upper = _parted(windows, grids, before.status, is_key=is_key)
    screen = Screen(
        generation=int(document["gen"]),
        windows=windows,
        grids=grids,
        status=status,
        upper=upper,
        window=int(waiting["id"]) if waiting else 0,
        waits_for=None if waiting is None else "key" if is_key else "line",
        longest=0 if waiting is None or is_key else int(waiting["maxlen"]),
    )
    return Told(
        screen=screen,
        text="".join(texts),
        echo=echo,
        was_cleared=was_cleared,
        messages="\n".join(messages).strip(),
        asks_for_file="specialinput" in document,
        ended=bool(document.get("exit")),
    )


def _resized(rows: tuple[str, ...], height: int) -> tuple[str, ...]:
    height = min(height, _MOST_ROWS)
    return (*rows[:height], *[""] * (height - len(rows)))


def _joined(line: Mapping[str, Any]) -> str:
    return "".join(span["text"] for span in line.get("content", ()))


def _paragraphs(content: Mapping[str, Any]) -> tuple[str, str | None]:
    """The running text of a window, and the command that stands before it."""
    text, echo = "", None
    for number, paragraph in enumerate(content.get("text", ())):
        spans = list(paragraph.get("content", ()))
        if number == 0 and spans and spans[0]["style"] == "input":
            echo = spans.pop(0)["text"]
        if not paragraph.get("append"):
            text += "\n"
        text += "".join(span["text"] for span in spans)
    return text, echo


def _parted(
    windows: Mapping[str, int],
    grids: Mapping[str, tuple[str, ...]],
    before: tuple[str, ...],
    *,
    is_key: bool,
) -> tuple[tuple[str, ...], str]:
    """The rows of the status line, and what the upper window shows besides.

    A window of one or two rows is a status line. Of a larger one as many rows are as there were
    before, where a command is waited for, or where they are the same but for numbers: a quotation
    is shown below them. A menu, which waits for a key, has the whole window.
    """
    status: list[str] = []
    more: list[str] = []
    for number, rows in grids.items():
        height = max((at for at, row in enumerate(rows, 1) if row.strip()), default=0)
        if windows.get(number) == STATUS or height <= _STATUS_ROWS:
            status += rows[:height]
            continue
        kept = rows[: max(1, len(before))]
        if not is_key or [*map(_steady, kept)] == [*map(_steady, before)]:
            status += kept
            rows = rows[len(kept) :]
        more += rows
    return tuple(status), _trimmed(more)


def _steady(row: str) -> str:
    """What of a status line stays from turn to turn, in one place."""
    return _CHANGING.sub(" ", row).strip()


def _trimmed(rows: list[str]) -> str:
    """The rows without the blanks around them."""
    margins: Iterator[int] = (len(row) - len(row.lstrip()) for row in rows if row.strip())
    margin = min(margins, default=0)
    return "\n".join(row[margin:] for row in rows).strip("\n")
