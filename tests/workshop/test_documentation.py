"""The documentation: what is written from the code is up to date, links lead on, commands exist."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from mcp_ghost.cli.program import program
from orchestration.parts import PARTS
from session.game_configuration import GameConfiguration
from terminal.flags import parse_flags
from tests.support import ROOT
from tests.support.viewing import recorded
from workshop.documentation import api, schema, settings
from workshop.documentation.site import ELSEWHERE, on_page_markdown

PAGES = [*(ROOT / name for name in ELSEWHERE), *sorted((ROOT / "docs").glob("*.md"))]
NOT_OURS = {".venv", "vendor", "data", "prompts", "build", "mutants", "game_files"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SCRIPTS = {
    name
    for file in (ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml"))
    for name in tomllib.loads(file.read_text(encoding="utf-8"))["project"]["scripts"]
}
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)")
_FENCED = re.compile(r"^(`{3,})(\w*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^ *(uv (?:run|sync) .*)$|(?<!`)`(uv (?:run|sync) [^`]*)`", re.MULTILINE)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="later ones write annotations otherwise")
def test_the_reference_of_the_library_is_up_to_date() -> None:
    assert api.PAGE.read_text(encoding="utf-8") == api.page(), (
        "Write it again with: uv run python workshop/documentation/api.py"
    )


def test_nothing_public_is_without_a_word() -> None:
    described = api.page()
    assert "### class Ghost" in described
    assert "async def mcp_ghost(" in described


def test_the_tables_of_the_log_are_up_to_date() -> None:
    text = schema.PAGE.read_text(encoding="utf-8")
    assert text == schema.with_tables(text), (
        "Write them anew with: uv run python workshop/documentation/schema.py"
    )


def programs_on_the_log(folder: Path) -> list[str]:
    """What the page shows, on an episode that was played."""
    played = str(recorded(folder))
    blocks = [it[2] for it in _FENCED.findall(schema.PAGE.read_text(encoding="utf-8"))]
    return [it.replace("game_files/episodes/EPISODE", played) for it in blocks]


def test_the_log_is_read_as_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(programs_on_the_log(tmp_path)[1])  # noqa: S102  what the page says
    assert "read letter" in capsys.readouterr().out


@pytest.mark.network
def test_pandas_reads_the_log_as_the_page_says(tmp_path: Path) -> None:
    program = programs_on_the_log(tmp_path)[0]
    called = ("uv", "run", "--no-project", "--with", "pandas", "python", "-c", program)

    def printed() -> str:
        done = subprocess.run(called, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout

    said = printed()
    assert "Landing Stage" in said
    assert "Reflection" in said
    (log,) = tmp_path.rglob("events.jsonl")
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(it for it in lines if '"model_call"' not in it), encoding="utf-8")
    assert "Landing Stage" in printed()


def test_the_tables_of_settings_are_up_to_date_and_have_them_all() -> None:
    text = settings.PAGE.read_text(encoding="utf-8")
    assert text == settings.with_tables(text), (
        "Write them anew with: uv run python workshop/documentation/settings.py"
    )
    rows = re.findall(r"^\| `", settings.tables(), re.MULTILINE)
    keys = [name for name in GameConfiguration.model_fields if not name.endswith("_api_key")]
    repeated = [name for name in keys if re.match("(reflection|critic)_", name)]
    in_one_row = [name for name in repeated if f"agent_{name.partition('_')[2]}" in keys]
    endpoints = [name for name in in_one_row if name.endswith(("_model", "_base_url"))]
    assert len(rows) == len(keys) - len(in_one_row) + len(endpoints)


def pages() -> list[Path]:
    found = (path for path in ROOT.rglob("*.md") if not NOT_OURS & {*path.relative_to(ROOT).parts})
    return sorted(found)


def anchors(path: Path) -> set[str]:
    """What a link may name in a page."""
    titles = re.findall(r"^#+ (.+)$", _FENCED.sub("", path.read_text(encoding="utf-8")), re.M)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}


def test_every_link_between_files_leads_to_one_and_to_a_heading_in_it() -> None:
    for page in pages():
        for target, anchor in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
            file = page.parent / target if target else page
            assert file.exists(), (page, target)
            assert not anchor or anchor in anchors(file), (page, f"{target}#{anchor}")


def test_links_of_the_site_lead_from_folder_to_folder() -> None:
    page = SimpleNamespace(file=SimpleNamespace(src_uri="decisions/README.md"))
    links = "[a](02-one-event-loop-per-episode.md) [b](../glossary.md#games) [c](../../README.md)"
    assert on_page_markdown(links, page=page) == (
        "[a](02-one-event-loop-per-episode.md) [b](../glossary.md#games) [c](../index.md)"
    )


def commands() -> Iterator[str]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        yield from (f"{in_block or in_line}" for in_block, in_line in _COMMAND.findall(text))


@pytest.mark.parametrize("command", sorted({*commands()}))
def test_every_command_shown_is_one_that_there_is(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(command, comments=True)[1:]
    while len(words) > 2 and words[1].startswith("--"):
        known = {
            "--extra": PROJECT["project"]["optional-dependencies"],
            "--group": PROJECT["dependency-groups"],
            "--package": PROJECT["tool"]["uv"]["sources"],
        }[words[1]]
        assert words[2] in known
        del words[1:3]
    match words[1:]:
        case ["poe", task, *_]:
            assert task in PROJECT["tool"]["poe"]["tasks"]
        case ["python", "-m", name, *arguments]:
            begin(f"{name}.__main__", arguments, monkeypatch)
        case ["python", file, *arguments]:
            begin(file.removesuffix(".py").replace("/", "."), arguments, monkeypatch)
        case [tool, *_]:
            assert tool in {"ray", "ruff", "pytest", *SCRIPTS}


def test_getting_started_knows_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        parse_flags(["--help"], PARTS, ())
    text = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    said = {*re.findall(r"--[a-z-]+", capsys.readouterr().out), *(f"`{part}`" for part in PARTS)}
    assert {word for word in said if word not in text} == set()


def begin(name: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Start a program as its command line says, up to where it would do the work."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    main = getattr(importlib.import_module(name), "main", None)
    works = program
    for module in list(sys.modules.values()):
        if getattr(module, "program", None) is works:
            monkeypatch.setattr(module, "program", lambda *_: 0)
    assert main is None or main() == 0
