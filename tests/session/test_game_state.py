"""What a turn's facts are kept as."""

from __future__ import annotations

import re

import pytest

from session.game_state import ENDINGS, EndReason, Observation, ThingSeen
from tests.support import ROOT
from tests.support.records import observation


def test_terminals_and_pages_show_the_same_words_for_the_same_end() -> None:
    page = (ROOT / "viewer" / "static" / "format.js").read_text(encoding="utf-8")
    table = page.partition("const ENDS = {")[2].partition("}")[0]
    on_pages = dict(re.findall(r'(\w+): "(.+)",', table))
    assert on_pages == {reason.value: ENDINGS[reason] for reason in EndReason}


@pytest.mark.parametrize(
    ("thing", "logged"),
    [
        (ThingSeen("lamp"), "lamp"),
        (ThingSeen("lamp", "sack"), "lamp (in sack)"),
        (ThingSeen("note (in code)"), ["note (in code)", None]),
        (ThingSeen("note (in code)", "box"), ["note (in code)", "box"]),
    ],
)
def test_a_thing_comes_back_from_the_log_as_it_was(thing: ThingSeen, logged: object) -> None:
    seen = observation(1, inventory=(thing,), visible=(thing,))
    fields = seen.model_dump(mode="json")
    assert (fields["inventory"], fields["visible"]) == ([logged], [logged])
    again = Observation.model_validate_json(seen.model_dump_json())
    assert (again.inventory, again.visible) == ((thing,), (thing,))
