"""The checklist of the movie generator is complete, and every test that it names exists."""

from __future__ import annotations

import re

from tests.support import ROOT

TESTS = ROOT / "tests"
POINTS = [f"A{number}" for number in range(1, 29)]


def texts() -> list[str]:
    """The sources of the movie generator's tests."""
    files = (ROOT / "packages/movie_generator/tests").rglob("test_*.py")
    return [path.read_text(encoding="utf-8") for path in files]


def rows() -> dict[str, list[str]]:
    """Point -> its tests."""
    lines = (TESTS / "README.md").read_text(encoding="utf-8").splitlines()
    found = [re.match(r"\| (A\d+) \|[^|]*\|(.*)\|$", line) for line in lines]
    return {row[1]: re.findall(r"`(\w+)`", row[2]) for row in found if row}


def test_every_point_has_its_row() -> None:
    assert list(rows()) == POINTS


def test_every_point_has_tests_that_exist() -> None:
    sources = texts()
    existing = {
        name for text in sources for name in re.findall(r"^(?:async )?def (test_\w+)", text, re.M)
    }
    assert [point for point, tests in rows().items() if not tests] == []
    assert {test for tests in rows().values() for test in tests} - existing == set()


def test_every_point_is_named_where_it_is_tested() -> None:
    text = "\n".join(texts())
    named = set(re.findall(r"\bA(\d+)\b", text))
    for first, last in re.findall(r"\bA(\d+) to A(\d+)\b", text):
        named |= {str(number) for number in range(int(first), int(last) + 1)}
    assert {point[1:] for point in POINTS} - named == set()
