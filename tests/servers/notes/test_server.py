"""The bundled server for notes: real processes on real pipes, several of them on one story."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.servers.session import ServerSession
from notes import journal
from notes.notebook import MOST_CARRIED_OVER, MOST_NOTES, Notebook, forget_after
from notes.server import TOOLS, answered
from tests.support import PATIENCE, ROOT
from tool_server import RefusedCall

pytestmark = pytest.mark.mcp


def server(own: Path, story: Path | None = None) -> ServerConfig:
    """As mcp_config.json starts it."""
    entry = load_servers(ROOT / "mcp_config.json")["notes"]
    of_story = {"NOTES_STORY_FILE": str(story)} if story else {}
    return entry.model_copy(update={"env": {"NOTES_FILE": str(own), **of_story}})


async def told(session: ServerSession, tool: str, **arguments: Any) -> str:  # noqa: ANN401  any JSON
    result = await session.call(tool, arguments)
    assert not result.is_error, result.error_message
    return str(result.content)


async def test_what_one_server_was_told_the_next_one_reads_and_finds(tmp_path: Path) -> None:
    config = server(tmp_path / "notes.jsonl")
    async with ServerSession("notes", config) as session:
        assert [tool["function"]["name"] for tool in session.tools] == ["write", "read", "search"]
        hints = {name: said["readOnlyHint"] for name, said in session.annotations.items()}
        assert hints == {"write": False, "read": True, "search": True}
        assert "no notes yet" in await told(session, "read")
        await told(session, "write", title="The hatch", text="It needs oil.")
        await told(session, "write", title="Lamp", text="Burns 200 turns.")
        await told(session, "write", title=" the  HATCH", text="Oil opened it.\nIt is dark below.")
    async with ServerSession("notes", config) as session:
        assert (await told(session, "read", title="the hatch")).endswith("\nIt is dark below.")
        listed = await told(session, "read", title=None)
        assert "Lamp (an earlier episode): Burns 200 turns." in listed
        assert "It needs oil" not in listed
        assert "Lamp" in await told(session, "search", query="turns grue")
        assert "Removed" in await told(session, "write", title="Lamp", text="")
        assert "No note has" in await told(session, "search", query="turns")


def test_a_killed_server_has_lost_nothing_and_a_torn_line_costs_only_itself(
    tmp_path: Path,
) -> None:
    own, story = tmp_path / "notes.jsonl", tmp_path / "story.jsonl"
    config = server(own, story)
    call = {"name": "write", "arguments": {"title": "Door", "text": "Knock twice."}}
    with subprocess.Popen(
        [sys.executable, *config.args],
        env={**os.environ, **(config.env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin
        assert process.stdout
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert b"Kept: 'Door'" in process.stdout.readline()
        process.kill()
    for file in (own, story):
        with file.open("ab") as torn:
            torn.write(b'{"id": "cut o')
    notebook = Notebook(str(own), str(story))
    notebook.write("Key", "Brass.", 3)
    for file in (own, story):
        notes = journal.notes(journal.changes(str(file))).values()
        assert [note["text"] for note in notes] == ["Knock twice.", "Brass."]


async def test_servers_that_write_at_once_lose_no_note_of_their_story(tmp_path: Path) -> None:
    story = tmp_path / "notes" / "story.jsonl"

    async def play(name: str, session: ServerSession) -> None:
        for number in range(10):
            await told(session, "write", title=f"{number}", text=f"{name} {number}")

    async with AsyncExitStack() as opened:
        sessions = {
            name: await opened.enter_async_context(
                ServerSession("notes", server(tmp_path / name, story))
            )
            for name in ("one", "two", "three")
        }
        await asyncio.gather(*(play(*each) for each in sessions.items()))
    later = Notebook(str(tmp_path / "later"), str(story))
    assert later.read(None).count("\n") + 1 == 30
    assert {later.read(it).splitlines()[1] for it in ("4", "4 (2)", "4 (3)")} == {
        "one 4",
        "two 4",
        "three 4",
    }


def test_the_files_stay_small_and_a_full_notebook_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MOST_BYTES", 30_000)
    monkeypatch.setattr(journal, "_to_disk", lambda file: file.flush())
    own, story = tmp_path / "own", tmp_path / "story"
    notebook = Notebook(str(own), str(story))
    for number in range(MOST_NOTES):
        notebook.write(f"{number}", "First.", 1)
    for number in range(MOST_NOTES):
        notebook.write(f"{number}", "Second.", 2)
    assert own.stat().st_size <= 40_000
    assert story.stat().st_size <= 30_000
    with pytest.raises(RefusedCall, match=r"already 200 notes.*Remove one"):
        notebook.write("one more", "Third.", 3)
    notebook.write("0", "", 3)
    notebook.write("one more", "Third.", 3)
    again = Notebook(str(own), str(story))
    assert again.read(None) == notebook.read(None)
    later = Notebook(str(tmp_path / "later"), str(story)).read(None).splitlines()
    assert len(later) == MOST_CARRIED_OVER
    assert later[-1] == "one more (an earlier episode): Third."
    assert later[0] == "101 (an earlier episode): Second."


def test_what_later_turns_noted_can_be_taken_back(tmp_path: Path) -> None:
    own = str(tmp_path / "own")
    notebook = Notebook(own)
    notebook.write("Door", "Shut.", 2)
    notebook.write("Door", "Open.", 5)
    notebook.write("Lamp", "Lit.", 5)
    forget_after(own, 4)
    assert Notebook(own).read(None) == "Door (turn 2): Shut."
    forget_after(str(tmp_path / "none"), 4)


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("write", {}, "Nothing was done: title is missing; text is missing."),
        ("write", {"title": " ", "text": "x"}, "title must be a text of 1 to 80 characters"),
        ("write", {"title": "x", "text": "y" * 2001}, "text must be a text of 0 to 2,000"),
        ("write", {"title": "x", "text": 7}, "text must be a text of"),
        ("write", {"title": "x", "text": ""}, "Nothing to remove: There is no note"),
        ("write", {"title": "x", "text": "y", "tag": "z"}, "tag is not a known field"),
        ("read", {"title": "x"}, "There is no note with the title 'x': there are none yet."),
        ("search", {}, "query is missing"),
    ],
)
def test_a_call_that_makes_no_sense_is_refused_with_the_reason(
    tool: str, arguments: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(RefusedCall) as refusal:
        answered(Notebook(str(tmp_path / "own")), tool, arguments, {})
    assert problem in str(refusal.value)
    assert not (tmp_path / "own").exists()


def test_notes_that_cannot_be_written_are_refused_and_not_pretended(tmp_path: Path) -> None:
    notebook = Notebook(str(tmp_path / "file" / "own"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RefusedCall, match="Not kept: the notes cannot be written"):
        notebook.write("Door", "Shut.", 1)
    assert notebook.read(None) == "There are no notes yet."


def test_without_a_place_for_notes_they_are_kept_until_the_end(tmp_path: Path) -> None:
    environment = {name: it for name, it in os.environ.items() if not name.startswith("NOTES_")}
    run = subprocess.run(
        [sys.executable, "-m", "notes"],
        env=environment,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.startswith("notes: NOTES_FILE is not set: notes are kept only until")


def test_the_server_imports_little() -> None:
    code = (
        "import sys, notes.server;"
        "print(*{'typing', 'pathlib', 'asyncio', 'pydantic', 'mcp'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-I", "-c", code], timeout=PATIENCE) == b"\n"


def test_every_tool_has_a_field_for_each_thing_that_it_needs() -> None:
    for tool in TOOLS:
        schema = tool["inputSchema"]
        assert set(schema["required"]) <= schema["properties"].keys()
