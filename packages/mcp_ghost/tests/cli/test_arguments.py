"""The parser of every command line, and its types of flags."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from mcp_ghost.cli.arguments import Parser, add_flags, http_url, port_number, seconds, whole_number
from mcp_ghost.cli.flags import _CHOICE, _LIMITS, _MODEL, parse_flags
from mcp_ghost.run.settings import Settings


@pytest.fixture
def parser() -> Parser:
    parser = Parser(prog="program")
    parser.add_argument("--max-turns", type=whole_number())
    parser.add_argument("--text")
    parser.add_argument("--name", type=str)
    parser.add_argument("--file", type=Path)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("show").add_argument("--turns")
    return parser


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["show", "--max-turn", "5"], "--max-turn 5 (did you mean '--max-turns'?)"),
        (["--max_turns=5"], "--max_turns=5 (did you mean '--max-turns'?)"),
        (["show", "--turnz", "3"], "--turnz 3 (did you mean '--turns'?)"),
        (["--xyz"], "unrecognized arguments: --xyz\n"),
        (["shwo"], " (did you mean 'show'?)"),
        (["show", "more"], "unrecognized arguments: more\n"),
        (["--max-turns", "0"], "must be 1 or more, not '0'"),
        (["show", "-o"], "unrecognized arguments: -o\n"),
        (["--text", ""], "argument --text: the value is empty: is a shell variable"),
        (["--name="], "argument --name: the value is empty: is a shell variable"),
        (["--file", ""], "argument --file: the value is empty: is a shell variable"),
        (["--max=5"], "--max=5 (did you mean '--max-turns'?)"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_names_the_flag_that_is_near(
    parser: Parser, words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words)
    assert ended.value.code == 2
    assert hint in capsys.readouterr().err


def test_types_of_flags_take_what_they_name() -> None:
    assert (whole_number()("7"), port_number("8080"), seconds("0.5")) == (7, 8080, 0.5)
    assert http_url("http://host/v1") == "http://host/v1"


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (whole_number(), "-1", "must be 1 or more, not '-1'"),
        (whole_number(), "1.5", "not a whole number"),
        (port_number, "65536", "from 1 to 65535"),
        (seconds, "inf", "seconds above 0"),
        (seconds, "soon", "seconds above 0"),
        (http_url, "localhost:1", "http:// or https://"),
    ],
)
def test_types_of_flags_say_what_they_want(read: object, text: str, why: str) -> None:
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match=why):
        read(text)


def test_flags_are_described_as_the_help_shows_them() -> None:
    parser = Parser(prog="tool")
    described = (
        "-o --output FILE  where to write it\n--max-turns N     how many\n--plain   no colours"
    )
    add_flags(parser, described, max_turns={"type": whole_number(), "default": 7})

    assert vars(parser.parse_args([])) == {"output": None, "max_turns": 7, "plain": False}
    given = vars(parser.parse_args(["-o", "a.svg", "--max-turns", "3", "--plain"]))
    assert given == {"output": "a.svg", "max_turns": 3, "plain": True}
    assert "where to write it" in parser.format_help()


def test_each_flag_of_a_run_is_an_option_of_the_function() -> None:
    given = "run --config F --provider P --prompt T --timeout 2.5 --max-iterations 3 --allow a b"
    arguments = parse_flags([*given.split(), "--temperature", "0", "--allow", "c"]).arguments()
    assert arguments == {
        "server_config": "F",
        "provider": "P",
        "system_prompt": arguments["system_prompt"],
        "timeout": 2.5,
        "max_iterations": 3,
        "allow": ["a", "b", "c"],
        "temperature": 0.0,
        "progress_extends_timeout": False,
        "server_instructions": True,
    }
    assert parse_flags([*given.split(), "--no-server-instructions"]).arguments() == {
        **{name: it for name, it in arguments.items() if name != "temperature"},
        "allow": ["a", "b"],
        "server_instructions": False,
    }
    known = {f"--{name.replace('_', '-')}" for name in Settings.__annotations__}
    described = re.findall("^--[a-z-]+", _MODEL + _LIMITS + _CHOICE, re.MULTILINE)
    assert {flag.replace("--no-", "--") for flag in described} <= known


def test_help_breaks_sentences_and_never_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    command = "    make --this stays   # in one line, to be copied"
    told = f"A sentence that is too long for the line,\nand goes on.\n\n{command}"
    shown = Parser(description=told).format_help()
    assert "A sentence that is too long for the\nline, and goes on.\n" in shown
    assert f"{command}\n" in shown
