"""Every program says what it is for, in 80 columns, and does nothing else when it is asked."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

from tests.support import ROOT

PROGRAMS = ["main", "viewer", "mcp_ghost", "movie_generator", "game_server", "storage"]
SCRIPTS = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("evaluation", "scripts", "workshop")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if '__name__ == "__main__"' in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", [*PROGRAMS, *SCRIPTS])
def test_help_says_what_a_program_is_for(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delitem(sys.modules, f"{module}.__main__", raising=False)
    # pytest's importer takes mcp_ghost for a plug-in's package, and cannot run it.
    finders = [it for it in sys.meta_path if type(it).__name__ != "AssertionRewritingHook"]
    monkeypatch.setattr(sys, "meta_path", finders)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module(module, run_name="__main__")
    assert not ended.value.code
    said = capsys.readouterr().out
    assert said.startswith("usage: ")
    assert [line for line in said.splitlines() if len(line) > 80] == []
    assert len(said.partition("\n\n")[2].split()) > 5


def test_texts_that_introduce_and_close_a_help_are_broken_for_80_columns() -> None:
    """argparse leaves two of them free; what is longer would be broken once more, raggedly."""
    text_of_help = re.compile(r'_(?:DESCRIPTION|EPILOG) = """\\\n(.*?)"""', re.DOTALL)
    sources = (path for path in ROOT.glob("[a-z]*/**/*.py") if "tests" not in path.parts)
    texts = [text for path in sources for text in text_of_help.findall(path.read_text("utf-8"))]
    assert len(texts) > 10
    assert [line for text in texts for line in text.splitlines() if len(line) > 78] == []
