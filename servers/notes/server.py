"""The tools ``write``, ``read`` and ``search``, and where their notes are kept."""

from __future__ import annotations

import sys

from notes.notebook import TEXT_CHARACTERS, TITLE_CHARACTERS, Notebook
from tool_server import RefusedCall, ToolServer, problems

TYPE_CHECKING = False  # see journal.py
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE, STORY_FILE = "NOTES_FILE", "NOTES_STORY_FILE"
TURN = "zorkgpt/turn"
"""In the ``_meta`` of a call: the turn in which it is made."""


def _tool(
    name: str, heading: str, description: str, fields: dict[str, str], optional: str = ""
) -> dict[str, Any]:
    properties = {it: {"type": "string", "description": said} for it, said in fields.items()}
    return {
        "name": name,
        "title": heading,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": [it for it in fields if it != optional],
            "additionalProperties": False,
        },
        "annotations": {
            "readOnlyHint": name != "write",
            "destructiveHint": name == "write",
            "openWorldHint": False,
        },
    }


TOOLS = [
    _tool(
        "write",
        "Write a note",
        "Keep something for later turns: a text under a title of your choice. It replaces what "
        "was under that title; an empty text removes it. Notes are your own words, and they are "
        "shown only when you read or search them.",
        {
            "title": f"What the note is about, in at most {TITLE_CHARACTERS} characters.",
            "text": f"What to keep, in at most {TEXT_CHARACTERS} characters.",
        },
    ),
    _tool(
        "read",
        "Read notes",
        "Read the note with this title; without a title, list all titles and how each note begins. "
        "A note says what you believed when you wrote it.",
        {"title": "The title of the note."},
        optional="title",
    ),
    _tool(
        "search",
        "Search notes",
        "Read the notes whose title or text contains words of the query, best matches first.",
        {"query": "Words to look for."},
    ),
]
_FIELDS = {tool["name"]: tool["inputSchema"] for tool in TOOLS}
_LONGEST = {"title": TITLE_CHARACTERS, "text": TEXT_CHARACTERS, "query": TEXT_CHARACTERS}


def serve(environment: Mapping[str, str]) -> int:
    """Answer requests until stdin closes; returns the exit code."""
    path = environment.get(FILE)
    if not path:
        from tempfile import TemporaryDirectory  # which games need not wait for

        said = f"notes: {FILE} is not set: notes are kept only until this server stops."
        print(said, file=sys.stderr)
        with TemporaryDirectory(prefix="notes-") as folder:
            return serve({FILE: f"{folder}/notes.jsonl"})
    try:
        notebook = Notebook(path, environment.get(STORY_FILE))
    except OSError as error:
        print(f"notes: {error.filename} cannot be used ({error.strerror}).", file=sys.stderr)
        return 1
    ToolServer("notes", TOOLS, lambda *call: answered(notebook, *call)).serve()
    return 0


def answered(notebook: Notebook, tool: str, arguments: dict[str, Any], meta: dict[str, Any]) -> str:
    """The text of a call's result.

    Raises:
        RefusedCall: The arguments make no sense, or there is no such note.
    """
    # None is what many models write for a field that they leave out.
    given = {name: value for name, value in arguments.items() if value is not None}
    if found := problems(_FIELDS[tool], given, _unmet):
        raise RefusedCall(f"Nothing was done: {'; '.join(found)}.")
    texts = {name: text.strip() for name, text in given.items()}
    if tool == "write":
        turn = meta.get(TURN)
        return notebook.write(
            " ".join(texts["title"].split()), texts["text"], turn if isinstance(turn, int) else None
        )
    if tool == "read":
        return notebook.read(texts.get("title"))
    return notebook.search(texts["query"])


def _unmet(name: str, value: object) -> str:
    least = 0 if name == "text" else 1
    fits = isinstance(value, str) and least <= len(value.strip()) <= _LONGEST[name]
    return "" if fits else f"a text of {least} to {_LONGEST[name]:,} characters"
