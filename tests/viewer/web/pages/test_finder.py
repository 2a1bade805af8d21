"""Finding turns on the page of an episode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.browser import TURNS_WITH_TOOLS as TURNS
from tests.support.browser import current, needs_chromium, shows

if TYPE_CHECKING:
    from playwright.sync_api import Page


@needs_chromium
def test_turns_are_found_by_words_by_number_and_by_what_happened(replay: Page) -> None:
    told, search = replay.locator(".told"), replay.get_by_label("Search this episode")
    replay.keyboard.press("/")
    expect(search).to_be_focused()
    replay.keyboard.type("recipe  CARD")
    replay.keyboard.press("Enter")
    expect(told).to_have_text("3 of 4 turns")
    shows(replay, 15)
    assert replay.evaluate("CSS.highlights.get('found').size") > 0
    assert replay.evaluate("location.hash") == "#/played/turn/15?find=recipe%20%20CARD"
    search.fill("no such words")
    replay.keyboard.press("Enter")
    expect(told).to_have_text("No match")
    replay.reload()
    expect(search).to_have_value("recipe  CARD")
    expect(told).to_contain_text("turn")
    shows(replay, 15)
    search.fill("Line 4 says so")
    replay.keyboard.press("Enter")
    shows(replay, 4)
    expect(told).to_have_text("1 of 1 turn")
    goal = replay.get_by_label("Go to turn")
    for wrong in ("99", "x", "-1", ""):
        goal.fill(wrong)
        replay.keyboard.press("Enter")
        expect(told).to_have_text(f"Enter a turn from 0 to {TURNS}")
    goal.fill("9")
    replay.keyboard.press("Enter")
    shows(replay, 9)
    goal.blur()
    replay.keyboard.press("t")  # a tool is called every four turns
    shows(replay, 12)
    replay.keyboard.press("Shift+T")
    shows(replay, 8)
    replay.get_by_role("button", name="Next score").click()
    expect(current(replay).locator(".delta")).to_be_visible()
    replay.keyboard.press("d")
    expect(told).to_have_text("No death in this episode")
    expect(replay.get_by_role("button", name="Next death")).to_be_disabled()
    replay.keyboard.press("End")
    replay.keyboard.press("t")
    expect(told).to_have_text("No later tool call")
    replay.keyboard.press("?")
    expect(replay.get_by_role("dialog")).to_contain_text("go to a turn by its number")
    replay.keyboard.press("Escape")
