"""The page of whoever started a game: its buttons, what the model thinks, what can be done next."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from session.record.event_log import read
from session.record.schema import ModelCall
from tests.support import free_port
from tests.support.browser import PATIENCE, beside, needs_chromium, opened
from tests.support.viewing import log_of, playing, recorded
from viewer.web.cockpit import Cockpit
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [needs_chromium, pytest.mark.slow]
PHONE = {"width": 390, "height": 844}
HINT = "Mind <b>the step</b>."


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def state(page: Page) -> Locator:
    return page.locator("#state")


def commands(folder: Path) -> list[int]:
    return [event["turn"] for event in log_of(folder) if event["event_type"] == "turn"]


def forget(page: Page, token: str = "") -> None:
    """Leave the page nothing but the cookie, as in a tab that was opened without the token."""
    page.evaluate(f"sessionStorage.setItem('zorkgpt-token', '{token}')")
    page.reload()


def test_a_page_without_the_token_says_how_to_open_what_is_private(
    browser: Browser, tmp_path: Path
) -> None:
    beside(lambda: recorded(tmp_path))
    with (
        watching(tmp_path, open_browser=False, episode="played", cockpit=Cockpit()) as address,
        opened(browser, address.partition("?")[0], forgiven="status of 401") as page,
    ):
        expect(page.get_by_role("alert")).to_contain_text("Open the address that was printed")
        page.goto(address)
        expect(page.locator(".turn[data-turn='12']")).to_be_attached()


def test_whoever_started_the_game_steps_and_speaks_and_others_watch(
    browser: Browser, tmp_path: Path
) -> None:
    cockpit, folder = Cockpit(), tmp_path / "episodes" / "played"
    with (
        playing(tmp_path, 5, cockpit=cockpit, reflection_enabled=False) as gate,
        watching(tmp_path, open_browser=False, episode="latest", cockpit=cockpit) as address,
        opened(browser, address) as page,
        opened(browser, address) as other,
    ):
        forget(other)
        button(page, "Pause").click()
        assert page.evaluate("location.hash") == "#/played", "the token is in no address to copy"
        expect(page.locator(".doing")).to_have_text(
            re.compile(r"Turn 1 of 5Thinking … · pauses after this turn\d+ s")
        )
        gate.open(5)
        for it in (page, other):
            expect(state(it)).to_have_text("Paused")
            expect(it.locator(".doing")).to_have_text("Before turn 2 of 5Paused")
        assert commands(folder) == [1]
        expect(button(other, "Resume")).to_be_hidden()
        other.keyboard.press(".")
        page.get_by_label("Hint to the player").fill(HINT)
        page.keyboard.press("Enter")
        expect(page.get_by_text("the player reads it in its next prompt")).to_be_visible()
        button(page, "Play one turn").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".doing")).to_have_text("Before turn 3 of 5Paused")
        expect(button(page, "Play one turn")).to_be_focused()
        assert commands(folder) == [1, 2]
        for it in (page, other):
            expect(it.locator(".turn[data-turn='2'] .from-watcher")).to_contain_text(HINT)
            expect(it.locator("[data-fact='hints'] dd")).to_have_text("1")
            expect(it.locator(".heading")).to_contain_text("1 hint")
        page.reload()
        expect(button(page, "Resume")).to_be_visible()  # the tab has kept the token
        page.locator(".transcript").focus()
        page.keyboard.press("p")
        expect(state(page)).to_have_text("Ended: Turn limit")
        expect(page.locator(".next dd").nth(1)).to_contain_text("--fork")
        other.evaluate("location.hash = '#/?filter=hints>0'")
        expect(other.locator(".hinted")).to_have_text("1 hint")
        other.evaluate("location.hash = '#/all/experiments'")
        expect(other.locator(".experiments .count")).to_contain_text(
            "1 episode with hints by a person"
        )
    calls = [it.event for it in read(folder) if isinstance(it.event, ModelCall)]
    assert [HINT in str(call.request["messages"]) for call in calls] == [False, True, *[False] * 3]


def test_a_page_opened_before_its_game_waits_and_says_when_the_program_stops(
    browser: Browser, tmp_path: Path
) -> None:
    beside(lambda: recorded(tmp_path, "earlier"))
    cockpit, port = Cockpit(), free_port()
    with opened(browser, "about:blank", forgiven="Failed to load resource") as page:
        with watching(tmp_path, port, False, episode="latest", cockpit=cockpit) as address:
            page.goto(address)
            told = page.locator("#main [role=status]")
            expect(told).to_contain_text("The game is starting.")
            cockpit.begin(tmp_path / "episodes" / "played", under_way=lambda: "Fetching Zork I")
            expect(told).to_contain_text("Fetching Zork I …")
            with playing(tmp_path, 1, cockpit=cockpit) as gate:
                gate.open()
                expect(page.locator(".turn[data-turn='1']")).to_be_attached()
            assert page.evaluate("location.hash") == "#/played"
        stopped = page.get_by_role("alert").filter(has_text="has stopped")
        expect(stopped).to_contain_text("uv run python -m viewer")
        page.evaluate("location.hash = '#/earlier'")
        expect(page.locator("#main")).to_contain_text("The server does not answer.")
        with watching(tmp_path, port, False):
            expect(page.locator(".turn[data-turn='12']")).to_be_attached()
            expect(stopped).to_be_hidden()


def test_a_page_with_the_token_of_an_earlier_game_only_watches(
    browser: Browser, tmp_path: Path
) -> None:
    cockpit = Cockpit()
    with (
        playing(tmp_path, 2, cockpit=cockpit, reflection_enabled=False),
        watching(tmp_path, open_browser=False, episode="latest", cockpit=cockpit) as address,
        opened(browser, address, forgiven="status of 40") as page,
    ):
        expect(page.locator(".doing")).to_contain_text("Thinking")
        forget(page, "earlier")
        with page.expect_response("**/control", timeout=PATIENCE) as answered:
            page.reload()
        assert answered.value.status == 403
        expect(page.locator(".doing")).to_contain_text("Thinking")
        expect(button(page, "Pause")).to_be_hidden()


@pytest.mark.soak
def test_what_the_model_thinks_comes_word_by_word_and_nothing_chatters(
    browser: Browser, tmp_path: Path
) -> None:
    cockpit = Cockpit()
    with (
        playing(tmp_path, 1, cockpit=cockpit, pace=0.4, reflection_enabled=False) as gate,
        watching(tmp_path, open_browser=False, episode="latest", cockpit=cockpit) as address,
        opened(browser, address, viewport=PHONE) as page,
    ):
        thought = page.get_by_role("region", name="What the model thinks")
        expect(page.get_by_role("timer")).to_have_text(re.compile(r"\d+ s"))
        expect(thought).to_be_hidden()
        gate.open()
        expect(thought).to_have_text(re.compile(r"Line 1( says)?( so\.)?"))
        loud = page.locator("[aria-live], [role=status], [role=alert], [role=log]")
        loud = loud.filter(visible=True)
        assert not any(" s" in text or "Line" in text for text in loud.all_inner_texts())
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) == 0
        expect(state(page)).to_have_text("Ended: Turn limit")
        page.get_by_text("Turn limit. Next steps").click()
        copies = page.locator(".next").get_by_role("button", name="Copy")
        expect(copies).to_have_count(4)
        names = copies.evaluate_all("all => all.map((it) => it.getAttribute('aria-label'))")
        assert len(set(names)) == 4
        assert page.evaluate(overflow) == 0
