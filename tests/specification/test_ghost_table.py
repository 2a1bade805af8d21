"""The table of mcp_ghost in tests/README.md is complete, and every test that it names exists."""

from __future__ import annotations

import re

from tests.specification.test_specification_table import TESTS, existing_tests

POINTS = 47


def rows() -> dict[str, list[str]]:
    """Point of the specification -> its tests."""
    lines = (TESTS / "README.md").read_text(encoding="utf-8").splitlines()
    found = [re.match(r"\| (B\d+) \|[^|]*\|(.*)\|$", line) for line in lines]
    return {row[1]: re.findall(r"`(\w+)`", row[2]) for row in found if row}


def test_every_point_has_its_row() -> None:
    assert list(rows()) == [f"B{number}" for number in range(1, POINTS + 1)]


def test_every_test_in_the_table_exists() -> None:
    named = rows()
    assert [row for row, tests in named.items() if not tests] == []
    missing = {row: set(tests) - existing_tests() for row, tests in named.items()}
    assert {row: tests for row, tests in missing.items() if tests} == {}
