"""The package stands alone: its wheel and the engine's, in an empty environment."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.support import ROOT
from tests.support.ghost_example import PACKAGE as ENGINE
from tests.support.processes.wheels import bounds, imports, project, run, uv

PACKAGE = ROOT / "movie_generator"
IMPORTED_AS = {
    "beautifulsoup4": "bs4",
    "mcp-ghost-engine": "mcp_ghost",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "readability-lxml": "readability",
}
UNSEEN = {"lxml"}
"""What is used by its name only."""
MOST_BYTES = 150_000_000
"""Of an environment with nothing else in it, compiled."""
OTHERS = ("fernz", "game_interface", "llm_client", "local_model", "main", "xllamacpp", "session")
IMPORT_EVERYTHING = """
import importlib, importlib.util, pathlib, movie_generator
root = pathlib.Path(movie_generator.__file__).parent
modules = [path.relative_to(root.parent).with_suffix("").parts for path in root.rglob("*.py")]
for parts in modules:
    importlib.import_module(".".join(parts))
print(len(modules), root, [it for it in OTHERS if importlib.util.find_spec(it)])
"""


def test_the_declared_dependencies_are_what_the_package_imports() -> None:
    whole = bounds(PACKAGE, *project(PACKAGE)["optional-dependencies"])
    declared = {IMPORTED_AS.get(name, name) for name in whole}
    assert declared == imports(PACKAGE) | UNSEEN


def test_every_dependency_is_bounded_and_tested_with_the_same_bounds() -> None:
    ours = bounds(PACKAGE, *project(PACKAGE)["optional-dependencies"])
    tested = bounds(ROOT, *project(ROOT)["optional-dependencies"])
    assert [name for name, versions in ours.items() if "<" not in versions] == []
    engine = SpecifierSet(ours.pop("mcp-ghost-engine"))
    assert project(ENGINE)["version"] in engine
    assert {name: tested.get(name) for name in ours} == ours


def test_version_licence_python_and_command_are_those_of_the_repository() -> None:
    for key in ("version", "license", "requires-python"):
        assert project(PACKAGE)[key] == project(ROOT)[key]
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert project(PACKAGE)["scripts"].items() <= project(ROOT)["scripts"].items()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with the two wheels and what they need."""
    if shutil.which("uv") is None:
        pytest.skip("needs uv")
    folder = tmp_path_factory.mktemp("wheels")
    for package in (ENGINE, PACKAGE):
        uv("build", package, "--wheel", "--out-dir", folder / "dist", "--no-config")
    uv("venv", "--no-config", "--python", sys.executable, folder / "empty")
    python = folder / "empty/bin/python"
    wheels = sorted((folder / "dist").glob("*.whl"))
    uv("pip", "install", "--no-config", "--compile-bytecode", "--python", python, *wheels)
    uv("pip", "check", "--no-config", "--python", python)
    yield folder / "empty"
    shutil.rmtree(folder)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_environment_is_small_and_whole(environment: Path, tmp_path: Path) -> None:
    files = (path for path in environment.rglob("*") if path.is_file() and not path.is_symlink())
    size = sum(path.stat().st_size for path in files)
    print(f"the environment: {size / 1e6:.0f} MB")
    assert size <= MOST_BYTES
    code = f"OTHERS = {OTHERS}{IMPORT_EVERYTHING}"
    count, root, others = run([f"{environment}/bin/python", "-c", code], tmp_path).split(" ", 2)
    assert int(count) == len([*PACKAGE.rglob("*.py")])
    assert Path(root).is_relative_to(environment)
    assert others == "[]\n"
    assert "enqueue" in run([f"{environment}/bin/movie-generator", "--help"], tmp_path)
