"""A package's wheel: what its project promises, and programs that see it and no repository."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import PATIENCE

_UNREACHABLE = re.compile(r"Failed to fetch|error sending request|dns error|Network connectivity")


def project(folder: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return table


def bounds(folder: Path, *extras: str) -> dict[str, str]:
    """What a project depends on, with the versions that it takes."""
    whole = project(folder)
    lines = [*whole["dependencies"]]
    for extra in extras:
        lines += whole["optional-dependencies"][extra]
    found = (re.fullmatch(r"([\w-]+)(.*)", line) for line in lines)
    return {match[1]: match[2] for match in found if match}


def imports(package: Path) -> set[str]:
    """What of others a package imports, also inside functions: the top-level names."""
    return {*_imports(package)} - {*sys.stdlib_module_names, package.name}


def _imports(package: Path) -> Iterator[str]:
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def run(command: list[str], folder: Path, **env: str) -> str:
    """What a program prints, that sees nothing of this repository."""
    clean = {key: it for key, it in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        command,
        cwd=folder,
        env=clean | env,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def uv(*arguments: str | Path) -> None:
    """Run uv with what its cache holds, else with the registry."""
    for offline in (("--offline",), ()):
        command = ["uv", *map(str, arguments), *offline]
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
        if done.returncode == 0:
            return
    if _UNREACHABLE.search(done.stderr):
        pytest.skip("the registry does not answer")
    pytest.fail(f"{' '.join(command)}\n{done.stderr}")
