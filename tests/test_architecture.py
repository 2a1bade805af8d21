"""The shape of the house: which part may import which, and how long a part may be."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BELOW = {"mcp_ghost", "shared_utils"}
SESSION = {"session", "local_model", *BELOW}
ALLOWED: dict[str, set[str]] = {
    "main": {"orchestration", "terminal", "viewer", "game_interface", *SESSION},
    "terminal": {"orchestration", "game_interface", *SESSION},
    "orchestration": {
        "storage",
        "zork_agent",
        "managers",
        "llm_client",
        "game_interface",
        "terminal",
        *SESSION,
    }
    - {"terminal"},
    "zork_agent": {"managers", "llm_client", "game_interface", "prompts", *SESSION},
    "managers": {"llm_client", "game_interface", "prompts", *SESSION},
    "llm_client": {*SESSION},
    "session": {"local_model", *BELOW},
    "storage": {"managers", *SESSION},
    "viewer": {"managers", "terminal", *SESSION},
    "game_interface": set(),
    "local_model": {"mcp_ghost"},
    "shared_utils": set(),
    "prompts": set(),
    "thoughtbox": set(),
    "mcp_ghost": set(),
    "movie_generator": {"mcp_ghost"},
}
"""Who may import whom, besides itself and third parties."""


def sources() -> Iterator[tuple[str, Path]]:
    for part in ALLOWED:
        if (ROOT / f"{part}.py").exists():
            yield part, ROOT / f"{part}.py"
        else:
            yield from ((part, path) for path in sorted((ROOT / part).rglob("*.py")))


def imported(path: Path) -> set[str]:
    """The parts that ``path`` imports, also inside functions and for types only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names} & set(ALLOWED)


@pytest.mark.parametrize("part", sorted(ALLOWED))
def test_imports_point_one_way(part: str) -> None:
    for owner, path in sources():
        if owner == part:
            assert imported(path) <= ALLOWED[part] | {part}, path


def test_managers_do_not_know_each_other() -> None:
    for path in (ROOT / "managers").glob("*_manager.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("managers."):
                assert not (node.module or "").endswith("_manager"), path


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines, without the docstring."""
    end = function.end_lineno or function.lineno
    first = function.body[0]
    described = ast.get_docstring(function) is not None
    documentation = (first.end_lineno or first.lineno) - first.lineno + 1 if described else 0
    return end - function.lineno + 1 - documentation


def test_no_file_has_more_than_400_lines_and_no_function_more_than_60() -> None:
    for path in [*ROOT.glob("*.py"), *(p for _, p in sources()), *(ROOT / "tests").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert length(node) <= 60, f"{path}: {node.name}"
