"""Which calls a call depends on, as far as its arguments show it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.run.report.account import ToolRecord
from mcp_ghost.run.report.synthesis import with_dependencies
from mcp_ghost.testing import Reply, tool_reply
from tests.support.ghosts import PROVIDERS, Notes, play

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName


def record(iteration: int, result: Any = None, **arguments: Any) -> ToolRecord:  # noqa: ANN401
    return ToolRecord(iteration, "s.t", arguments, True, result, None, 0.0, "", 0)


def links(*chain: ToolRecord, known: str = "") -> list[list[int]]:
    return [it.depends_on for it in with_dependencies(chain, [known])]


@pytest.mark.parametrize(
    ("result", "argument"),
    [
        ({"id": "ticket-77"}, "ticket-77"),
        ({"rows": [{"id": 4711}]}, 4711),
        ({"rows": [{"id": 4711}]}, "4711"),
        ("The file is /srv/data/list.txt.", "/srv/data/list.txt"),
        ("first line\n  the second line\n", "the second line"),
        (["a", {"b": ["lamps"]}], {"table": ["lamps"]}),
    ],
)
def test_an_argument_that_stands_in_an_earlier_result_came_from_it(
    result: object, argument: object
) -> None:
    assert links(record(1, result), record(2, given=argument)) == [[], [0]]


def test_only_results_of_earlier_replies_count_and_the_first_that_has_it() -> None:
    chain = (
        record(1, "lamps"),
        record(1, "tables", given="lamps"),
        record(2, "lamps and tables", given="tables"),
        record(3, given=["lamps", "tables"]),
    )
    assert links(*chain) == [[], [], [1], [0, 1]]


@pytest.mark.parametrize("argument", ["ab", 12, True, None, "lamp", "lamps, tables"])
def test_short_values_and_parts_of_words_say_nothing(argument: object) -> None:
    assert links(record(1, "ab 12 lamps True None"), record(2, given=argument)) == [[], []]


def test_what_the_user_said_came_from_nowhere_else() -> None:
    chain = record(1, "lamps tables"), record(2, given="lamps", more="tables")
    assert links(*chain, known="Which lamps are there?") == [[], [0]]
    assert links(*chain, known="Which lamps and tables?") == [[], []]


def test_a_thousand_calls_with_long_results_take_no_time() -> None:
    chain = [record(n, f"number-{n} " * 3000, given=f"number-{n - 1}") for n in range(1, 1001)]
    started = time.process_time()
    linked = with_dependencies(chain, [])
    assert time.process_time() - started < 10
    assert [it.depends_on for it in linked[:3]] == [[], [0], [1]]


@pytest.mark.mcp
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_chain_shows_what_led_to_what(tmp_path: Path, provider: WireName) -> None:
    script: list[Reply | str] = [
        tool_reply([("notes.write", {"name": "first", "text": "second"})]),
        tool_reply([("notes.read", {"name": "first"}), ("notes.count", {})]),
        tool_reply([("notes.write", {"name": "second", "text": "third"})]),
        "Done.",
    ]
    prompt = "Keep a note named first."
    servers = {"notes": Notes(tmp_path).config}
    result, _ = play(script, servers, provider, user_prompt=prompt)
    assert [entry["depends_on"] for entry in result["tool_chain"]] == [[], [], [], [1]]
