"""What packages/mcp_ghost/docs/servers.md says of MCP is proved, row for row, by tests that run."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from mcp_ghost import mcp_ghost
from mcp_ghost.config import ServerConfig
from tests.specification.test_specification_table import TESTS, existing_tests, sources
from tests.support import ROOT
from tests.support.servers import MODERN, OLD

HEADING = "Supported parts of MCP"
NOT_IN_EVERY_CHECK = re.compile(r"pytest\.mark\.(?:skip|xfail|record_golden)\b|pytest\.skip\(")


def rows(file: Path) -> dict[str, str]:
    """Part of MCP -> what the table in ``file`` says of it."""
    below = file.read_text(encoding="utf-8").partition(f"# {HEADING}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (.+?) \| (.+) \|$", below, re.MULTILINE)
    return dict(lines[1:] if lines[0][0] == "Part" else lines)


SAID = rows(ROOT / "packages/mcp_ghost/docs/servers.md")
PROVED = {part: re.findall(r"`(test_\w+)`", it) for part, it in rows(TESTS / "README.md").items()}


def test_every_part_of_the_protocol_has_its_proofs() -> None:
    assert list(PROVED) == list(SAID)
    assert [part for part, tests in PROVED.items() if not tests] == []
    assert {test for tests in PROVED.values() for test in tests} - existing_tests() == set()


def test_every_part_is_answered_with_yes_or_no() -> None:
    assert [part for part, said in SAID.items() if not re.match(r"(yes|no)\b", said)] == []
    assert {said[:2] for said in SAID.values()} == {"ye", "no"}


@pytest.mark.parametrize("part", PROVED)
def test_the_proofs_run_with_every_check(part: str) -> None:
    for name in PROVED[part]:
        (source,) = sources_of(name)
        assert not NOT_IN_EVERY_CHECK.search(source), name


def sources_of(test: str) -> list[str]:
    """Every test of this name, with its decorators."""
    texts = (text for text in sources().values() if f"def {test}(" in text)
    nodes = (node for text in texts for node in ast.parse(text).body)
    return [
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == test
    ]


def test_the_revisions_are_those_that_are_tried() -> None:
    tried = f"revisions {OLD[0]} to {OLD[-1]}, and {MODERN}"
    assert tried in SAID


def test_the_settings_that_the_table_names_exist() -> None:
    known = {*inspect.signature(mcp_ghost).parameters, *ServerConfig.model_fields}
    named = {name for said in SAID.values() for name in re.findall(r'`"?(\w+)["`]', said)}
    assert named >= {"elicit", "auth", "type"}
    assert named - known == set()
