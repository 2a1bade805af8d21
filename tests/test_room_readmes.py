"""Each folder of modules says in its README what lies in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.test_architecture import NOT_INSTALLED, ROOMS

PAGE = ROOT / "viewer/static"
KINDS = {".py", ".js", ".md"}
OTHER_PEOPLES = PAGE / "vendor"


def folders() -> list[str]:
    found = {file.parent for room in ROOMS | NOT_INSTALLED for file in (ROOT / room).rglob("*.py")}
    return sorted(str(folder.relative_to(ROOT)) for folder in found | {PAGE})


def files(folder: Path) -> Iterator[Path]:
    """What is in a folder, and in those below it that have no README."""
    for path in folder.iterdir():
        if path.suffix in KINDS and path.name not in {"__init__.py", "README.md"}:
            yield path
        elif path.is_dir() and path != OTHER_PEOPLES and not (path / "README.md").exists():
            yield from files(path)


@pytest.mark.parametrize("name", folders())
def test_a_readme_names_every_module_of_its_folder_and_no_other(name: str) -> None:
    folder = ROOT / name
    text = (folder / "README.md").read_text(encoding="utf-8").rpartition("## The code")[2]
    named = set(re.findall(r"`([\w/]+\.(?:py|js|md))`", text))
    assert {str(path.relative_to(folder)) for path in files(folder)} <= named
    assert not [each for each in named if not ((folder / each).exists() or (ROOT / each).exists())]
