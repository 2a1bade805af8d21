"""Where a run is shown: rich on a terminal, plain lines everywhere else.

Callers hand in text as it came; nothing in it is read as markup or obeyed by a terminal. Rich is
only given ``Text``, in which it looks for no markup.
"""

import io
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import TextIO

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress_bar import ProgressBar
from rich.status import Status
from rich.table import Table
from rich.text import Text

from mcp_ghost.cli import interruption
from mcp_ghost.text import duration, one_line, plain

INDENT = 3
_FULL_WIDTH = 100
"""Lines longer than this are hard to read, however wide the terminal is."""
_LINES_OF_MORE = 5
"""Of what comes while something is waited for."""
_BAR = 24
"""Columns of a bar; on narrow terminals a quarter of the line."""
_DASH, _GAP = "─", " · "


class Screen:
    """One output, with a line at the bottom that says what it is waiting for."""

    def __init__(self, console: Console, *, live: bool) -> None:
        """Write to ``console``; ``live`` for one that moves and colours."""
        self._console = console
        self.is_live = live
        """Whether somebody may watch."""
        self._status: Status | None = None
        self._draw: Callable[[], Iterator[RenderableType]]
        """What rich asks for anew at every frame, as long as something is waited for."""
        self._bar: tuple[str, ProgressBar] | None = None
        """The latest one and its label, as long as it is shown."""
        self._lock = threading.RLock()
        """Of these two: what takes long is often done, and told of, by other threads."""

    @property
    def width(self) -> int | None:
        """Columns to fill; None where lines are not broken."""
        return min(self._console.width, _FULL_WIDTH) if self.is_live else None

    def heading(self, left: str, right: str = "", style: str = "bold") -> None:
        """Begin a block: a rule with ``left`` and ``right`` in it, where there are rules."""
        left, right = one_line(left), one_line(right)
        if self.width is None:
            return self._print(Text(_GAP.join(part for part in (left, right) if part)))
        tail = f" {right} {_DASH * 2}" if right else ""
        room = self.width - cell_len(tail) - 5
        if cell_len(left) > room:
            left = set_cell_size(left, max(room - 1, 1)).rstrip() + "…"
        dashes = _DASH * max(room - cell_len(left) + 1, 1)
        return self._print(
            Text.assemble(
                (_DASH * 2 + " ", "cyan"), (left, style), (f" {dashes}", "cyan"), (tail, "cyan")
            )
        )

    def text(self, text: object, style: str = "", *, mark: str = "") -> None:
        """Show ``text`` below its heading, its lines broken at words, but in no address."""
        lead = mark.ljust(INDENT)
        for line in plain(text).split("\n"):
            for part in self._broken(line, style, cuts="://" not in line):
                self._print(Text.assemble((lead, style), part))
                lead = " " * INDENT

    def rows(self, rows: Iterable[str]) -> list[str]:
        """Break ``rows`` at the width, wherever that is; what continues one begins with ``┆``."""
        if self.width is None:
            return [*rows]
        room = max(self.width - INDENT - 2, 8)
        return [
            f"{'┆ ' if number else ''}{part}"
            for row in rows
            for number, part in enumerate(chop_cells(row, room) or [""])
        ]

    def exact(self, rows: Iterable[str]) -> None:
        """Show ``rows`` of a picture as they are."""
        for row in rows:
            self._print(Text(" " * INDENT + row))

    def parts(self, parts: Iterable[tuple[str, str]], *, mark: str = "", style: str = "") -> None:
        """Show one line of (text, style), with dots between; what does not fit is left out."""
        line = _dotted(parts, Text(mark.ljust(INDENT), style))
        if self.width is not None:
            line.truncate(self.width, overflow="ellipsis")
        self._print(line)

    def facts(
        self, rows: Iterable[tuple[str, str]], *, to_copy: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Show a table of names and values; those ``to_copy`` come last and stay on one line."""
        to_read = [(name, one_line(value)) for name, value in rows if value]
        whole = [(name, one_line(value, 4000)) for name, value in to_copy if value]
        column = max(cell_len(name) for name, _ in [*to_read, *whole]) + 2
        for name, value in to_read:
            lead = name.ljust(column)
            for part in self._broken(value, "", column):
                self._print(Text.assemble(" " * INDENT, (lead, "cyan"), part))
                lead = " " * column
        for name, value in whole:
            self._print(Text.assemble(" " * INDENT, (name.ljust(column), "cyan"), value))

    def busy(self, label: str, more: object = "") -> None:
        """Say at the bottom what is being waited for, and for how long already.

        Below it is the end of what ``more`` says, which is asked for it again and again.
        """
        label, width, since = one_line(label, 60), self._room, time.monotonic()

        def draw() -> Iterator[RenderableType]:
            line = f"{label} {_after(since)}".rstrip()
            yield Text(line, "dim", no_wrap=True, overflow="ellipsis")
            if text := " ".join(plain(more).split()):
                yield from Text(text, "dim italic").wrap(self._console, width)[-_LINES_OF_MORE:]

        self._wait(draw)

    def follow(self, rows: Callable[[], Iterable[Iterable[tuple[str, str]]]]) -> None:
        """Show at the bottom a line of (text, style) for each of ``rows``, asked for every time."""

        def draw() -> Iterator[RenderableType]:
            for parts in rows():
                line = _dotted(parts, Text(no_wrap=True, overflow="ellipsis"))
                line.truncate(self._room, overflow="ellipsis")
                yield line

        self._wait(draw)

    def progress(self, label: str, share: float | None = None) -> None:
        """The same with a bar, of which ``share`` is filled; None where nobody can know it.

        Where nothing moves, nothing is shown: whoever calls this says in a line what takes long.
        """
        label, width, since = one_line(label, 60), self._room, time.monotonic()
        bar = ProgressBar(1.0, width=min(_BAR, width // 4), pulse=True)

        def draw() -> Iterator[RenderableType]:
            """The label, cut where it leaves no room; the bar; how far, or for how long already."""
            tail = _after(since) if bar.pulse else f"{bar.percentage_completed or 0:.0f} %"
            shown = Text(label, "dim")
            shown.truncate(max(width - (bar.width or 0) - len(tail) - 2, 1), overflow="ellipsis")
            row = Table.grid(padding=(0, 1))
            row.add_row(shown, bar, Text(tail, "dim"))
            yield row

        with self._lock:
            if self._bar is not None and self._bar[0] == label:
                bar = self._bar[1]
            elif self._wait(draw):
                self._bar = (label, bar)
            bar.pulse = share is None
            bar.update(share or 0.0)

    def idle(self) -> None:
        """Nothing is being waited for any longer."""
        with self._lock:
            status, self._status, self._bar = self._status, None, None
        if status is not None:
            status.stop()

    @property
    def _room(self) -> int:
        return (self.width or _FULL_WIDTH) - INDENT

    def _wait(self, draw: Callable[[], Iterator[RenderableType]]) -> bool:
        """Have ``draw`` show at every frame what is being waited for, where something moves."""
        with self._lock:
            if not self.is_live or self._console.quiet:
                return False
            self._bar, self._draw = None, draw
            if self._status is None:
                self._status = Status(self, console=self._console, spinner="dots")
                self._status.start()
            return True

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> Iterator[RenderableType]:
        return self._draw()

    def abandon(self) -> None:
        """Write nothing more: the output is gone."""
        self._console.quiet = True
        self.idle()

    def _broken(
        self, line: str, style: str, further_in: int = 0, *, cuts: bool = True
    ) -> Iterable[Text]:
        """``line`` broken at words, of which those that are too long are cut if it ``cuts``."""
        text = Text(line.rstrip(), style)
        if self.width is None:
            return [text]
        room = max(self.width - INDENT - further_in, 8)
        if not cuts:
            parts = wrap(text.plain, room, break_long_words=False, break_on_hyphens=False)
            return [Text(part, style) for part in parts]
        return text.wrap(self._console, room)

    def _print(self, line: Text) -> None:
        if self.is_live:
            line.rstrip()
            self._console.print(line, soft_wrap=True, highlight=False)
        elif not self._console.quiet:  # many times faster than rich; episode.log is drawn, too
            try:
                self._console.file.write(line.plain.rstrip() + "\n")
                self._console.file.flush()
            except BrokenPipeError:
                self._console.on_broken_pipe()


def _after(since: float) -> str:
    """How long ago that was; empty within the first second."""
    waited = time.monotonic() - since
    return duration(waited) if waited >= 1 else ""


def _dotted(parts: Iterable[tuple[str, str]], line: Text) -> Text:
    """``line`` with (text, style) after it where there is a text, and dots between."""
    for number, (text, style) in enumerate(part for part in parts if part[0]):
        line.append(_GAP if number else "", "dim").append(one_line(text), style)
    return line


class _PipeAwareConsole(Console):
    """A console that notices when nobody reads its output any longer."""

    def on_broken_pipe(self) -> None:
        """Stop the program; rich's own way would end it from whichever thread this is."""
        self.quiet = True
        # What Python still flushes on its way out must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
        interruption.output_closed()


def standard_screen(file: TextIO | None) -> Screen:
    """The screen on ``file``, standard output or error; the program stops when that closes."""
    if file is None:  # closed by whoever started us
        file = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  open to the end
    plain_wanted = os.environ.get("NO_COLOR") or os.environ.get("TERM") in (None, "", "dumb")
    live = file.isatty() and not plain_wanted
    if isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="replace")  # an ASCII-only locale gets question marks
    return Screen(_PipeAwareConsole(file=file, force_terminal=live), live=live)
