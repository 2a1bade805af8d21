"""Results of tool calls as values, as JSON and as text for a model."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.types import ResourceLink

from mcp_ghost.results import (
    ResultBudget,
    ToolCallResult,
    cap,
    format_tool_response,
    result_from_mcp,
)


class Odd:
    def __str__(self) -> str:
        return "an odd object"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    # UTF-8 can hold everything but lone surrogates.
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)  # fmt: skip
ANYTHING = st.recursive(
    JSON_VALUES | st.binary() | st.floats() | st.builds(Odd) | st.text() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.integers(), inner),
    max_leaves=20,
)


def text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def read(*blocks: object, **fields: object) -> ToolCallResult:
    return result_from_mcp({"content": list(blocks), **fields})


@given(JSON_VALUES)
def test_a_success_keeps_json_content_exactly(content: Any) -> None:  # noqa: ANN401 - any JSON
    assert ToolCallResult(content).to_dict() == {"content": content}


# Property 43: ToolCallResult Serialization
@settings(max_examples=100)
@given(ANYTHING, st.booleans(), st.none() | st.text())
def test_every_result_becomes_strict_json_that_utf8_can_carry(
    content: object, is_error: bool, message: str | None
) -> None:
    result = ToolCallResult(content, is_error, message).to_dict()
    assert set(result) == ({"error", "content"} if is_error else {"content"})
    text = json.dumps(result, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == result


def test_objects_without_a_json_form_become_their_text() -> None:
    content = {"a": Odd(), 3: (1, math.nan), "b": b"12", "c": {5}}
    assert ToolCallResult(content).to_dict()["content"] == {
        "a": "an odd object",
        "3": [1, "nan"],
        "b": "[2 bytes]",
        "c": [5],
    }


def test_content_that_holds_itself_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert "nested too deeply" in json.dumps(ToolCallResult(loop).to_dict())


def test_an_error_has_its_message_and_its_content() -> None:
    result = ToolCallResult(None, is_error=True, error_message="no such room")
    assert result.to_dict() == {"error": "no such room", "content": None}


def test_one_text_block_is_its_text_or_the_object_that_it_is_the_json_of() -> None:
    assert read(text_block("a lamp")).content == "a lamp"
    assert read(text_block(' {"n": [1]}')).content == {"n": [1]}
    assert read(text_block("[1, 2]")).content == [1, 2]
    assert read(text_block("{not json")).content == "{not json"
    assert read(text_block("12")).content == "12"
    assert read().content == ""


@pytest.mark.parametrize(
    ("structured", "texts"),
    [
        ({"t": 42, "sky": "clear"}, ['{\n  "sky": "clear",\n  "t": 42\n}']),
        ({"result": "a lamp"}, ["a lamp\n"]),
        ({"result": 42}, ["42"]),
        ({"result": [{"n": 1}, {"n": 2}]}, ['{"n":1}', '{"n":2}']),
        ({"content": "[1, 2", "path": "a"}, ["[1, 2"]),
        ({"items": [1, 2], "more": False}, ["[1,2]"]),
        # Lists of lists, of which the Python SDK makes one text for each innermost item.
        ({"result": [[1, 2], [3]]}, ["1", "2", "3"]),
        ({"result": [["a", "b"], [["c"]]]}, ["a", "b", "c"]),
        ({"result": [[1, 2], [3]]}, ["[1, 2]", "[3]"]),
        ({"result": [[1, 2], [3]]}, ["[[1,2],[3]]"]),
        ({"result": [[1, 2], [3]]}, ['{"result": [[1, 2], [3]]}']),
        ([[{"n": 1}], [{"n": 2}]], ['{"n":1}', '{"n":2}']),
        # Other forms in which servers write it.
        ({"t": 42}, ['{"result": {"t": 42}}']),
        ([1, 2], ['{"result": [1, 2]}']),
        ({"t": 42}, ['```json\n{"t": 42}\n```']),
        ({"t": 42}, ['{"t":', " 42}"]),
        ({"t": 42}, ["{", '"t": 42', "}"]),
        ({"rows": [{"n": 1}, {"n": 2}]}, ['{"n": 1}\n{"n": 2}\n']),
        ({"result": "a lamp"}, ['"a lamp"']),
        ({"t": "\u00e9"}, ['{"t": "\\u00e9"}']),
        ([{"n": 1}, {"n": 2}], ['[{"n": 1}, {"n": 2}]']),
        ([{"n": 1}, {"n": 2}], ['{"n":1}', '{"n":2}']),
        ([], ["[]"]),
        ([1], []),
        (42, ["42"]),
        (False, ["false"]),
        ("a lamp", ["a lamp"]),
    ],
)
def test_text_that_repeats_the_structured_content_is_given_once(
    structured: object, texts: list[str]
) -> None:
    assert read(*map(text_block, texts), structuredContent=structured).content == structured


def test_text_that_says_more_than_the_structured_content_stands_before_it() -> None:
    more, data = text_block("It is warm: 42 degrees."), {"t": 42}
    assert read(more, structuredContent=data).content == ["It is warm: 42 degrees.", data]
    assert read(more, text_block('{"t": 42}'), structuredContent=data).content == [
        "It is warm: 42 degrees.",
        data,
    ]
    # True equals 1 in Python, but not in JSON.
    assert read(text_block("1"), structuredContent={"ok": True}).content == ["1", {"ok": True}]
    assert read(text_block("nothing"), structuredContent={}).content == "nothing"
    for other in ('{"ok": 42}', '{"t": 42, "u": 1}', "[42, 43]", '{"t": 42}\nIt is warm.'):
        said = read(text_block(other), structuredContent=data).content
        assert isinstance(said, list)
        assert said[-1] == data


def test_a_resource_beside_structured_content_keeps_its_text() -> None:
    note = {"type": "resource", "resource": {"uri": "file:///a", "text": "rub the lamp"}}
    kept = {"type": "resource", "uri": "file:///a", "text": "rub the lamp"}
    assert read(note, structuredContent={"n": 1}).content == [kept, {"n": 1}]
    assert read(note, structuredContent={"text": "rub the lamp"}).content == {
        "text": "rub the lamp"
    }
    failed = read(text_block("broken"), note, isError=True, structuredContent={"code": 3})
    assert failed == ToolCallResult([kept, {"code": 3}], True, "broken")


def test_resources_keep_their_text_images_their_data_and_the_rest_becomes_a_short_stub() -> None:
    image = {"type": "image", "data": "AAAA" * 1000, "mimeType": "image/png"}
    link = {"type": "resource_link", "uri": "file:///b", "name": "b", "description": "The book."}
    text = {"type": "resource", "resource": {"uri": "file:///a", "text": "y" * 500}}
    blob = {"type": "resource", "resource": {"uri": "file:///c", "blob": "AAAA"}}
    odd = [{"type": "hologram"}, {"type": ["text"], "by": "us"}]
    result = read(text_block("look"), image, link, text, blob, *odd)
    in_words = {"type": "image", "mimeType": "image/png", "size": "3000 bytes"}
    rest = [
        link,
        {"type": "resource", "uri": "file:///a", "text": "y" * 500},
        {"type": "resource", "uri": "file:///c", "size": "3 bytes"},
        *odd,
    ]
    assert result.content == ["look", image, *rest]
    assert result.to_dict() == {"content": ["look", in_words, *rest]}
    assert format_tool_response(result.content) == json.dumps(["look", in_words, *rest])


def test_a_long_text_beside_an_image_is_cut_and_the_image_stays() -> None:
    image = {"type": "image", "data": "AAAA" * 1000, "mimeType": "image/png"}
    content = result_from_mcp({"content": [text_block("x" * 500), image]}, 200).content
    assert content[1] == image
    assert content[0].startswith('["' + "x" * 198)
    assert "characters left out]" in content[0]


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=300)), st.integers(1, 400))
def test_results_share_a_budget_and_a_cut_says_so(texts: list[str], tokens: int) -> None:
    def size(text: str) -> int:
        return len(text.encode()) // 3

    fitted = ResultBudget(tokens).fit(texts)
    assert ResultBudget(None).fit(texts) == texts
    assert (fitted == texts) is (sum(map(size, texts)) <= tokens)
    for text, shown in zip(texts, fitted, strict=True):
        said, mark, _ = shown.rpartition("\n[cut here: ")
        assert shown == text or (mark and text.startswith(said) and "limited to about" in shown)


def test_the_shortest_results_stay_whole_and_later_ones_get_what_is_left() -> None:
    budget = ResultBudget(100)
    long, short, other = budget.fit(["x" * 900, "y" * 30, "z" * 900])
    assert short == "y" * 30
    assert (long.count("x"), other.count("z")) == (135, 135)
    assert budget.fit(["w"]) == ["w"]  # which is less than a token
    assert budget.fit(["w" * 30])[0].startswith("\n[cut here: 30 of 30 ")


def test_a_reported_error_is_its_text_once() -> None:
    result = read(text_block("broken"), text_block("badly"), isError=True)
    assert result == ToolCallResult(None, True, "broken\nbadly")
    assert read(isError=True).error_message == "The tool reported an error without a message."
    with_data = read(text_block("broken"), isError=True, structuredContent={"code": 3})
    assert with_data == ToolCallResult({"code": 3}, True, "broken")
    twice = read(text_block('{"code": 3}'), isError=True, structuredContent={"code": 3})
    assert twice == ToolCallResult(None, True, '{"code": 3}')


@pytest.mark.parametrize(
    ("sent", "content"),
    [
        ({"content": "x"}, "x"),
        ({"content": {"type": "text", "text": "x"}}, "x"),
        ({"content": ["x", {"text": "y"}]}, ["x", {"type": "unknown", "text": "y"}]),
        ({"content": 1}, 1),
        ({"content": None}, ""),
        ({}, ""),
        ({"content": [{"type": "text", "text": None}]}, ""),
        ({"content": [{"type": "text", "text": 5}]}, 5),
        ({"content": [{"type": "text", "text": {"a": 1}}]}, {"a": 1}),
        ({"content": [{"type": "json", "json": {"a": 1}}]}, {"type": "json", "json": {"a": 1}}),
        ({"content": [{"a": 1}]}, {"a": 1}),
        ({"toolResult": {"a": 1}}, {"a": 1}),
        ({"temperature": 21, "_meta": {}, "isError": False}, {"temperature": 21}),
        ({"content": [{"type": "json", "data": {"a": 1}}]}, {"type": "json", "data": {"a": 1}}),
        ({"isError": False}, ""),
        ({"content": None, "structuredContent": [1]}, [1]),
    ],
)
def test_what_is_no_list_of_the_protocols_blocks_is_kept(
    sent: dict[str, Any], content: object
) -> None:
    assert result_from_mcp(sent) == ToolCallResult(content)


@pytest.mark.parametrize(
    "sent",
    [
        {"content": [{"type": "error", "text": "no such payee"}]},
        {"content": [text_block("no such payee")], "is_error": True},
        {"content": [text_block("no such payee")], "isError": "true"},
        {"toolResult": {"content": [text_block("no such payee")], "isError": True}},
    ],
)
def test_an_error_is_known_in_other_spellings_too(sent: dict[str, Any]) -> None:
    assert result_from_mcp(sent) == ToolCallResult(None, True, "no such payee")
    fine = {"content": [text_block("on")], "isError": "false", "structured_content": {"n": 1}}
    assert result_from_mcp(fine) == ToolCallResult(["on", {"n": 1}])


@given(st.text(max_size=60), st.integers(1, 40))
def test_a_cut_is_visible_and_says_how_much_is_missing(text: str, limit: int) -> None:
    capped = cap(text, limit)
    if len(text) <= limit:
        assert capped == text
    else:
        assert capped.startswith(text[:limit])
        assert f"{len(text) - limit} of {len(text)} characters" in capped


def test_large_content_of_any_kind_stays_bounded_json() -> None:
    numbers = json.dumps(list(range(10_000)))
    result = result_from_mcp({"content": [text_block(numbers)]}, limit=100)
    assert result.content.startswith("[0, 1, 2,")
    assert len(json.dumps(result.to_dict())) < 250
    note = {"type": "resource", "resource": {"uri": "file:///a", "text": "z" * 900}}
    for fields in ({}, {"structuredContent": {"n": 1}}):
        noted = result_from_mcp({"content": [note, text_block("y" * 900)], **fields}, limit=100)
        assert "zzz" in noted.content
        assert len(noted.content) < 200
    failed = result_from_mcp({"content": [text_block("x" * 900)], "isError": True}, limit=100)
    assert len(failed.error_message or "") < 200


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        (["one", "two"], "one\ntwo"),
        ([text_block("one"), "two"], "one\ntwo"),
        ({"a": 1}, '{"a": 1}'),
        ([1, {"b": "ü"}], '[1, {"b": "ü"}]'),
        ([], "[]"),
        (Odd(), "an odd object"),
        (
            {"found": ResourceLink(name="a", uri="file:///a")},
            '{"found": {"name": "a", "uri": "file:///a", "type": "resource_link"}}',
        ),
        (3.5, "3.5"),
    ],
)
def test_responses_are_formatted_for_reading(value: object, text: str) -> None:
    assert format_tool_response(value) == text


@given(ANYTHING)
def test_every_response_can_be_formatted(value: object) -> None:
    assert isinstance(format_tool_response(value), str)
