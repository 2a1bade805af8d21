"""What an interpreter shows is told apart: text, echo, status line, and what is more than that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from game_interface.engines.remglk import above, input_event, understood
from game_interface.errors import EngineError
from game_interface.machine.facts import Waits

MAIN = 16


def document(
    text: list[dict[str, Any]] | None = None, *, waits: str = "line", **more: object
) -> bytes:
    asked: dict[str, Any] = {"id": MAIN, "gen": 2, "type": waits}
    if waits == "line":
        asked["maxlen"] = 80
    whole = {"type": "update", "gen": 2, "content": [{"id": MAIN, "text": text or []}]}
    return json.dumps({**whole, "input": [asked], **more}).encode()


def paragraph(*texts: str, style: str = "normal", append: bool = False) -> dict[str, Any]:
    spans = [{"style": style, "text": text} for text in texts]
    return {"content": spans, **({"append": True} if append else {})}


def library(*rows: str, rock: int = 2) -> dict[str, Any]:
    """RemGlk's own state, with these rows above the text."""
    lines = [{"chars": row} for row in rows]
    return {"windows": [{"rock": rock, "grid_lines": lines}, {"rock": 1, "buf_chars": ""}]}


STATUS = " West of House      Score: 0   Moves: 3"
QUOTATION = ("", "   Home is the sailor,", "     home from sea.", "")
QUOTED = "Home is the sailor,\n  home from sea."


def test_the_echo_is_no_part_of_the_text_and_paragraphs_stay() -> None:
    text = [
        paragraph("look", style="input", append=True),
        paragraph("A hall,", " large."),
        {},
        paragraph(">"),
    ]
    told = understood(document(text), [{"tag": MAIN, "rock": 1}])
    assert (told.echo, told.text) == ("look", "\nA hall, large.\n\n>")
    assert (told.waits_for, told.window, told.longest) == ("line", MAIN, 80)


@pytest.mark.parametrize("rows", [(STATUS,), (STATUS, " second row"), (STATUS, "", "")])
def test_one_or_two_rows_are_a_status_line_and_nothing_else(rows: tuple[str, ...]) -> None:
    shown = above(library(*rows), (), "line")
    assert shown.status[0] == STATUS
    assert shown.upper == ""


@pytest.mark.parametrize("waits", ["line", "key"])
def test_a_quotation_below_the_status_line_is_told_without_it(waits: Waits) -> None:
    later = STATUS.replace("Moves: 3", "Moves: 4")
    assert above(library(later, *QUOTATION), (STATUS,), waits) == ((later,), QUOTED)


@pytest.mark.parametrize("waits", ["line", "key"])
def test_a_quotation_leaves_out_as_many_rows_as_the_status_line_had(waits: Waits) -> None:
    two = (STATUS, " (on the lawn)   Turns: 7")
    assert above(library(*two, *QUOTATION), two, waits) == (two, QUOTED)


def test_a_menu_is_told_with_its_title() -> None:
    menu = ("      Hints", " N = next   P = previous", "", "  > The attic", "    The cellar")
    shown = above(library(*menu), (STATUS,), "key")
    assert shown.status == ()
    assert [line.strip() for line in shown.upper.splitlines()][0::4] == ["Hints", "The cellar"]


def test_the_status_line_of_early_versions_is_a_turn_old_and_left_out() -> None:
    assert above(library(STATUS, rock=3), (), "line") == ((), "")


def test_what_the_interpreter_says_itself_is_no_part_of_the_story() -> None:
    windows = [{"id": 1, "type": "buffer", "rock": 4}]
    content = [{"id": 1, "text": [paragraph("Warning: no save file", append=True)]}]
    told = understood(document(windows=windows, content=content), [{"tag": MAIN, "rock": 1}])
    assert (told.text, told.messages) == ("", "Warning: no save file")


def test_an_entry_without_a_kind_is_not_waited_for() -> None:
    asked = [{"id": 3, "gen": 2, "mouse": True}, {"id": MAIN, "gen": 2, "type": "char"}]
    told = understood(document(input=asked), [])
    assert (told.waits_for, told.window) == ("key", MAIN)


@pytest.mark.parametrize(
    ("waits", "command", "event"),
    [
        ("line", "up", {"type": "line", "value": "up"}),
        ("key", "up", {"type": "char", "value": "up"}),
        ("key", "space", {"type": "char", "value": " "}),
        ("key", "enter", {"type": "char", "value": "return"}),
    ],
)
def test_commands_and_keys_are_given_in_the_protocols_words(
    waits: Waits, command: str, event: dict[str, str]
) -> None:
    given = json.loads(input_event(4, MAIN, waits, command))
    assert given == {**event, "gen": 4, "window": MAIN}


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (b"", "cannot be read"),
        (b"\xff\xff", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"type": "error", "message": "no"}', "an error: no"),
        (b'{"type": "update"}', "cannot be read"),
        (b'{"type": "update", "gen": 1, "windows": [1]}', "cannot be read"),
        (b'{"type": "update", "gen": 1, "content": [{"id": 1, "text": 5}]}', "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_game_layer(output: bytes, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        understood(output, [])
