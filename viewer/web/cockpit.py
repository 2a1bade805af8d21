"""What whoever started a game may do to it from the page: hold it, play one turn, say a line.

The thread of the game asks before each turn; the thread of the server does what is pressed.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mcp_ghost.redact import Redactor
from mcp_ghost.results import JSONObject
from mcp_ghost.text import harmless
from session.events import log_event
from session.listener import new_token

MOST_HINT_CHARACTERS = 300
MOST_HINTS_WAITING = 5
THOUGHT_CHARACTERS = 4000
"""Of the end of a thought, which is all that a page is sent."""
_LOOK_SECONDS = 0.5
"""Between two looks for a signal: one that the system gives to another thread wakes nobody here."""


class RefusedError(Exception):
    """Raised when what is pressed cannot be done; the message says why."""


class Cockpit:
    """The controls of the game that is being played, and the token that they need."""

    def __init__(self, known_secrets: Iterable[str] = ()) -> None:
        """``known_secrets`` reach neither the player nor the log."""
        self.token = new_token()
        self._redactor = Redactor(known_secrets)
        self._changed = threading.Condition()
        self.folder: Path | None = None
        """The episode that is controlled; None before the first one."""
        self.under_way: Callable[[], str] = str
        """Says what the game waits for before its first turn; nothing where that takes no time."""
        self._thoughts: object = ""
        self._to_resume = ""
        self._hears = False
        self._until: int | None = None
        """The last turn to be played before a pause; None for all of them."""
        self._begun = 0
        """The latest turn that was begun."""
        self._said: deque[str] = deque()
        self._told = 0
        """Lines for the coming turn that were taken out of `_said` already."""
        self._is_served = True

    def begin(
        self,
        folder: Path,
        thoughts: object = "",
        *,
        to_resume: str = "",
        hears: bool = True,
        under_way: Callable[[], str] = str,
    ) -> None:
        """Control the episode in ``folder`` from now on; a pause lasts into it.

        Args:
            folder: Where its log is.
            thoughts: As text, what the model thinks at that moment.
            to_resume: The command that continues the episode.
            hears: Whether its player reads what it is told.
            under_way: Says what is being fetched or started before the first turn.
        """
        with self._changed:
            self.folder, self.under_way = folder.resolve(), under_way
            self._thoughts, self._to_resume, self._hears = thoughts, to_resume, hears
            self._until = None if self._until is None else 0
            self._begun = self._told = 0
            self._said.clear()

    def before_turn(self, turn: int, logger: logging.Logger) -> Iterator[str]:
        """Wait while the game is paused; yields what the player is to be told, as it is said."""
        is_told = False
        with self._changed:
            self._begun = turn - 1
        while True:
            with self._changed:
                while is_told and self._is_held(turn) and not self._said:
                    self._changed.wait(_LOOK_SECONDS)
                said = self._said.popleft() if self._said else None
                held = self._is_held(turn)
                if said is not None:
                    self._told += 1
                elif not held:
                    self._begun, self._told = turn, 0
            if said is not None:
                yield said
            elif not held:
                return
            else:
                message = f"Paused before turn {turn}: resume it on the page, or stop with Ctrl-C"
                log_event(logger, logging.INFO, message, "game_paused")
                is_told = True

    def _is_held(self, turn: int) -> bool:
        """Return whether the game waits before ``turn``; never if the page is not served."""
        return self._is_served and self._until is not None and turn > self._until

    def controls(self, folder: Path) -> bool:
        """Return whether the episode in ``folder`` is the one that is controlled."""
        return folder.resolve() == self.folder

    def to_resume(self, folder: Path) -> str:
        """Return the command that continues the episode, if it is the one that is controlled."""
        return self._to_resume if self.controls(folder) else ""

    def press(self, act: str, text: object = "") -> None:
        """Do what a button says: ``pause``, ``step``, ``resume``, ``hint`` or nothing (``check``).

        Raises:
            RefusedError: That cannot be done.
        """
        with self._changed:
            match act:
                case "check":
                    pass
                case "pause":
                    self._until = self._begun
                case "step":
                    self._until = self._begun + 1
                case "resume":
                    self._until = None
                case "hint":
                    self._said.append(self._heard(text))
                case _:
                    raise RefusedError("There is no such button.")
            self._changed.notify_all()

    def _heard(self, text: object) -> str:
        line = " ".join(self._redactor(harmless(text)).split())
        if not self._hears:
            raise RefusedError(
                "This player reads only what the game prints, so no hint can reach it."
            )
        if not line:
            raise RefusedError("The hint is empty.")
        if len(line) > MOST_HINT_CHARACTERS:
            raise RefusedError(f"A hint has at most {MOST_HINT_CHARACTERS} characters.")
        if len(self._said) + self._told >= MOST_HINTS_WAITING:
            raise RefusedError(
                "Too many hints are waiting: the player reads them before its next turn."
            )
        return line

    def json(self) -> JSONObject:
        """Return what the page shows of it."""
        with self._changed:
            return {
                "controlled": True,
                "held": self._until is not None,
                "hears": self._hears,
                "waiting": len(self._said),
                "thought": str(self._thoughts)[-THOUGHT_CHARACTERS:],
            }

    def stay(self) -> None:
        """Wait as long as the page is served."""
        with self._changed:
            while self._is_served:
                self._changed.wait(_LOOK_SECONDS)

    def is_gone(self) -> None:
        """Say that the page is not served, or no longer."""
        with self._changed:
            self._is_served = False
            self._changed.notify_all()
