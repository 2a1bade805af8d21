"""The player's notes in one episode, and those that earlier episodes of the story left."""

from __future__ import annotations

import os

from notes.journal import add, changes, notes, replace
from tool_server import RefusedCall, one_line

TYPE_CHECKING = False  # see journal.py
if TYPE_CHECKING:
    from typing import Any

MOST_NOTES = 200
MOST_CARRIED_OVER = 100
"""Notes that a story keeps for its next episode, which needs room for its own."""
TITLE_CHARACTERS = 80
TEXT_CHARACTERS = 2_000
_FOUND = 10


def forget_after(path: str, turn: int) -> None:
    """Take back what was noted in later turns than ``turn``, none of which counts any more.

    Raises:
        OSError: The file could not be read or written.
    """
    made = changes(path)
    kept = [it for it in made if not isinstance(it.get("turn"), int) or it["turn"] <= turn]
    if len(kept) < len(made):
        replace(path, kept)


class Notebook:
    """The notes in the file ``own``; what changes is added to the file ``of_story``, too."""

    def __init__(self, own: str, of_story: str | None = None) -> None:
        """Begin with what the story's file holds, unless the episode has notes already.

        Raises:
            OSError: A file cannot be read or written.
        """
        self._own = own
        self._of_story = of_story
        if of_story and not os.path.exists(own):  # noqa: PTH110
            kept, titles = [], set[str]()
            for note in [*notes(changes(of_story)).values()][-MOST_CARRIED_OVER:]:
                title, number = note["title"], 2
                while _comparable(title) in titles:  # players that wrote at once
                    title, number = f"{note['title']} ({number})", number + 1
                titles.add(_comparable(title))
                kept.append({**note, "title": title})
            replace(own, kept)
        self._notes = notes(changes(own))

    def write(self, title: str, text: str, turn: int | None) -> str:
        """Keep ``text`` under ``title``, instead of what was there; without text, remove that.

        Raises:
            RefusedCall: Nothing has changed.
        """
        before = self._at(title)
        if not text and not before:
            raise RefusedCall(f"Nothing to remove: {self._unknown(title)}")
        if text and not before and len(self._notes) >= MOST_NOTES:
            raise RefusedCall(
                f"Not kept: there are already {MOST_NOTES} notes, and no more are allowed. Remove "
                "one by writing an empty text under its title, or add to one."
            )
        change: dict[str, Any] = {
            "id": os.urandom(8).hex(),
            "replaces": before["id"] if before else "",
            "title": before["title"] if before else title,
            "text": text,
            "turn": turn,
        }
        try:
            add(self._own, change, MOST_NOTES)
            if self._of_story:
                add(self._of_story, {**change, "turn": None}, MOST_CARRIED_OVER)
        except OSError as error:
            raise RefusedCall(
                f"Not kept: the notes cannot be written ({error.strerror})."
            ) from error
        self._notes.pop(change["replaces"], None)
        if text:
            self._notes[change["id"]] = change
        done = "Removed" if not text else "Replaced" if before else "Kept"
        return f"{done}: '{change['title']}'. Notes: {len(self._notes)} of {MOST_NOTES}."

    def read(self, title: str | None) -> str:
        """The note of that title, whole; without a title, how every note begins.

        Raises:
            RefusedCall: There is none.
        """
        if title is not None:
            if note := self._at(title):
                return _whole(note)
            raise RefusedCall(self._unknown(title))
        if not self._notes:
            return "There are no notes yet."
        return "\n".join(
            f"{it['title']} ({_origin(it)}): {one_line(it['text'])}" for it in self._notes.values()
        )

    def search(self, query: str) -> str:
        """The notes with the most words of ``query``, whole; of equal ones, the latest first."""
        words = {*query.casefold().split()}
        found = [
            (sum(word in f"{note['title']}\n{note['text']}".casefold() for word in words), note)
            for note in reversed(self._notes.values())
        ]
        best = sorted((it for it in found if it[0]), key=lambda it: -it[0])
        if not best:
            return f"No note has any of these words. Notes: {len(self._notes)}."
        more = f"\n\n{len(best) - _FOUND} more notes have some of these words."
        texts = "\n\n".join(_whole(note) for _, note in best[:_FOUND])
        return texts + (more if len(best) > _FOUND else "")

    def _at(self, title: str) -> dict[str, Any] | None:
        wanted = _comparable(title)
        notes = reversed(self._notes.values())
        return next((note for note in notes if _comparable(note["title"]) == wanted), None)

    def _unknown(self, title: str) -> str:
        has = (
            "'read' without a title lists those there are" if self._notes else "there are none yet"
        )
        return f"There is no note with the title '{title}': {has}."


def _comparable(title: str) -> str:
    return " ".join(title.casefold().split())


def _origin(note: dict[str, Any]) -> str:
    turn = note.get("turn")
    return "an earlier episode" if turn is None else f"turn {turn}"


def _whole(note: dict[str, Any]) -> str:
    return f"{note['title']} ({_origin(note)}):\n{note['text']}"
