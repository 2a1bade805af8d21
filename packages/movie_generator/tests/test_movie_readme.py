"""The example in the movie generator's README runs as it stands."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

import movie_generator
from movie_generator import VideoScript
from movie_generator.cli.flags import parse_flags
from movie_generator.environment import Environment
from tests.support import ROOT, warm
from tests.support.processes.wheels import project

PACKAGE = Path(movie_generator.__file__).parents[1]
README = (PACKAGE / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_example_runs_as_it_stands() -> None:
    Path("example.py").write_text(blocks("python")[0])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = warm.run([sys.executable, "example.py"], env=env)
    assert done.returncode == 0, done.stderr
    assert "100% Done\nA bridge crosses a river.\n" in done.stdout
    assert VideoScript.load("script.yaml").title == "Bridges"


def test_the_script_shown_is_one() -> None:
    Path("shown.yaml").write_text(blocks("yaml")[0])
    assert VideoScript.load("shown.yaml").sections[0].title == "Why"


@pytest.mark.parametrize(
    "line",
    [line for block in blocks("bash") for line in block.splitlines() if line.startswith("movie-")],
)
def test_every_command_is_one_that_there_is(line: str) -> None:
    words = line.partition("#")[0].split()
    assert parse_flags(words[1:]).command


def test_every_variable_is_in_the_table_and_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_flags(["--help"])
    helped = capsys.readouterr().out
    tabled = re.findall(r"^\| `([A-Z_]+)`", README, re.MULTILINE)
    for name in (str(it.alias) for it in Environment.model_fields.values()):
        assert name in tabled
        assert name in helped


def test_every_extra_is_named() -> None:
    for extra in project(PACKAGE)["optional-dependencies"]:
        assert f"[{extra}]" in README
