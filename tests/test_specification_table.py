"""The tables in tests/README.md are complete, and every test that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CRITERIA_PER_REQUIREMENT = (5, 6, 7, 7, 10, 10, 5, 6, 5, 5, 5, 5, 5, 5, 5)
PROPERTIES = 48
FILES_OF_THE_SPECIFICATION = (
    *("test_mcp_manager.py", "test_llm_client_tools.py", "test_agent_tool_calling.py"),
    *("test_orchestrator_mcp.py", "test_mcp_properties.py", "test_mcp_integration.py"),
)


def rows() -> dict[str, list[str]]:
    """Criterion or property -> its tests."""
    lines = (HERE / "README.md").read_text(encoding="utf-8").splitlines()
    found = [re.match(r"\| ([\d.]+) \|[^|]*\|(.*)\|$", line) for line in lines]
    return {row[1]: re.findall(r"`(\w+)`", row[2]) for row in found if row}


def existing_tests() -> set[str]:
    sources = [path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py")]
    return {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}


def test_every_criterion_and_property_has_its_row() -> None:
    criteria = [
        f"{requirement}.{number}"
        for requirement, count in enumerate(CRITERIA_PER_REQUIREMENT, start=1)
        for number in range(1, count + 1)
    ]
    assert len(criteria) == 91
    assert list(rows()) == [*criteria, *map(str, range(1, PROPERTIES + 1))]


def test_every_test_in_the_tables_exists() -> None:
    named = rows()
    assert [row for row, tests in named.items() if not tests] == []
    missing = {row: set(tests) - existing_tests() for row, tests in named.items()}
    assert {row: tests for row, tests in missing.items() if tests} == {}


def test_every_property_is_tagged_in_a_test_file() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    tagged = {int(number) for number in re.findall(r"^# Property (\d+): ", text, re.MULTILINE)}
    assert tagged == set(range(1, PROPERTIES + 1))


@pytest.mark.parametrize("name", FILES_OF_THE_SPECIFICATION)
def test_the_files_that_the_specification_names_are_there(name: str) -> None:
    assert (HERE / name).is_file()
