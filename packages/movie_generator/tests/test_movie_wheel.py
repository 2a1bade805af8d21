"""The package stands alone: its wheel and the engine's, in an empty environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

import movie_generator
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from movie_generator import VideoScript
from tests.support import ROOT
from tests.support.ghost_example import PACKAGE as ENGINE
from tests.support.movie import SERVERS, script_reply, site
from tests.support.processes.wheels import bounds, imports, project, run, uv

PACKAGE = ROOT / "packages/movie_generator"
IMPORTED_AS = {
    "charset-normalizer": "charset_normalizer",
    "chunspell": "hunspell",
    "mcp-ghost-engine": "mcp_ghost",
    "python-dotenv": "dotenv",
    "pyyaml": "yaml",
    "text2num": "text_to_num",
}
MOST_BYTES = 160_000_000
"""Of an environment with nothing else in it, compiled."""
GERMAN = [
    f"Am Tag {day} gingen {day * 7 + 100} Menschen über die alte Brücke, und das sagt die Stadt."
    for day in range(1, 29)
]
OTHERS = ("game_interface", "llm_client", "local_model", "main", "xllamacpp", "session")
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
    assert declared == imports(PACKAGE / "movie_generator")


def test_every_dependency_is_bounded_and_where_others_need_it_too_in_the_same_way() -> None:
    ours = bounds(PACKAGE, *project(PACKAGE)["optional-dependencies"])
    theirs = bounds(ROOT) | bounds(ENGINE)
    assert [name for name, versions in ours.items() if not re.search("<|==", versions)] == []
    engine = SpecifierSet(ours.pop("mcp-ghost-engine"))
    assert project(ENGINE)["version"] in engine
    assert {name: theirs.get(name, versions) for name, versions in ours.items()} == ours


def test_version_licence_and_python_are_those_of_the_repository() -> None:
    assert movie_generator.__version__ == project(PACKAGE)["version"]
    for key in ("version", "license"):
        assert project(PACKAGE)[key] == project(ROOT)[key]
    # The tools of the repository have wheels for less than the package runs with.
    assert project(ROOT)["requires-python"].startswith(project(PACKAGE)["requires-python"])
    assert (PACKAGE / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


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
    files = [path for path in environment.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    plain = sum(512 * path.stat().st_blocks for path in files if path.suffix != ".pyc")
    print(f"the environment: {size / 1e6:.0f} MB; not compiled, on disk: {plain / 1e6:.0f} MB")
    assert max(size, plain) <= MOST_BYTES
    assert f"{MOST_BYTES // 10**6} MB" in (PACKAGE / "README.md").read_text(encoding="utf-8")
    assert [*environment.glob("lib/*/site-packages/tests")] == []  # would hide the user's own
    code = f"OTHERS = {OTHERS}{IMPORT_EVERYTHING}"
    count, root, others = run([f"{environment}/bin/python", "-c", code], tmp_path).split(" ", 2)
    assert int(count) == len([*(PACKAGE / "movie_generator").rglob("*.py")])
    assert Path(root).is_relative_to(environment)
    assert others == "[]\n"
    assert "enqueue" in run([f"{environment}/bin/movie-generator", "--help"], tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_every_command_and_program_of_the_readme_runs_there_from_top_to_bottom(
    environment: Path, tmp_path: Path
) -> None:
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    python = f"{environment}/bin/python"
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "article").write_text("Bridges cross rivers.")
    uvx = tmp_path / "programs/uvx"  # stands in for the one that downloads mcp-server-fetch
    uvx.parent.mkdir()
    uvx.write_text(f"#!/bin/sh\nPAGES={pages} exec {python} {SERVERS / 'pages.py'}\n")
    uvx.chmod(0o755)
    of_site = {
        "/article": ("text/html", b"<p>Bridges cross rivers."),
        "/one": ("text/html", b"<p>Rivers part us."),
        "/three": ("text/html", b"<p>Build one."),
        "/robots.txt": ("text/plain", b"User-agent: *\nDisallow: /two"),  # a job that fails
    }
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "saved.html").write_text("<html lang=de><p>" + "<p>".join(GERMAN), encoding="utf-8")
    (folder / "notes.md").write_text("# Notes\n\nBuild one.\n")
    with site({**of_site}) as served, ModelServer(reader_and_writer(served.url)) as model:
        env = {
            "PATH": f"{uvx.parent}:{environment}/bin:{os.environ['PATH']}",
            "MOVIE_ALLOW_PRIVATE_URLS": "1",
            "OPENROUTER_BASE_URL": model.base_url,
        }
        for language, block in re.findall(r"^```(bash|python)\n(.*?)^```$", readme, re.M | re.S):
            if language == "bash":
                for line in block.replace("https://example.com", served.url).splitlines():
                    command = line.partition("#")[0].strip()
                    if not command.startswith("pip install "):
                        env |= follow(command, folder, env)
            else:
                program = block if "asyncio.run" in block else as_program(block, served.url)
                program = program.replace("max_it", f"base_url={model.base_url!r}, max_it")
                print(run([python, "-c", program], folder, **env))
    assert VideoScript.load(folder / "one.yaml").title == "Bridges"
    assert VideoScript.load(folder / "script.yaml").title == "Bridges"


def follow(command: str, folder: Path, env: dict[str, str]) -> dict[str, str]:
    """Run a command of the README; what it exports."""
    if command.startswith("export "):
        return dict(pair.split("=", 1) for pair in shlex.split(command)[1:])
    print("$", command)
    print(run(["sh", "-c", command], folder, **env))
    return {}


def as_program(block: str, url: str) -> str:
    """A piece of a program that awaits, with what it takes for granted."""
    imports = [line for line in block.splitlines() if line.startswith(("from ", "import "))]
    rest = [line for line in block.splitlines() if line not in imports]
    body = "\n".join(f"    {line}" for line in [f"url, api_key = {url + '/article'!r}, 'k'", *rest])
    return "\n".join([*imports, "import asyncio", "async def main():", body, "asyncio.run(main())"])


def german() -> str:
    """A script of about three minutes."""
    said = [{"text": it, "reading": it} for it in GERMAN]
    sections = [
        {"title": "Die Brücke", "narrations": said[start : start + 14]} for start in (0, 14)
    ]
    about = {"title": "Brücken", "description": "Die Brücke und wer über sie geht"}
    return script_reply(**about, sections=sections)


def reader_and_writer(url: str) -> Callable[[ModelRequest], Reply | str]:
    """Reads the page with a tool and hands it over; writes where it has no tools."""

    def reply(request: ModelRequest) -> Reply | str:
        if not request.tool_names:
            return german() if "in German" in json.dumps(request.body) else script_reply()
        if request.last["role"] == "tool":
            return json.dumps({"title": "Bridges", "description": "Crossing.", "results": [1]})
        return tool_reply([("fetch", {"url": f"{url}/article"})])

    return reply
