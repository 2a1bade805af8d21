"""Tool names on the wire: accepted by every provider, and one-to-one."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from mcp_ghost.names import ToolNames

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


def test_a_namespace_leads_on_the_wire_and_may_be_dropped_by_the_model() -> None:
    names = ToolNames(["files.read"], namespace="ghost")
    assert names.encode("files.read") == "ghost_files_read"
    assert names.encode("other").startswith("ghost_other_")
    decoded = [names.decode(it) for it in ("ghost_files_read", "files_read", "ghost.files.read")]
    assert decoded == ["files.read", "files.read", "ghost.files.read"]
