"""Requests are logged as what is new in them, and read as they were sent."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.record import request_deltas
from session.record.request_deltas import LONG, GrowingText, RequestDeltas, request_text

PIECES = st.lists(st.text() | st.sampled_from(["the same line again\n", "}, {", '"', "\\n", "\n"]))
MESSAGES = st.builds(lambda pieces: {"role": "user", "content": "".join(pieces)}, PIECES)
STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.lists(MESSAGES)))
"""For a role: how many messages of its request before are kept, and what is said after them."""


def conversation(turns: int) -> list[dict[str, Any]]:
    said = [f"[turn {turn}]\nYou are in room {turn}, and it is dark." for turn in range(turns)]
    parts = [[{"type": "text", "text": text}] for text in said]
    return [{"role": "user", "content": part} for part in parts]


@given(st.text("ab"), st.text("ab"), st.text("ab"))
def test_two_texts_begin_alike_up_to_where_they_differ(start: str, one: str, other: str) -> None:
    one, other = start + one, start + other
    same = request_deltas._shared_beginning(one, other)
    assert same >= len(start)
    assert one[:same] == other[:same]
    assert one[same:][:1] != other[same:][:1] or one == other


@given(STEPS)
def test_any_requests_are_read_as_they_were_sent(
    steps: list[tuple[str, int, list[dict[str, Any]]]],
) -> None:
    writer, reader = RequestDeltas(), RequestDeltas()
    requests: dict[str, list[dict[str, Any]]] = {}
    for role, kept, messages in steps:
        requests[role] = [*requests.get(role, [])[:kept], *messages]
        request = {"model": "m", "messages": requests[role]}
        text = request_text(request)
        split = writer.split(role, text)
        assert split.lines == RequestDeltas().split(role, text).lines
        delta = json.loads(json.dumps(writer.delta(role, split)))
        writer.keep(role, split)
        assert reader.taken_in(role, delta) == request


@given(STEPS)
def test_a_growing_text_is_that_of_the_whole(
    steps: list[tuple[str, int, list[dict[str, Any]]]],
) -> None:
    growing, before = GrowingText(), list[dict[str, Any]]()
    for model, kept, messages in steps:
        before = [*before[:kept], *messages]
        request = {"messages": before, "model": model, "tools": None}
        assert growing(request) == request_text({"model": model, "tools": None, "messages": before})


def test_a_message_that_changes_in_place_is_written_as_it_is_now() -> None:
    growing, messages = GrowingText(), conversation(3)
    growing({"model": "m", "messages": messages})
    messages[1]["content"][0]["text"] = "changed"
    request = {"model": "m", "messages": messages}
    assert growing(request) == request_text(request)


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0, False)])
def test_what_equals_the_message_before_it_but_is_written_otherwise_is_encoded_again(
    values: tuple[float, ...],
) -> None:
    growing = GrowingText()
    for value in values:
        request = {"model": "m", "messages": [{"role": "user", "content": [{"n": value}]}]}
        assert growing(request) == request_text(request)


def test_a_message_that_could_not_be_encoded_is_not_left_out_of_the_next_request() -> None:
    growing, good = GrowingText(), conversation(1)
    cycle: dict[str, Any] = {"role": "user"}
    cycle["content"] = [cycle]
    growing({"model": "m", "messages": good})
    for _ in range(2):
        with pytest.raises(ValueError, match="Circular"):
            growing({"model": "m", "messages": [*good, cycle]})
    request = {"model": "m", "messages": conversation(2)}
    assert growing(request) == request_text(request)


@pytest.mark.parametrize("turns", [10, 1000])
def test_a_turn_takes_the_time_of_what_is_new_in_it(
    turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing, deltas = GrowingText(), RequestDeltas()

    def write() -> dict[str, Any]:
        split = deltas.split("Agent", growing({"model": "m", "messages": conversation(turns)}))
        delta = deltas.delta("Agent", split)
        deltas.keep("Agent", split)
        return delta

    write()
    turns += 1
    encode, lines_of = (
        Mock(wraps=getattr(request_deltas, name)) for name in ("request_text", "_lines_of")
    )
    monkeypatch.setattr(request_deltas, "request_text", encode)
    monkeypatch.setattr(request_deltas, "_lines_of", lines_of)
    assert len(str(write())) < 300
    assert len(str([encode.mock_calls, lines_of.mock_calls])) < 800


def test_an_image_that_comes_again_is_written_once() -> None:
    writer, reader = RequestDeltas(), RequestDeltas()
    image, sizes = "x" * (LONG + 1), list[int]()
    for turn in range(1, 6):
        shown = [{"content": f"{number}\n{image}\n{number}"} for number in range(turn)]
        request = {"messages": [*shown, {"content": f"It is turn {turn}.\n{image}"}]}
        split = writer.split("Agent", request_text(request))
        delta = writer.delta("Agent", split)
        writer.keep("Agent", split)
        assert reader.taken_in("Agent", delta) == request
        sizes.append(len(json.dumps(delta)))
    assert max(sizes[1:]) < 500


def test_of_images_only_the_latest_are_held_in_memory() -> None:
    writer, reader = RequestDeltas(), RequestDeltas()
    for turn in range(4):
        image = f"{turn}" * (LONG + 1)
        for text in (request_text({"images": [image]}), request_text({"images": [image], "n": 1})):
            split = writer.split("Agent", text)
            delta = writer.delta("Agent", split)
            writer.keep("Agent", split)
            assert request_text(reader.taken_in("Agent", delta)) == text
    for it in (writer, reader):
        assert sum(map(len, it._texts)) < LONG
