"""The shape of the house: which part may import which, how long functions are, what READMEs say.

The parts and their arrows stand in CONTRIBUTING.md, and nowhere else.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import ROOT

NOT_INSTALLED = {"scripts", "workshop"}
BASES = [ROOT, ROOT / "servers", *sorted((ROOT / "packages").iterdir())]
"""The folders that modules are imported from."""
TESTS = [base / "tests" for base in BASES]
MOST_LINES_OF_A_FUNCTION = 80
ROW = re.compile(r"^\| `([\w.]+)` \| (.*) \|$", re.MULTILINE)
PAGE = ROOT / "viewer/static"
KINDS = {".py", ".js", ".md"}
OTHER_PEOPLES = PAGE / "vendor"
FROM_OUTSIDE = re.compile(r"^From outside: (.+?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)


def arrows() -> dict[str, set[str]]:
    """Part -> the parts that it may import besides itself, as CONTRIBUTING.md has them."""
    rows = ROW.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    return {part: set(re.findall(r"`([\w.]+)`", targets)) for part, targets in rows}


ARROWS = arrows()
ROOMS = {part for part in ARROWS if "." not in part}


@cache
def modules() -> dict[str, Path]:
    """Every module that is not a test, by name; a package's own is ``package.__init__``."""
    files = [
        (base, file)
        for room in sorted(ROOMS | NOT_INSTALLED)
        for base in BASES
        for file in [base / f"{room}.py", *sorted((base / room).rglob("*.py"))]
        if file.exists()
    ]
    return {".".join(it.relative_to(base).with_suffix("").parts): it for base, it in files}


def module(name: str) -> str | None:
    return next((each for each in (name, f"{name}.__init__") if each in modules()), None)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(name: str) -> frozenset[str]:
    """The modules that a module imports, also inside functions and for types only."""
    found: set[str | None] = set()
    for node in ast.walk(parsed(modules()[name])):
        if isinstance(node, ast.Import):
            found |= {module(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module, f"{name}: an import without the package's name"
            home = node.module
            found |= {module(f"{home}.{alias.name}") or module(home) for alias in node.names}
    return frozenset(each for each in found if each)


@cache
def part_of(name: str) -> str:
    """The smallest part that a module belongs to."""
    return max((p for p in ARROWS if f"{name}.".startswith(f"{p}.")), key=len)


def parts() -> Iterator[tuple[str, str]]:
    return ((name, part_of(name)) for name in modules() if name.split(".")[0] in ROOMS)


@pytest.mark.parametrize("part", sorted(ARROWS))
def test_imports_point_one_way_and_no_arrow_is_drawn_that_nobody_needs(part: str) -> None:
    needed: set[str] = set()
    for name, owner in parts():
        if owner == part:
            others = {part_of(each) for each in imported(name)} - {part}
            assert others <= ARROWS[part], name
            needed |= others
    assert needed == ARROWS[part]


def test_at_the_engines_root_is_only_what_several_parts_share() -> None:
    for shared, part in parts():
        users = {user for name, user in parts() if shared in imported(name)}
        assert part != "mcp_ghost" or len(users) > 1, shared


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: imported(name) - {name} for name in modules()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_managers_do_not_know_each_other() -> None:
    managers = {name for name in modules() if name.endswith("_manager")}
    for name in managers:
        assert not imported(name) & managers, name


def test_the_wheel_holds_every_room() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    of_their_own = {base.name for base in (ROOT / "packages").iterdir()}
    served = {it.stem for it in (ROOT / "servers").iterdir() if it.name[0] not in "_."} - {"README"}
    inside = {name.removesuffix(".py") for name in shipped} - {"servers"} | served
    assert inside == ROOMS - of_their_own


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines, without the docstring."""
    end = function.end_lineno or function.lineno
    first = function.body[0]
    described = ast.get_docstring(function) is not None
    documentation = (first.end_lineno or first.lineno) - first.lineno + 1 if described else 0
    return end - function.lineno + 1 - documentation


def test_no_function_is_too_long() -> None:
    for path in [*modules().values(), *(it for tests in TESTS for it in tests.rglob("*.py"))]:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert length(node) <= MOST_LINES_OF_A_FUNCTION, f"{path}: {node.name}"


def rooms_and_page() -> list[str]:
    found = {file.parent for file in modules().values()} - {ROOT, ROOT / "servers"}
    return sorted(str(folder.relative_to(ROOT)) for folder in found | {PAGE})


def readme(folder: Path) -> str:
    """What describes a folder: its README, or that of the product whose package it is."""
    own = folder / "README.md"
    return (own if own.exists() else folder.parent / "README.md").read_text(encoding="utf-8")


def described_files(folder: Path) -> Iterator[Path]:
    """What is in a folder, and in those below it that have no README."""
    for path in folder.iterdir():
        if path.suffix in KINDS and path.name not in {"__init__.py", "README.md"}:
            yield path
        elif path.is_dir() and path != OTHER_PEOPLES and not (path / "README.md").exists():
            yield from described_files(path)


@pytest.mark.parametrize("name", rooms_and_page())
def test_a_readme_names_every_module_of_its_folder_and_no_other(name: str) -> None:
    folder = ROOT / name
    text = readme(folder).rpartition("## The code")[2]
    named = set(re.findall(r"`([\w/]+\.(?:py|js|md))`", text))
    assert {str(path.relative_to(folder)) for path in described_files(folder)} <= named
    assert not [each for each in named if not any((it / each).exists() for it in (folder, *BASES))]


def imported_by(importers: Iterator[str]) -> set[Path]:
    return {modules()[it] for importer in importers for it in imported(importer)}


def of_our_house() -> list[str]:
    """Folders whose README is for those who work on them, not for users as that of a product."""
    apart = {str(PAGE.relative_to(ROOT)), *NOT_INSTALLED}
    rooms = [it for it in rooms_and_page() if not {it, it.split("/")[0]} & apart]
    return [it for it in rooms if "## The code" not in readme(ROOT / it)]


@pytest.mark.parametrize("name", of_our_house())
def test_a_readme_names_what_is_imported_from_outside(name: str) -> None:
    folder = ROOT / name
    found = FROM_OUTSIDE.search((folder / "README.md").read_text(encoding="utf-8"))
    assert found, "what may be imported from outside?"
    own = {folder / "__init__.py", *described_files(folder)}
    files = re.findall(r"`([\w/]+\.py)`", found[1])
    named = {base / it for it in files for base in (folder, *BASES)}
    allowed = own if found[1].startswith("all of it") else own & named
    (base,) = [it for it in BASES[1:] if folder.is_relative_to(it)] or [ROOT]
    inside = f"{'.'.join(folder.relative_to(base).parts)}."
    around = f"{inside[:-1].rpartition('.')[0] or inside[:-1]}."
    parts = (it for it in modules() if it.split(".")[0] in ROOMS)
    assert own & imported_by(it for it in parts if not f"{it}.".startswith(around)) <= allowed
    assert own & named <= imported_by(it for it in modules() if not it.startswith(inside))
