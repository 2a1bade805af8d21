"""What a turn's facts are kept as."""

from __future__ import annotations

import pytest

from session.game_state import Observation, ThingSeen
from tests.support.records import observation


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
