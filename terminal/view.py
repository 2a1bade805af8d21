"""The live view of an episode: its events as a logging handler draws them, and its thoughts."""

import json
import logging
import re
from collections.abc import Iterable

from mcp_ghost.cli.screen import Screen
from mcp_ghost.redact import Redactor
from session.events import event_fields
from session.record.display import EpisodeDisplay
from session.record.event_log import entry_of
from session.record.schema import DOING, Entry, LoggedEvent
from session.record.summary import StorySoFar

_WAITED_FOR = {
    "thinking": "Turn {turn}: the {who} thinks …",
    "tool": "Turn {turn}: {tool_name} …",
    "waiting": "Waiting before asking the model again …",
    "": "> {action}",
    "paused": "Paused before turn {turn} …",
}
"""What an episode is doing -> what is waited for meanwhile."""

_IN_ANSWER = re.compile(r'"thinking"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
"""The thinking in an answer of which only the beginning may be there."""
_HALF_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{0,3}$")
_LAST_WORD = re.compile(r"\S*\Z")


class Thoughts:
    """What the model thinks, while it comes: from its thinking, or from within its answer.

    Takes the pieces of one reply after the other; read in another thread.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """``secrets`` are shown to nobody."""
        self._redactor = Redactor(secrets)
        self._thought: list[str] = []
        self._said: list[str] = []

    async def take(self, delta: tuple[str, str]) -> None:
        """Add what the model says or thinks next."""
        kind, text = delta
        if kind == "restart":
            self.begin()
        else:
            (self._thought if kind == "thinking" else self._said).append(text)

    def begin(self) -> None:
        """Forget the reply so far: another one is waited for."""
        self._thought, self._said = [], []

    def __str__(self) -> str:
        """All so far but for the last word, of which a part may have come: it may be a key's."""
        thought, said = "".join(self._thought), "".join(self._said)
        text = "\n".join(part for part in (thought, _thinking_in(said)) if part)
        return self._redactor(_LAST_WORD.sub("", text)).strip()


def _thinking_in(said: str) -> str:
    """Return what an answer gives as its thinking; beside calls of tools, all that is said."""
    found = _IN_ANSWER.search(said)
    if found is None:
        return "" if said.lstrip().startswith(("{", "`")) else said
    try:
        text = json.loads(f'"{_HALF_ESCAPED.sub("", found[1])}"', strict=False)
    except ValueError:
        return ""
    # Half of a character beyond the first 65,536 is none that could be shown.
    return str(text).encode("utf-8", errors="ignore").decode("utf-8")


class TerminalView(logging.Handler):
    """Shows one episode on a screen."""

    def __init__(
        self, screen: Screen, so_far: StorySoFar, thoughts: Thoughts | None = None
    ) -> None:
        super().__init__(logging.DEBUG)
        self._thoughts = thoughts or Thoughts()
        self._screen = screen
        self._so_far = so_far
        self._display = EpisodeDisplay(screen, so_far)
        self._waited_for = ""
        """What the latest event says."""
        self._under_way: dict[str, float | None] = {}
        """What takes long and is not over: its label, and how far it has come."""

    def emit(self, record: logging.LogRecord) -> None:
        """Draw the event; whatever happens here, the game goes on."""
        if self._so_far.end:
            return  # the thread of a request that was cut off may still complain
        try:
            entry = entry_of(record)
            progress = event_fields(record).get("progress")
            if isinstance(progress, tuple):
                label, share = progress
                self._under_way[label] = share
                if share == 1:
                    del self._under_way[label]
                self._wait()
            elif entry is not None:
                self._show(entry)
            elif record.levelno >= logging.INFO:
                self._display.notice({"message": record.getMessage()})
        except OSError:
            self._screen.abandon()  # such as a terminal that was closed
        except Exception:  # noqa: BLE001  the standard library's rule for handlers
            self.handleError(record)

    def under_way(self) -> str:
        """Return what takes long and is not over, the earliest first; empty where nothing does."""
        label, share = next(iter(self._under_way.copy().items()), ("", None))
        return label if share is None else f"{label}, {share:.0%}"

    def close(self) -> None:
        """Remove the status line."""
        self._screen.idle()
        super().close()

    def _show(self, entry: Entry) -> None:
        self._so_far.take(entry)
        if not isinstance(entry.event, LoggedEvent):
            self._waited_for = ""
            self._screen.idle()
        self._display.show(entry)
        if isinstance(entry.event, LoggedEvent) and entry.event.event_type in DOING:
            start = self._so_far.start
            who = "model" if start is None or start.asks_a_model else "player"
            known = {"turn": "?", "action": "", "who": who, **entry.event.fields}
            self._waited_for = _WAITED_FOR[DOING[entry.event.event_type]].format(**known)
            self._thoughts.begin()
            self._wait()

    def _wait(self) -> None:
        """Show what is under way, the earliest first, and then what the game waits for."""
        if self._under_way:
            self._screen.progress(*next(iter(self._under_way.items())))
        elif self._waited_for:
            self._screen.busy(self._waited_for, self._thoughts)
        else:
            self._screen.idle()
