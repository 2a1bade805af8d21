"""The examples of the package's README and pages, and a model that plays along."""

from __future__ import annotations

import re
from pathlib import Path

from mcp_ghost.testing import ModelRequest, Reply, content_reply, tool_reply
from tests.support import ROOT

PACKAGE = ROOT / "packages/mcp_ghost"
PAGES = [PACKAGE / "README.md", *sorted((PACKAGE / "docs").glob("*.md"))]
NOTES = ["The milk is gone.", "The cat is hungry."]


def text() -> str:
    """What the README and all pages say."""
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def files() -> dict[str, str]:
    """The files that the pages show, by name: a block that follows its name and a colon."""
    blocks = re.findall(r"`(\w+\.py)`[^`]*:\n\n```python\n(.*?)```", text(), re.DOTALL)
    return dict(blocks)


def recipes() -> dict[str, str]:
    """The programs of the cookbook, by title."""
    page = (PACKAGE / "docs" / "cookbook.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^## (.+?)\n\n```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL))


def write_files(folder: Path) -> None:
    """The pages' files in ``folder``."""
    for name, content in files().items():
        (folder / name).write_text(content, encoding="utf-8")


def model(request: ModelRequest) -> Reply:
    """Takes the notes of the example, reads them and answers with what it read."""
    done = [message["content"] for message in request.messages if message["role"] == "tool"]
    if not done:
        return tool_reply([("mcp_ghost.notes.add", {"text": note}) for note in NOTES])
    if len(done) == len(NOTES):
        return tool_reply([("mcp_ghost.notes.read_all", {})], "Let me look.")
    return content_reply(f"Your notes: {done[-1]}")


def assert_it_worked(folder: Path, output: str) -> None:
    """The server kept the notes, and the program showed them as the README says."""
    assert (folder / "notes.txt").read_text().splitlines() == NOTES
    lines = output.splitlines()
    assert lines[:4] == shown()[:4]
    assert lines[4].startswith("Your notes: ")
    assert all(note in lines[4] for note in NOTES)


def shown(program: str = "example.py") -> list[str]:
    """What the README says that ``program`` prints."""
    block = re.search(rf"\$ python {re.escape(program)}\n(.*?)```", text(), re.DOTALL)
    assert block
    return block[1].splitlines()
