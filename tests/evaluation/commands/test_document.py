"""The results in the documentation, which nobody copies by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.commands.document import BEGIN, END, section_of, with_section
from scripts.evaluate import main
from tests.evaluation.made_up import evaluation
from tests.support import ROOT

DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["evaluation", "many-games"])
def test_the_results_in_the_documentation_are_those_of_its_figures(name: str) -> None:
    page = DOCS / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    results = json.loads((DOCS / f"{name}-results.json").read_text(encoding="utf-8"))
    assert with_section(text, section_of(results), page) == text


def test_a_page_gets_the_results_of_an_evaluation_in_their_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluation(tmp_path / "played", {"whole": {1: [5], 2: [7]}})
    (played / "scores.png").write_bytes(b"a picture")
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n\n{BEGIN}old\n{END}\nAfter\n")
    for _ in range(2):
        assert main(["document", str(played), "--page", str(page)]) == 0
        text = page.read_text()
        assert text.startswith(f"# Before\n\n{BEGIN}\nA made-up game (SHA-256 aaaaaaaaaaaa)")
        assert "| whole | 1 | 2 | 6 | 12% |\n" in text
        assert text.endswith(f"{END}\nAfter\n")
        assert "old" not in text
        lines = [line for line in text.splitlines() if not line.startswith(("|", "**"))]
        assert max(map(len, lines)) <= 130
    results = json.loads((tmp_path / "page-results.json").read_text())
    assert [it["score"] for it in results["episodes"]] == [5, 7]
    assert (tmp_path / "page-scores.png").read_bytes() == b"a picture"
    assert "Written: " in capsys.readouterr().out


def test_a_page_without_a_place_for_them_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = evaluation(tmp_path / "played", {"whole": {1: [5]}})
    page = tmp_path / "page.md"
    page.write_text("# Nothing here\n")
    assert main(["document", str(played), "--page", str(page)]) == 2
    assert "add the lines <!-- results: begin --> and" in capsys.readouterr().err
    assert page.read_text() == "# Nothing here\n"
    assert main(["document", str(played), "--page", str(tmp_path / "none.md")]) == 1
    assert "none.md: No such file" in capsys.readouterr().err
