"""The prompts that docs/player.md shows."""

from __future__ import annotations

import pytest

from workshop.show_prompts import MARK, PAGE, page


@pytest.mark.slow
@pytest.mark.soak
def test_the_page_shows_the_prompts_as_they_are() -> None:
    _, mark, shown = PAGE.read_text(encoding="utf-8").partition(MARK)
    assert mark + shown == page(), "run: uv run poe prompts"
