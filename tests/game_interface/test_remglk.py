"""What an interpreter shows is told apart: text, echo, status line, and what is more than that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from game_interface.engines.remglk import Screen, Told, line_event, understood
from game_interface.errors import EngineError

MAIN, UPPER = 16, 17


def document(
    rows: list[str] | None = None,
    text: list[dict[str, Any]] | None = None,
    *,
    waits: str = "line",
    generation: int = 2,
    **more: object,
) -> bytes:
    windows: list[dict[str, Any]] = [{"id": MAIN, "type": "buffer", "rock": 1}]
    content: list[dict[str, Any]] = [{"id": MAIN, "text": text or []}]
    if rows is not None:
        windows.append({"id": UPPER, "type": "grid", "rock": 2, "gridheight": len(rows)})
        lines = [
            {"line": number, "content": [{"style": "normal", "text": row}]}
            for number, row in enumerate(rows)
        ]
        content.append({"id": UPPER, "lines": lines})
    asked: dict[str, Any] = {"id": MAIN, "gen": generation, "type": waits}
    if waits == "line":
        asked["maxlen"] = 80
    whole = {"type": "update", "gen": generation, "windows": windows, "content": content}
    return json.dumps({**whole, "input": [asked], **more}).encode()


def paragraph(*texts: str, style: str = "normal", append: bool = False) -> dict[str, Any]:
    spans = [{"style": style, "text": text} for text in texts]
    return {"content": spans, **({"append": True} if append else {})}


def shown(*steps: bytes) -> Told:
    """The last of these documents, each understood after the one before."""
    screen = Screen()
    for step in steps:
        told = understood(step, screen)
        screen = told.screen
    return told


STATUS = " West of House      Score: 0   Moves: 3"
QUOTATION = ["", "   Home is the sailor,", "     home from sea.", ""]


def test_the_echo_is_no_part_of_the_text_and_paragraphs_stay() -> None:
    text = [
        paragraph("look", style="input", append=True),
        paragraph("A hall,", " large."),
        {},
        paragraph(">"),
    ]
    told = shown(document(text=text))
    assert (told.echo, told.text) == ("look", "\nA hall, large.\n\n>")


@pytest.mark.parametrize("rows", [[STATUS], [STATUS, " second row"]])
def test_one_or_two_rows_are_a_status_line_and_nothing_else(rows: list[str]) -> None:
    told = shown(document(rows))
    assert told.screen.status_line.startswith("West of House Score: 0 Moves: 3")
    assert told.screen.upper == ""


def test_a_quotation_below_the_status_line_is_told_without_it() -> None:
    later = STATUS.replace("Moves: 3", "Moves: 4")
    told = shown(document([STATUS]), document([later, *QUOTATION]))
    assert told.screen.status_line == "West of House Score: 0 Moves: 4"
    assert told.screen.upper == "Home is the sailor,\n  home from sea."


@pytest.mark.parametrize("waits", ["line", "char"])
def test_a_quotation_leaves_out_as_many_rows_as_the_status_line_had(waits: str) -> None:
    two = [STATUS, " (on the lawn)   Turns: 7"]
    told = shown(document(two), document([*two, *QUOTATION], waits=waits))
    assert told.screen.upper == "Home is the sailor,\n  home from sea."


def test_a_menu_is_told_with_its_title() -> None:
    menu = ["      Hints", " N = next   P = previous", "", "  > The attic", "    The cellar"]
    told = shown(document([STATUS]), document(menu, waits="char"))
    assert told.screen.upper.splitlines()[0].strip() == "Hints"
    assert told.screen.upper.splitlines()[-1].strip() == "The cellar"
    assert told.screen.status_line == ""
    assert told.screen.waits_for == "key"


def test_rows_that_did_not_change_are_still_there() -> None:
    first = document(["one", "two", "three"], waits="char")
    changed = json.dumps(
        {
            "type": "update",
            "gen": 3,
            "content": [
                {"id": UPPER, "lines": [{"line": 1, "content": [{"style": "x", "text": "2"}]}]}
            ],
            "input": [{"id": MAIN, "gen": 3, "type": "char"}],
        }
    ).encode()
    assert shown(first, changed).screen.upper == "one\n2\nthree"


def test_what_the_interpreter_says_itself_is_no_part_of_the_story() -> None:
    windows = [{"id": 1, "type": "buffer", "rock": 4}, {"id": MAIN, "type": "buffer", "rock": 1}]
    content = [{"id": 1, "text": [paragraph("Warning: no save file", append=True)]}]
    told = shown(document(windows=windows, content=content))
    assert (told.text, told.messages) == ("", "Warning: no save file")


def test_an_entry_without_a_kind_is_not_waited_for() -> None:
    asked = [{"id": 3, "gen": 2, "mouse": True}, {"id": MAIN, "gen": 2, "type": "char"}]
    assert shown(document(input=asked)).screen.waits_for == "key"


def test_numbers_of_windows_can_be_replaced() -> None:
    screen = shown(document([STATUS])).screen.renumbered({MAIN: 40, UPPER: 41})
    assert (screen.window, screen.windows, set(screen.grids)) == (40, {"40": 1, "41": 2}, {"41"})
    assert json.loads(line_event(screen, "x"))["window"] == 40


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (b"", "cannot be read"),
        (b"\xff\xff", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"type": "error", "message": "no"}', "refuses: no"),
        (b'{"type": "update"}', "cannot be read"),
        (b'{"type": "update", "gen": 1, "windows": [1]}', "cannot be read"),
        (document(["a"]).replace(b'"line": 0', b'"line": 7'), "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
    ],
)
def test_an_answer_that_is_none_is_an_error_of_the_game_layer(output: bytes, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        understood(output, Screen())
