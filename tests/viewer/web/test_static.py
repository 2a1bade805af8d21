"""The files of the page: all from here, and those of others as they were noted."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tests.support import ROOT

VENDOR = ROOT / "viewer" / "static" / "vendor"


def test_vendored_files_are_those_that_were_noted() -> None:
    noted = dict(re.findall(r"^\| `(\S+)` \|.*\| `([0-9a-f]{64})` \|$", read("VENDORED.md"), re.M))
    there = {path.name for path in VENDOR.iterdir()} - {"VENDORED.md"}
    assert set(noted) == there
    for name, digest in noted.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def read(name: str) -> str:
    return (VENDOR / name).read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_elsewhere() -> None:
    static = Path(ROOT / "viewer" / "static")
    ours = [
        *(p for p in static.rglob("*.js") if "vendor" not in p.parts),
        *static.glob("css/*.css"),
        *ROOT.glob("viewer/templates/*"),
    ]
    assert len(ours) > 15
    for path in ours:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|\beval\(|style=", text), path
