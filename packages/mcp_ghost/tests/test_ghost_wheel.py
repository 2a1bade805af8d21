"""The package stands alone: as a copied folder, and as a wheel in an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mcp_ghost import __version__
from mcp_ghost.errors import POSIX_ONLY
from mcp_ghost.testing import ModelServer, content_reply
from tests.support import ROOT, ghost_example
from tests.support.collector import running_collector
from tests.support.ghost_example import PACKAGE
from tests.support.processes.wheels import bounds, imports, project, run, uv

MODULES = {
    "opentelemetry-api": "opentelemetry",
    "pydantic-core": "pydantic_core",
    "python-dotenv": "dotenv",
}
"""Where a distribution and what it is imported as are spelled differently."""
OF_THE_USER = ("pytest", "typing_extensions", "yaml")
"""What is used only where the user's program has it, or by type checkers, who bring it."""
OTHER_PARTS = ("managers", "session", "shared_utils", "thoughtbox", "zork_agent")
IMPORT_EVERYTHING = """
import importlib, pathlib, mcp_ghost
root = pathlib.Path(mcp_ghost.__file__).parent
modules = [path.relative_to(root.parent).with_suffix("").parts for path in root.rglob("*.py")]
for parts in modules:
    importlib.import_module(".".join(parts))
print(len(modules), root)
"""


def test_the_declared_dependencies_are_what_the_package_imports() -> None:
    foreign = imports(PACKAGE / "mcp_ghost") - {*OF_THE_USER}
    assert {MODULES.get(name, name) for name in bounds(PACKAGE)} == foreign


def test_every_dependency_is_bounded_and_where_zorkgpt_needs_it_too_in_the_same_way() -> None:
    ours, theirs = bounds(PACKAGE, "otel"), bounds(ROOT)
    assert [name for name, versions in ours.items() if "<" not in versions] == []
    assert {name: theirs.get(name, versions) for name, versions in ours.items()} == ours


def test_version_licence_and_python_are_those_of_the_repository() -> None:
    for key in ("version", "license"):
        assert project(PACKAGE)[key] == project(ROOT)[key]
    # The tools of the repository have wheels for less than the package runs with.
    assert project(ROOT)["requires-python"].startswith(project(PACKAGE)["requires-python"])
    assert __version__ == project(ROOT)["version"]
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.soak
def test_the_folder_works_when_copied_alone_into_another_project(tmp_path: Path) -> None:
    shutil.copytree(
        PACKAGE / "mcp_ghost", tmp_path / "mcp_ghost", ignore=shutil.ignore_patterns("__pycache__")
    )
    ghost_example.write_files(tmp_path)
    # Without "site", nothing adds this repository to the path, as an editable install does.
    python = [sys.executable, "-S"]
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), sysconfig.get_paths()["purelib"]])}
    check = (
        "import importlib.util, mcp_ghost; print(mcp_ghost.__file__);"
        f"print([it for it in {OTHER_PARTS} if importlib.util.find_spec(it)])"
    )
    where, others = run([*python, "-c", check], tmp_path, **env).splitlines()
    assert Path(where).parent == tmp_path / "mcp_ghost"
    assert others == "[]"
    with ModelServer(ghost_example.model) as model:
        output = run([*python, "example.py"], tmp_path, OPENAI_BASE_URL=model.base_url, **env)
    ghost_example.assert_it_worked(tmp_path, output)


def on_windows(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program that takes this machine for one, where only POSIX's modules are missing."""
    lines = [
        "import asyncio, httpx2, pydantic, pytest, sys, sysconfig",
        "sysconfig.get_config_vars()  # looks at the platform, as do these",
        f"sys.path.insert(0, {str(PACKAGE)!r})",
        "sys.platform = 'win32'",
        "sys.modules |= dict.fromkeys(('fcntl', 'termios', 'tty', 'pwd'))",
        code,
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("wanted", ["mcp_ghost", "mcp_ghost.golden"])
def test_on_windows_an_import_says_that_it_does_not_run_there(wanted: str, tmp_path: Path) -> None:
    names = {"mcp_ghost": "Ghost", "mcp_ghost.golden": "replay_golden"}
    done = on_windows(f"from {wanted} import {names[wanted]}", tmp_path)
    assert done.stderr.splitlines()[-1] == f"ImportError: {POSIX_ONLY}"


def test_on_windows_the_command_line_says_so_in_one_line(tmp_path: Path) -> None:
    code = "from mcp_ghost.__main__ import main; sys.exit(main(['tools', '--config', 'a.json']))"
    done = on_windows(code, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"mcp-ghost: error: {POSIX_ONLY}\n"


def test_on_windows_the_plug_in_leaves_all_tests_alone_that_do_not_use_it(tmp_path: Path) -> None:
    (tmp_path / "test_theirs.py").write_text(
        "def test_of_others():\n    pass\n\ndef test_of_ours(golden):\n    pass\n"
    )
    options = ["-q", "-s", "-W", "error", "-p", "no:asyncio", "-p", "mcp_ghost.pytest_plugin"]
    done = on_windows(f"sys.exit(pytest.main({options}))", tmp_path)
    assert "1 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert POSIX_ONLY in done.stdout.splitlines()


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_wheel_installs_into_an_empty_environment_and_the_example_runs_there(
    tmp_path: Path,
) -> None:
    if shutil.which("uv") is None:
        pytest.skip("needs uv")
    uv("build", PACKAGE, "--out-dir", tmp_path / "dist", "--no-config")
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    uv("venv", "--no-config", "--python", sys.executable, tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    uv("pip", "install", "--no-config", "--python", python, wheel, "pytest")
    uv("pip", "check", "--no-config", "--python", python)
    folder = tmp_path / "project"
    folder.mkdir()
    ghost_example.write_files(folder)
    with ModelServer(ghost_example.model) as model:
        output = run([str(python), "example.py"], folder, OPENAI_BASE_URL=model.base_url)
    ghost_example.assert_it_worked(folder, output)
    pytest_ = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-W",
        "error",
        "--strict-markers",
        "test_notes.py",
    ]
    with ModelServer(ghost_example.model) as model:
        url = {"OPENAI_BASE_URL": model.base_url}
        assert "1 passed" in run([*pytest_, "--record-golden"], folder, **url)
    assert "1 passed" in run(pytest_, folder, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    count, root = run([str(python), "-c", IMPORT_EVERYTHING], folder).split()
    assert int(count) == len([*(PACKAGE / "mcp_ghost").rglob("*.py")])
    assert Path(root).is_relative_to(tmp_path / "empty")
    assert "inspect" in run([str(python), "-m", "mcp_ghost", "--help"], folder)
    uv("pip", "install", "--no-config", "--python", python, f"{wheel}[otel]")
    with ModelServer([content_reply("Noted.")]) as model, running_collector() as collector:
        url = {"OPENAI_BASE_URL": model.base_url}
        url |= {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url}
        assert run([str(python), "traced.py"], folder, **url) == "Noted.\n"
    assert len(collector.named("invoke_agent mcp_ghost")) == 1


@pytest.mark.network
@pytest.mark.timeout(600)
def test_an_editable_install_runs_the_folder_itself(tmp_path: Path) -> None:
    if shutil.which("uv") is None:
        pytest.skip("needs uv")
    uv("venv", "--no-config", "--python", sys.executable, tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    uv("pip", "install", "--no-config", "--python", python, "pytest", "--editable", PACKAGE)
    _, root = run([str(python), "-c", IMPORT_EVERYTHING], tmp_path).split()
    assert Path(root) == PACKAGE / "mcp_ghost"
