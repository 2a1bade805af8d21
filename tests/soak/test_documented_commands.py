"""Every command in a block of a page runs as typed, in a clone and a home that are new."""

from __future__ import annotations

import os
import re
import shutil
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.soak.documented import PAGES, Newcomer, Shown, shown
from tests.support import DATA, ROOT, ghost_example
from workshop.scripted_model import ScriptedModel

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]

_ELSEWHERE = "packages/movie_generator/tests/test_movie_wheel.py runs it, with a page on loopback"
_CHECKS = "takes minutes, and .ci/run runs it in a clone"
_BY_HAND = "takes minutes to hours, and downloads other people's programs or starts clusters"
_ONLY_PARSED = {
    "uv run poe check": _CHECKS,
    "uv run poe quick": _CHECKS,
    "uv run poe coverage": _CHECKS,
    "uv run poe tests -x -k map": _CHECKS,
    "uv run poe conformance": _BY_HAND,
    "uv run poe audit": "asks PyPI about every package",
    "uv run poe fuzz --minutes 10": _BY_HAND,
    "uv run poe network": _BY_HAND,
    "uv run poe real-servers": _BY_HAND,
    "uv run poe fleet": _BY_HAND,
    "uv run poe fresh": _BY_HAND,
    "uv run poe pythons": _BY_HAND,
    "uv run poe soak": _BY_HAND,
    "uv run poe mutate": _BY_HAND,
    "sudo apt install inform6-compiler inform6-library": "needs root",
}
"""Commands that are not run, each with the reason; all but the last are parsed."""
_EVALUATE = "uv run python scripts/evaluate.py"
_INTERRUPTED = {
    "uv run python main.py --watch": "Turn 3 ",
    "uv run python -m viewer": "http://127.0.0.1:",
    "uv run python -m game_server --http": "http://127.0.0.1:8733/mcp",
    f"{_EVALUATE} --story bundled --seeds 1,2,3,4,5 --turns 100 --each": ", episode 1: ",
    f"{_EVALUATE} --protocol zorkgpt --suite jericho --at-hand --name mine --model "
    "deepseek/deepseek-v4-flash --player model --player chat --player random --player first-exit": (
        ", episode 1: "
    ),
}
"""Programs that go on until they are interrupted, or for hours: what they print before that."""
_KEYLESS = ("README.md", "docs/getting-started.md")
"""Pages whose reader has no key yet, so that the embedded model plays."""
_PLAYED = "uv run python main.py --story bundled --max-turns 45"
_FIRST = {
    "docs/episodes.md": [_PLAYED],
    "docs/player.md": [_PLAYED],
    "docs/viewer.md": [_PLAYED],
    "docs/evaluation.md": [
        _PLAYED,
        f"{_EVALUATE} --story zork1 --turns 100 --model qwen --name qwen",
    ],
}
"""What the reader of a page has done before."""
_SOLUTIONS = Path(os.environ.get("STORIES_DIR", os.devnull), "solutions")
_COMMANDS = (DATA / "weatherworks_walkthrough.txt").read_text(encoding="utf-8").splitlines()

_GAME = ("new_game", "command")


def model(request: ModelRequest) -> Reply:
    """Plays the bundled story; keeps notes or starts a game where there are tools for that."""
    tools = {name: tool for tool in request.tool_names for name in _GAME if tool.endswith(name)}
    if any(tool.endswith("read_all") for tool in request.tool_names):
        return _keeps_notes(request)
    if tools:
        calls = [("new_game", {}), ("command", {"text": "north"})]
        done = sum(message["role"] == "tool" for message in request.messages)
        if done == len(calls):
            return content_reply("I went north.")
        return tool_reply([(tools[calls[done][0]], calls[done][1])])
    return ScriptedModel(_COMMANDS)(request)


def _keeps_notes(request: ModelRequest) -> Reply:
    text = next(m["content"] for m in reversed(request.messages) if m["role"] == "user")
    if "cat" in text:
        return ghost_example.model(request)
    if request.last["role"] == "tool" or "Note" not in text:
        return content_reply("The milk is noted.")
    return tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})])


@pytest.fixture
def newcomer(tmp_path: Path, page: str) -> Iterator[Newcomer]:
    there, what = _NEEDS.get(page, (True, ""))
    if not there:
        pytest.skip(f"needs {what}")
    with ExitStack() as stack:
        openai = stack.enter_context(ModelServer(model))
        anthropic = stack.enter_context(ModelServer(model, wire="anthropic"))
        provider = {"OPENAI_BASE_URL": openai.base_url, "ANTHROPIC_BASE_URL": anthropic.base_url}
        provider["ZORKGPT_CLIENT_BASE_URL"] = openai.base_url
        newcomer = Newcomer(tmp_path, uuid.uuid4().hex, provider)
        stack.callback(newcomer.leaves)
        if page not in _KEYLESS:
            newcomer.types("export OPENAI_API_KEY=... ANTHROPIC_API_KEY=...")
        yield newcomer


_NEEDS = {
    "docs/evaluation.md": ("ZORK1_STORY" in os.environ, "Zork I: ZORK1_STORY=FILE"),
    "docs/protocols.md": ("ZORK1_STORY" in os.environ, "Zork I: ZORK1_STORY=FILE"),
    "docs/publish.md": ("STORIES_DIR" in os.environ, "games of Jericho: STORIES_DIR=FOLDER"),
    "docs/fresh-stories.md": (shutil.which("inform6") is not None, "the Inform compiler"),
    "docs/many-games.md": (
        _SOLUTIONS.is_dir(),
        "the games of free-20, and their solutions in a folder 'solutions': STORIES_DIR=FOLDER",
    ),
}
"""What a page's commands need that a machine may lack."""


@pytest.mark.parametrize("page", [page for page in PAGES if shown(page)])
def test_every_command_of_the_page_runs_as_typed(page: str, newcomer: Newcomer) -> None:
    print(f"\n{page}")
    failures = []
    for command in _FIRST.get(page, ()):
        newcomer.types(command)
    for entry in shown(page):
        _prepare(entry, newcomer)
        try:
            _follow(entry, newcomer)
        except AssertionError as error:
            failures.append(f"$ {entry.text}\n{error}")
    assert not failures, "\n\n".join(failures)


def _follow(entry: Shown, newcomer: Newcomer) -> None:
    if entry.command in _ONLY_PARSED:
        print(f"  not run: {_ONLY_PARSED[entry.command]}  $ {entry.command}")
        if entry.command.startswith("uv run poe "):
            newcomer.types(entry.command.replace("poe ", "poe --dry-run ", 1))
    elif found := re.search(r"(?:^|\| )(movie-generator \w+)", entry.command):
        print(f"  not run: {_ELSEWHERE}  $ {entry.command}")
        newcomer.types(f"{found[1]} --help")
    else:
        typed = entry.text.replace("REPOSITORY", newcomer.address, 1)
        with newcomer.serves() if typed != entry.text else nullcontext():
            newcomer.types(typed, until=_INTERRUPTED.get(entry.command, ""), says="Hello.\n")


def test_every_exception_is_a_command_that_is_shown() -> None:
    commands = {entry.command for page in PAGES for entry in shown(page)}
    assert {*_ONLY_PARSED, *_INTERRUPTED} <= commands


def _prepare(entry: Shown, newcomer: Newcomer) -> None:
    """What the sentences around a command ask for."""
    clone = newcomer.clone
    match entry.page, entry.command.split():
        case "docs/doors.md", [*_] if "zork.json" in entry.command:
            text = (ROOT / entry.page).read_text(encoding="utf-8")
            (clone / "zork.json").write_text(text.partition("```json\n")[2].partition("```")[0])
        case "docs/doors.md", [*_, "gym:my_package:MyText-v0"]:
            _register_an_environment(clone)
        case "docs/evaluation.md", [*_, "merge", _, one, two]:
            for folder in (one, two):
                shutil.copytree(clone / "game_files/evaluations/deepseek", clone / folder)
        case "docs/protocols.md", [*_, "zork1.z5", "--model", _]:
            shutil.copy(os.environ["ZORK1_STORY"], clone / "zork1.z5")
        case "docs/many-games.md", _ if not (clone / "solutions").exists():
            shutil.copytree(_SOLUTIONS, clone / "solutions")
        case _, ["pip", "install", _, *_] if not (clone / "environment").exists():
            newcomer.types(f"{sys.executable} -m venv environment")
            newcomer.env["PATH"] = f"{clone}/environment/bin:{newcomer.env['PATH']}"
            newcomer.types("pip install --quiet pytest")
        case str(page), ["python" | "pytest" | "mcp-ghost", *_] if _is_of_the_library(page):
            if not (clone / "environment").exists():
                newcomer.types(f"{sys.executable} -m venv environment")
                newcomer.env["PATH"] = f"{clone}/environment/bin:{newcomer.env['PATH']}"
                newcomer.types("pip install --quiet pytest ./packages/mcp_ghost")
            if newcomer.here == clone:
                _enter_a_project(newcomer)


def _is_of_the_library(page: str) -> bool:
    return page.startswith("packages/mcp_ghost/")


def _register_an_environment(clone: Path) -> None:
    """The package of the page, which registers an environment of text."""
    (clone / "my_package.py").write_text(
        "import gymnasium\n"
        "from tests.game_interface.text_environment import Corridor\n"
        'gymnasium.register("MyText-v0", entry_point=Corridor)\n'
    )


def _enter_a_project(newcomer: Newcomer) -> None:
    """A folder with the README's files and what its commands read."""
    newcomer.here = newcomer.clone.parent / "project"
    newcomer.here.mkdir()
    ghost_example.write_files(newcomer.here)
    servers = '{"mcpServers": {"notes": {"command": "python", "args": ["notes_server.py"]}}}'
    (newcomer.here / "servers.json").write_text(servers)
    (newcomer.here / "question.txt").write_text("Note that the milk is gone.")
