"""Tool names on the wire: accepted by every provider, and one-to-one."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_ghost.names import ToolNames, property_name

ACCEPTED_EVERYWHERE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,62}")
NAMES = st.text(min_size=1, max_size=80) | st.from_regex(r"[a-c._]{1,6}", fullmatch=True)


def test_an_ordinary_name_only_loses_its_dot() -> None:
    names = ToolNames(["thoughtbox.think"])
    assert names.encode("thoughtbox.think") == "thoughtbox_think"
    assert names.decode("thoughtbox_think") == "thoughtbox.think"


@given(st.lists(NAMES, unique=True, max_size=12))
@example(["a.b", "a_b"])
@example(["x" * 63 + "1", "x" * 63 + "2"])
@example(["ü.ä", "ö.ö"])
@example(["1.x", "_1.x"])
def test_every_set_of_names_is_accepted_and_comes_back(names: list[str]) -> None:
    table = ToolNames(names)
    wire = [table.encode(name) for name in names]
    assert all(ACCEPTED_EVERYWHERE.fullmatch(name) for name in wire)
    assert len(set(wire)) == len(names)
    assert [table.decode(name) for name in wire] == names


def test_a_plain_name_that_looks_like_a_hashed_one_does_not_meet_it() -> None:
    hashed = ToolNames(["a.b", "a_b"]).encode("a.b")
    table = ToolNames(["a.b", "a_b", hashed])
    assert len({table.encode(name) for name in ("a.b", "a_b", hashed)}) == 3


@given(NAMES)
def test_names_of_no_request_are_encoded_too_and_inventions_come_back_unchanged(name: str) -> None:
    assert ACCEPTED_EVERYWHERE.fullmatch(ToolNames([]).encode(name))
    assert ToolNames([]).decode(name) == name


@given(st.lists(NAMES, unique=True, min_size=1, max_size=6))
def test_the_encoding_does_not_depend_on_order_or_repetition(names: list[str]) -> None:
    once, again = ToolNames(names), ToolNames(names[::-1] * 2)
    assert [once.encode(name) for name in names] == [again.encode(name) for name in names]


def test_capitals_are_kept_also_at_the_beginning() -> None:
    assert ToolNames(["Think.Hard_Z"]).encode("Think.Hard_Z") == "Think_Hard_Z"


def test_as_long_a_name_as_is_accepted_stays_as_it_is_and_a_longer_one_fills_the_room() -> None:
    longest, longer = "x" * 63, "x" * 64
    names = ToolNames([longest, longer])
    assert names.encode(longest) == longest
    assert re.fullmatch(r"x{52}_[0-9a-f]{10}", names.encode(longer))


@pytest.mark.parametrize(
    "written",
    [
        "functions.s_t:0",
        "functions.s_t",
        "function:s_t",
        "default_api:s_t",
        "default_api.s_t",
        "s_t<|channel|>commentary",
        "s_t<|constrain|>json\n",
        " s_t\n",
        "s_t:12",
    ],
)
def test_what_a_server_leaves_around_a_name_is_no_part_of_it(written: str) -> None:
    assert ToolNames(["s.t"]).decode(written) == "s.t"
    assert ToolNames(["s.u"]).decode(written) == written


def test_a_namespace_leads_on_the_wire_and_may_be_dropped_by_the_model() -> None:
    names = ToolNames(["files.read"], namespace="ghost")
    assert names.encode("files.read") == "ghost_files_read"
    assert names.encode("other").startswith("ghost_other_")
    decoded = [names.decode(it) for it in ("ghost_files_read", "files_read", "ghost.files.read")]
    assert decoded == ["files.read"] * 3


# https://github.com/NousResearch/hermes-agent/issues/100807,
# https://github.com/google-gemini/gemini-cli/issues/25952
@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("read-file", "my-files.read-file"),
        ("functions.read_file", "my-files.read-file"),
        ("ghost_my_files_read_file", "my-files.read-file"),
        ("My-Files.read_file", "my-files.read-file"),
        ("list", "list"),
        ("read", "read"),
        ("_", "_"),
    ],
)
def test_a_tool_without_its_server_or_in_other_letters_is_found_if_it_is_the_only_one(
    written: str, meant: str
) -> None:
    names = ToolNames(["my-files.read-file", "my-files.list", "mail.list"], namespace="ghost")
    assert names.decode(written) == meant


def test_a_tool_whose_own_name_has_dots_is_found_by_the_whole_of_it_only() -> None:
    names = ToolNames(["mail.list.all", "files.all"])
    assert names.decode("list-all") == "mail.list.all"
    assert names.decode("all") == "files.all"


def test_a_tool_is_meant_by_the_very_letters_of_its_name_first() -> None:
    names = ToolNames(["s.read", "s.Read"])
    assert [names.decode(f"functions.s_{it}:0") for it in ("read", "Read")] == ["s.read", "s.Read"]
    assert names.decode("READ") == "READ"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("$id", "id"),
        ("filter[status]", "filter_status"),
        ("a--b  c", "a_b_c"),
        ("_Name_", "Name"),
        ("X ray X", "X_ray_X"),
        ("1 X", "p_1_X"),
        ("1st", "p_1st"),
        ("größe", "gr_e"),
        ("ключ", "p"),
        ("", "p"),
        ("\udcff", "p"),
        ("x" * 80, "x" * 50),
    ],
)
def test_a_property_keeps_the_words_of_its_name(name: str, words: str) -> None:
    assert re.fullmatch(re.escape(words) + "_[0-9a-f]{10}", property_name(name))


@given(st.lists(NAMES, unique=True, max_size=12))
def test_properties_have_names_of_their_own_that_every_provider_takes(names: list[str]) -> None:
    wire = [property_name(name) for name in names]
    assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,62}", it) for it in wire)
    assert len(set(wire)) == len(names)


def test_properties_are_renamed_at_every_depth_and_back() -> None:
    names = ToolNames([], properties=["$id", "größe", "plain"])
    arguments = {"$id": "$id", "plain": [{"größe": "ü", "other": [[{"$id": None}]]}]}
    wire = names.encode_arguments(arguments, re.compile("[a-z]+"))
    identity, size = property_name("$id"), property_name("größe")
    inner = {size: "ü", "other": [[{identity: None}]]}
    assert wire == {identity: "$id", "plain": [inner]}
    assert names.decode_arguments(json.dumps(wire)) == json.dumps(arguments, ensure_ascii=False)


@pytest.mark.parametrize("text", ['{"other":1}', "{broken NAME", '["NAME", ' * 100_000])
def test_arguments_that_cannot_be_read_or_need_no_change_stay_as_they_are(text: str) -> None:
    names = ToolNames([], properties=["$id"])
    written = text.replace("NAME", property_name("$id"))
    assert names.decode_arguments(written) == written
    assert names.encode_arguments({"$id": 1}, re.compile(r"\$id")) == {"$id": 1}
