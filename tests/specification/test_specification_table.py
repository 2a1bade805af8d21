"""The tables in tests/README.md are complete, and every test that they name exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support import ROOT, files_of_tests

TESTS = ROOT / "tests"
CRITERIA_PER_REQUIREMENT = (5, 6, 7, 7, 10, 10, 5, 6, 5, 5, 5, 5, 5, 5, 5)
PROPERTIES = 48
NUMBERED = {
    "Properties": PROPERTIES,
    "Faults that must not come back": 23,
    "What the whole must do": 13,
}
LETTERED = {"mcp_ghost": ("B", 47), "movie_generator": ("A", 28)}
FILES_OF_THE_SPECIFICATION = (
    "test_mcp_manager.py",
    "test_llm_client_tools.py",
    "test_agent_tool_calling.py",
    "test_orchestrator_mcp.py",
    "test_mcp_properties.py",
    "test_mcp_integration.py",
)


@cache
def rows(heading: str) -> dict[str, list[str]]:
    """What each row of the table below ``heading`` is about -> its tests."""
    text = (TESTS / "README.md").read_text(encoding="utf-8")
    below = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| ([AB]?[\d.]+) \|[^|]*\|(.*)\|$", below, re.MULTILINE)
    assert len(found) == len(dict(found)), "a row is there twice"
    return {number: re.findall(r"`(\w+)`", tests) for number, tests in found}


@cache
def sources() -> dict[Path, str]:
    """The text of each file of tests."""
    return {path: path.read_text(encoding="utf-8") for path in files_of_tests()}


@cache
def existing_tests() -> set[str]:
    found = (re.findall(r"^(?:async )?def (test_\w+)", it, re.M) for it in sources().values())
    return {name for names in found for name in names}


def test_every_criterion_has_its_row() -> None:
    criteria = [
        f"{requirement}.{number}"
        for requirement, count in enumerate(CRITERIA_PER_REQUIREMENT, start=1)
        for number in range(1, count + 1)
    ]
    assert len(criteria) == 91
    assert list(rows("Acceptance criteria")) == criteria


@pytest.mark.parametrize(("heading", "count"), NUMBERED.items())
def test_every_number_has_its_row(heading: str, count: int) -> None:
    assert list(rows(heading)) == [str(number) for number in range(1, count + 1)]


@pytest.mark.parametrize(("heading", "letter", "count"), [(k, *it) for k, it in LETTERED.items()])
def test_every_point_has_its_row(heading: str, letter: str, count: int) -> None:
    assert list(rows(heading)) == [f"{letter}{number}" for number in range(1, count + 1)]


def test_every_point_of_the_movie_generator_is_named_where_it_is_tested() -> None:
    text = "\n".join(it for path, it in sources().items() if "movie_generator" in path.parts)
    named = set(re.findall(r"\bA(\d+)\b", text))
    for first, last in re.findall(r"\bA(\d+) to A(\d+)\b", text):
        named |= {str(number) for number in range(int(first), int(last) + 1)}
    assert {point[1:] for point in rows("movie_generator")} - named == set()


@pytest.mark.parametrize("heading", ["Acceptance criteria", *NUMBERED, *LETTERED])
def test_every_test_in_the_tables_exists(heading: str) -> None:
    named = rows(heading)
    assert [row for row, tests in named.items() if not tests] == []
    missing = {row: set(tests) - existing_tests() for row, tests in named.items()}
    assert {row: tests for row, tests in missing.items() if tests} == {}


def test_a_fault_in_the_name_of_a_test_is_one_that_its_row_names() -> None:
    for name in existing_tests():
        numbers = re.match(r"test_faults?_(\d+(?:_(?:\d+|and))*)_", name)
        for number in re.findall(r"\d+", numbers[1] if numbers else ""):
            assert name in rows("Faults that must not come back")[number]


def test_every_property_is_tagged_in_a_test_file() -> None:
    text = "\n".join(sources().values())
    tagged = {int(number) for number in re.findall(r"^# Property (\d+): ", text, re.MULTILINE)}
    assert tagged == set(range(1, PROPERTIES + 1))


@cache
def decorators() -> dict[str, str]:
    """What stands above each test of a file with examples, names of settings spelled out."""
    texts = (text for text in sources().values() if "@given(" in text)
    nodes = [node for text in texts for node in ast.parse(text).body]
    settings = {
        node.targets[0].id: ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.Assign)
        if isinstance(node.targets[0], ast.Name)
        if ast.unparse(node.value).startswith("settings(")
    }
    found = {}
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = "\n".join(ast.unparse(each) for each in node.decorator_list)
            for _ in range(2):  # settings may be made of settings
                text = re.sub(r"\w+", lambda it: settings.get(it[0], it[0]), text)
            found[node.name] = text
    return found


@pytest.mark.parametrize("number", range(1, PROPERTIES + 1))
def test_every_property_is_tried_with_at_least_a_hundred_examples(number: int) -> None:
    """Whatever the profile says."""
    above = [decorators().get(test, "") for test in rows("Properties")[str(number)]]
    counts = [
        int([0, *re.findall(r"max_examples=(\d+)", text)][-1])  # the outermost is the last
        for text in above
        if "given(" in text
    ]
    assert counts
    assert min(counts) >= 100


@pytest.mark.parametrize("name", FILES_OF_THE_SPECIFICATION)
def test_the_files_that_the_specification_names_are_there(name: str) -> None:
    assert files_of_tests(name)
