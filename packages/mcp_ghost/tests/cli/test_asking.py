"""A server's question on the terminal."""

from __future__ import annotations

import os
import pty
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.cli.asking import _label, looks_secret, value_of
from mcp_ghost.testing import ModelServer, tool_reply
from tests.support import PATIENCE
from tests.support.ghosts import Bank, said_to
from tests.support.program import Program, converse
from tests.support.servers import seen, versions, write_config

LAMPS = {"type": "string", "oneOf": [{"const": "b", "title": "Brass"}, {"const": "d"}]}


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ({"type": "string"}, "green", "green"),
        ({"type": "integer"}, "7", 7),
        ({"type": "number", "minimum": 0, "maximum": 1}, "0.5", 0.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        (LAMPS, "b", "b"),
        (LAMPS, "brass", "b"),
        (LAMPS, "2", "d"),
        ({"type": "string", "enum": ["x", "y"], "enumNames": ["Ex", "Why"]}, "why", "y"),
        ({"type": "array", "items": {"enum": ["x", "y", "z"]}}, "1, z", ["x", "z"]),
        ({"type": "array", "items": {"anyOf": [{"const": "x", "title": "Ex"}]}}, "ex", ["x"]),
    ],
)
def test_an_answer_is_read_as_its_field_means_it(
    field: dict[str, Any], text: str, value: object
) -> None:
    assert value_of(field, text) == value


@pytest.mark.parametrize(
    ("field", "text", "problem"),
    [
        ({"type": "integer"}, "7.5", "a whole number is needed"),
        ({"type": "number"}, "many", "a number is needed"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, "4", "from 1 to 3"),
        ({"type": "boolean"}, "perhaps", "yes or no"),
        ({"type": "string"}, "", "an answer is needed"),
        (LAMPS, "3", "one of: b, d"),
        ({"type": "array", "items": {"enum": ["x"]}}, "x, y", "one of: x"),
    ],
)
def test_what_does_not_fit_says_what_would(field: dict[str, Any], text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        value_of(field, text)


@pytest.mark.mcp
@pytest.mark.parametrize("known", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("typed", "got"),
    [
        (b"green\nmany\n3\n", ["accept", '\\\\\\"colour\\\\\\": \\\\\\"green', "3"]),
        (b"\n\n", ["accept", "brass", "2"]),
        (b"green\n\x04", ["decline"]),
    ],
)
def test_whoever_sits_at_the_terminal_is_asked(
    known: str, typed: bytes, got: list[str], tmp_path: Path
) -> None:
    write_config(tmp_path / "servers.json", shop=versions(known))
    ghost = Program(tmp_path, "-m", "mcp_ghost")
    ours, theirs = pty.openpty()
    asked = ["run", "--config", "servers.json", "--provider", "openai", "--prompt", "Buy a lamp."]
    asked += ["--approve", "never"]
    with ModelServer([tool_reply([("shop.ask", {})]), "Done."]) as model:
        process = ghost.start(*asked, "--base-url", model.base_url, stdin=theirs)
        os.close(theirs)
        output, shown = converse(process, ours, ("colour [brass]: ", typed))
        os.close(ours)
        assert (process.returncode, output) == (0, "Done.\n"), shown
        assert all(part.replace("\\", "") in said_to(model, 1).replace("\\", "") for part in got)
    assert "The server shop asks:" in shown
    assert "│ Which lamp?" in shown
    assert "colour [brass]: " in shown
    assert ("a whole number is needed" in shown) == (b"many" in typed)
    assert ("declined" in shown) == (got == ["decline"])


@pytest.mark.mcp
def test_calls_are_made_that_whoever_sits_at_the_terminal_allows(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    write_config(tmp_path / "servers.json", bank=bank.config)
    ghost = Program(tmp_path, "-m", "mcp_ghost")
    ours, theirs = pty.openpty()
    asked = ["run", "--config", "servers.json", "--provider", "openai", "--prompt", "Pay."]
    names = ["one", "two", "three", "four"]
    calls = tool_reply([("bank.transfer", {"name": name}) for name in names])
    with ModelServer([calls, "Done."]) as model:
        process = ghost.start(*asked, "--base-url", model.base_url, stdin=theirs)
        os.close(theirs)
        typed = (b"y\n", b"too much\ny\n", b"always\n")
        output, shown = converse(process, ours, *(("or say why not: ", it) for it in typed))
        os.close(ours)
    assert (process.returncode, output) == (0, "Done.\n"), shown
    assert bank.book == [line for it in ("one", "three", "four") for line in (it, f"end of {it}")]
    assert "the user refused this call: too much" in said_to(model, 1)
    assert "▸ name │ two\n   That is all: 12 characters in 1 line.\n" in shown
    assert "The tool's annotations: destructiveHint." in shown


@pytest.mark.mcp
def test_no_call_is_made_by_what_was_typed_before_its_end_was_shown(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    write_config(tmp_path / "servers.json", bank=bank.config)
    ghost = Program(tmp_path, "-m", "mcp_ghost")
    ours, theirs = pty.openpty()
    asked = ["run", "--config", "servers.json", "--provider", "openai", "--prompt", "Pay."]
    first = ("bank.insert", {"name": "first"})
    long = ("bank.transfer", {"name": "# rent\n" + "x" * 1200 + "\n" * 30 + "rm -rf ~"})
    with ModelServer([tool_reply([first, long]), "Done."]) as model:
        process = ghost.start(*asked, "--base-url", model.base_url, stdin=theirs)
        os.close(theirs)
        os.write(ours, b"y\ny\ny\ny\n")
        said = ("why not: ", b"y\ny\n"), ("n refuses: ", b"y\ny\n"), ("why not: ", b"\n")
        output, shown = converse(process, ours, *said)
        os.close(ours)
    assert (process.returncode, output) == (0, "Done.\n"), shown
    assert bank.book == ["first", "end of first"]
    assert "▸ name │ # rent⏎\n" in shown
    assert shown.count("x") >= 1200
    assert "  │ rm -rf ~\n   That is all: 1," in shown


@pytest.mark.parametrize(
    ("name", "field", "is_secret"),
    [
        ("password", {}, True),
        ("api_key", {}, True),
        ("a", {"title": "Your access token"}, True),
        ("a", {"description": "The passphrase of your key"}, True),
        ("a", {"format": "password"}, True),
        ("colour", {"title": "Colour", "enum": ["red", "green"]}, False),
        ("compass", {"description": "Which monkey"}, False),
    ],
)
def test_a_field_that_looks_like_a_secret_is_said_to_be_one(
    name: str, field: dict[str, Any], is_secret: bool
) -> None:
    assert looks_secret(name, field) == is_secret


def test_a_label_has_no_lines_of_its_own_and_is_whole() -> None:
    label = _label("a", {"title": "Name\n?  files.delete wants to be called " + "x" * 500})
    assert label == "Name⟨U+000A⟩?··files.delete wants to be called " + "x" * 500


def test_approval_without_a_terminal_is_refused(tmp_path: Path) -> None:
    done = Program(tmp_path, "-m", "mcp_ghost").run(
        *("run", "--config", "x.json", "--provider", "openai", "--prompt", "-"),
        *("--approve", "always"),
        said="Pay.",
    )
    assert done.returncode == 2
    assert "--approve needs a terminal to ask on" in done.stderr


@pytest.mark.mcp
def test_nobody_is_asked_where_nobody_sits(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_config(tmp_path / "servers.json", shop=versions("2026-07-28", SERVER_LOG=str(log)))
    ghost = Program(tmp_path, "-m", "mcp_ghost")
    asked = ["run", "--config", "servers.json", "--provider", "openai", "--prompt", "-"]
    with ModelServer(["Done."]) as model:
        ours, theirs = pty.openpty()
        process = ghost.start(*asked, "--base-url", model.base_url, stdin=theirs)
        os.close(theirs)
        os.write(ours, b"Buy a lamp.\n\x04")
        process.communicate(timeout=PATIENCE)
        os.close(ours)
    assert "elicitation" not in str([entry.get("params") for entry in seen(log)])
