"""The model's answer, as models give it."""

from __future__ import annotations

import json

import pytest

from managers.answer import read_answer


@pytest.mark.parametrize(("given", "read"), [(23, "23"), ("#23", "#23"), (None, None)])
def test_a_target_may_be_the_number_of_a_room(given: object, read: str | None) -> None:
    answer = {"thinking": "Back.", "action": "north", "nav_target": given}
    assert read_answer(json.dumps(answer))[0].nav_target == read
