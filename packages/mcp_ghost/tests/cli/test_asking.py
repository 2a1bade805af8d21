"""A server's question on the terminal."""

from __future__ import annotations

import os
import pty
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.cli.asking import value_of
from mcp_ghost.testing import ModelServer, tool_reply
from tests.support import PATIENCE
from tests.support.ghosts import Bank, said_to
from tests.support.program import Program
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
        os.write(ours, typed)
        output, shown = process.communicate(timeout=PATIENCE)
        os.close(ours)
        assert (process.returncode, output) == (0, "Done.\n"), shown
        assert all(part.replace("\\", "") in said_to(model, 1).replace("\\", "") for part in got)
    assert "shop asks: Which lamp?" in shown
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
        os.write(ours, b"y\ntoo much\nalways\n")
        output, shown = process.communicate(timeout=PATIENCE)
        os.close(ours)
    assert (process.returncode, output) == (0, "Done.\n"), shown
    assert bank.book == [line for it in ("one", "three", "four") for line in (it, f"end of {it}")]
    assert "the user refused this call: too much" in said_to(model, 1)
    assert "name: two" in shown
    assert "The tool's annotations: destructiveHint." in shown


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
