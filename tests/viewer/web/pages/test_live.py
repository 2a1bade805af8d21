"""The page beside a game that is being played: following, reading back, reconnecting."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support import ROOT, free_port
from tests.support.browser import beside, needs_chromium, opened, shows
from tests.support.program import Program
from tests.support.viewing import log_of, playing, recorded, write_log
from viewer.web.cockpit import Cockpit
from viewer.web.watch import watching
from workshop.benchmarks.viewer import write_long_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Route

pytestmark = [needs_chromium, pytest.mark.slow]
ENLARGED = """it => it.dispatchEvent(
    new WheelEvent("wheel", { deltaY: -900, ctrlKey: true, bubbles: true }))"""
"""The wheel with Ctrl held makes the page larger and scrolls nothing."""
PLACED = """() => {
    const it = document.querySelector(".turn[aria-current]");
    return Math.abs(it.offsetTop - it.closest(".transcript").scrollTop - 12) < 2;
}"""
DRAWN = "() => new Promise(it => requestAnimationFrame(() => requestAnimationFrame(it)))"
BELOW_THEM = "it => { it.scrollTop = it.querySelector('[data-block=\"2\"]').offsetTop + 700; }"
SEEN = """window.EventSource = class extends EventSource {
    constructor(address) { super(address); window.stream = this; }
};"""
AT_ONCE = """async it => {
    const data = await (await fetch("data/played/episode.json")).text();
    it.scrollTop -= 900;
    window.stream.dispatchEvent(new MessageEvent("episode", { data }));
}"""
"""The reader scrolls, and news comes before the browser tells of it."""


def test_a_game_is_followed_live_from_the_empty_index_to_its_end(
    browser: Browser, tmp_path: Path
) -> None:
    with watching(tmp_path, open_browser=False) as address, opened(browser, address) as page:
        expect(page.get_by_role("heading", name="Nothing has been played")).to_be_visible()
        with playing(tmp_path, 9, reflection_enabled=True) as gate:
            gate.open()
            page.get_by_role("link", name="played").click()  # the index looks again by itself
            expect(page.locator("#state")).to_have_text("Live")
            shows(page, 1)
            for turn in (2, 3):
                gate.open()
                shows(page, turn)
                expect(page.locator("output.place")).to_have_text(f"{turn} / {turn}")
            expect(page.locator("#announcer")).to_contain_text("Turn 3: north. Courtyard, score 2.")
            expect(page.locator(".map .canvas")).to_have_attribute("data-rooms", "3")
            expect(page.locator(".situation h2")).to_have_text("Courtyard")
            gate.open(20)
            expect(page.locator("#state")).to_have_text("Ended: Turn limit")
        shows(page, 9)
        expect(page.locator(".turn[data-turn='9']")).to_be_in_viewport()
        expect(page.locator("[data-reflection='1']")).to_be_attached()
        assert page.evaluate("location.hash") == "#/played"


def test_reading_back_pauses_following_until_the_button_is_pressed(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        playing(tmp_path, 12) as gate,
        watching(tmp_path, open_browser=False) as address,
        opened(browser, address) as page,
    ):
        gate.open(8)
        page.get_by_role("link", name="played").click()
        expect(page.locator(".turn")).to_have_count(9)
        shows(page, 8)
        # In one leap, as by the scroll bar, just when what the game is doing takes more room.
        page.set_viewport_size({"width": 1280, "height": 640})
        page.locator(".transcript").evaluate("it => { it.scrollTop -= 900; }")
        expect(page.locator(".turn[data-turn='8']")).not_to_be_in_viewport()
        gate.open(2)
        button = page.get_by_role("button", name="2 new turns")
        expect(button).to_be_visible()
        shows(page, 8)
        expect(page.locator(".turn[data-turn='10']")).not_to_be_in_viewport()
        button.click()
        shows(page, 10)
        expect(page.locator(".turn[data-turn='10']")).to_be_in_viewport()
        page.locator(".transcript").evaluate(ENLARGED)
        gate.open(1)
        shows(page, 11)
        page.locator(".transcript").hover()
        page.mouse.wheel(0, -900)
        expect(page.locator(".turn[data-turn='11']")).not_to_be_in_viewport()
        gate.open()
        page.get_by_role("button", name="1 new turn").click()
        shows(page, 12)


def test_reading_back_is_noticed_although_news_comes_at_the_same_moment(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        playing(tmp_path, 12) as gate,
        watching(tmp_path, open_browser=False) as address,
        opened(browser, "about:blank") as page,
    ):
        page.add_init_script(SEEN)
        gate.open(8)
        page.goto(address)
        page.get_by_role("link", name="played").click()
        shows(page, 8)
        page.locator(".transcript").evaluate(AT_ONCE)
        expect(page.locator(".turn[data-turn='8']")).not_to_be_in_viewport()
        gate.open(2)
        expect(page.get_by_role("button", name="2 new turns")).to_be_visible()
        shows(page, 8)


def test_an_earlier_turn_stays_f_follows_and_the_end_comes_though_the_server_goes_with_the_game(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        playing(tmp_path, 5) as gate,
        watching(tmp_path, open_browser=False) as address,
        opened(browser, address, forgiven="ERR_FAILED") as page,
    ):
        expect(page.get_by_role("link", name="played")).to_be_visible()
        page.evaluate("location.hash = '#/played/turn/0'")
        expect(page.locator("#state")).to_have_text("Live")
        gate.open(3)
        expect(page.get_by_role("button", name="3 new turns")).to_be_visible()
        shows(page, 0)
        page.keyboard.press("f")
        shows(page, 3)
        gate.open()
        shows(page, 4)
        page.route("**/data/**", lambda route: route.abort())  # the stream is open already
        gate.open()
        expect(page.locator("#announcer")).to_have_text("The episode has ended: Turn limit.")
        expect(page.locator("#state")).to_have_text("Ended: Turn limit")
        shows(page, 5)


def test_a_note_that_is_not_saved_stays_though_the_game_goes_on_meanwhile(
    browser: Browser, tmp_path: Path
) -> None:
    with (
        playing(tmp_path, 3) as gate,
        watching(tmp_path, open_browser=False, cockpit=Cockpit()) as address,
        opened(browser, address, forgiven="ERR_FAILED") as page,
    ):
        gate.open()
        page.get_by_role("link", name="played").click()
        shows(page, 1)
        page.get_by_label("Note on turn 1").fill("Odd")
        held: list[Route] = []
        page.route("**/notes", lambda route: held.append(route))
        save = page.locator(".notes").get_by_role("button", name="Save").first
        with page.expect_request("**/notes"):
            save.click()
        gate.open()
        shows(page, 2)
        held.pop().abort()
        expect(page.locator(".notes [role=status]").first).not_to_be_empty()
        expect(page.get_by_label("Note on turn 1")).to_have_value("Odd")
        page.unroute("**/notes")
        save.click()
        expect(page.locator(".notes").get_by_text("Saved")).to_be_visible()
        expect(page.get_by_label("Note on turn 2")).to_have_value("")


def test_a_lost_server_is_said_and_no_turn_is_lost_when_it_is_back(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    with playing(tmp_path, 5) as gate:
        gate.open(2)
        with opened(browser, "about:blank", forgiven="ERR_") as page:
            with watching(tmp_path, port, open_browser=False) as address:
                page.goto(address)
                page.get_by_role("link", name="played").click()
                shows(page, 2)
                expect(page.locator("#state")).to_have_text("Live")
            expect(page.locator("#state")).to_have_text("Reconnecting")
            gate.open(2)
            with watching(tmp_path, port, open_browser=False):
                expect(page.locator("#state")).to_have_text("Live")
                shows(page, 4)
                expect(page.locator(".turn")).to_have_count(5)


@pytest.fixture(scope="module")
def long_episode(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("long")
    source = beside(lambda: recorded(folder / "source"))
    write_long_log(source, folder / "work" / "episodes" / "long", 200)
    with (
        watching(folder / "work", open_browser=False) as address,
        opened(browser, f"{address}#/long", forgiven="ERR_FAILED") as page,
    ):
        yield page


@pytest.fixture
def unloaded(long_episode: Page) -> Page:
    """The page of a long episode at turn 77, which could not be loaded, but now can be."""
    page = long_episode
    page.set_viewport_size({"width": 1280, "height": 800})
    page.evaluate("location.hash = '#/long'")
    page.reload()
    shows(page, 200)
    failed: list[str] = []
    page.on("requestfailed", lambda it: failed.append(it.url) if "/turns/" in it.url else None)
    page.route("**/turns/1.json", lambda route: route.abort())
    page.get_by_label("Turn", exact=True).fill("77")
    expect(page.get_by_text("These turns could not be loaded.")).to_be_in_viewport()
    expect(page.get_by_text("What was true after turn 77 is not known.")).to_be_visible()
    page.set_viewport_size({"width": 1100, "height": 800})
    page.evaluate(DRAWN)  # by then the page has reacted to its new size and to the scrolling
    assert len(failed) == 1
    page.unroute("**/turns/1.json")
    return page


@pytest.mark.parametrize("by", ["button", "slider"])
def test_turns_that_cannot_be_loaded_are_said_to_be_and_offered_again(
    unloaded: Page, by: str
) -> None:
    if by == "button":
        unloaded.get_by_role("button", name="Try again").click()
    else:
        unloaded.get_by_label("Turn", exact=True).fill("77")
    shows(unloaded, 77)
    expect(unloaded.locator(".turn[data-turn='77']")).to_be_in_viewport()
    expect(unloaded.get_by_text("is not known.")).to_have_count(0)


def test_who_reads_on_beside_turns_that_could_not_be_loaded_stays_there(unloaded: Page) -> None:
    transcript = unloaded.locator(".transcript")
    transcript.evaluate("it => { it.scrollTop = it.scrollHeight; }")
    expect(unloaded.locator(".turn[data-turn='200']")).to_be_in_viewport()
    transcript.evaluate(BELOW_THEM)
    expect(unloaded.get_by_text("is not known.")).to_have_count(0)
    expect(unloaded.locator(".turn[data-turn='77']")).to_be_attached()
    expect(unloaded.locator(".turn[data-turn='77']")).not_to_be_in_viewport()
    expect(unloaded.locator("[data-block='2']")).to_be_in_viewport()


def test_letters_that_come_late_leave_the_turn_where_it_was(
    browser: Browser, tmp_path: Path
) -> None:
    events = log_of(beside(lambda: recorded(tmp_path / "source")))
    long = {"thinking": "How many letters fit into this line? " * 70}
    changed = [{**it, **long} if it["event_type"] == "turn" else it for it in events]
    write_log(tmp_path / "work" / "episodes" / "long", changed)
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, "about:blank") as page,
    ):
        held: list[Route] = []
        page.route("**/*-italic.woff2", lambda route: held.append(route))
        page.goto(f"{address}#/long/turn/7", wait_until="commit")
        shows(page, 7)
        row = page.locator(".turn[aria-current]")
        before = row.evaluate("it => it.offsetTop")
        while page.evaluate("document.fonts.status") == "loading":
            for route in held:
                route.continue_()
            held.clear()
        assert row.evaluate("it => it.offsetTop") != before
        page.wait_for_function(PLACED)


@pytest.mark.soak
def test_two_thousand_turns_keep_the_page_small_and_what_is_read_in_place(
    browser: Browser, tmp_path: Path
) -> None:
    source = beside(lambda: recorded(tmp_path / "source"))
    write_long_log(source, tmp_path / "work" / "episodes" / "long", 2000)
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, f"{address}#/long/turn/1001") as page,
    ):
        shows(page, 1001)
        row = page.locator(".turn[data-turn='1001']")
        expect(page.locator(".turn[data-turn='1000']")).to_be_attached()  # the chunk above it
        box, frame = row.bounding_box(), page.locator(".transcript").bounding_box()
        assert box
        assert frame
        assert 0 <= box["y"] - frame["y"] < 40
        for key, turn in (("End", 2000), ("Home", 0), ("ArrowRight", 1)):
            page.keyboard.press(key)
            shows(page, turn)
            expect(page.locator(f".turn[data-turn='{turn}']")).to_be_in_viewport()
            assert page.locator(".turn").count() <= 300
        for turn in range(1, 2000, 97):  # dragged: some chunks come when they are passed already
            page.get_by_label("Turn", exact=True).fill(str(turn))
        shows(page, turn)
        page.wait_for_function("document.querySelectorAll('.turn').length <= 300")


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("times_slower", [1, 4, 16])
def test_a_page_opened_before_its_game_exists_shows_it(
    browser: Browser, tmp_path: Path, times_slower: int
) -> None:
    """Seven times at each speed of the browser, on a network that takes connections and hangs."""
    with socket.create_server(("127.0.0.1", 0)) as hanging:
        proxy = f"http://127.0.0.1:{hanging.getsockname()[1]}"
        for number in range(7):
            folder = tmp_path / str(number)
            folder.mkdir()
            program = Program(folder)
            home = {"HOME": str(folder), "XDG_CACHE_HOME": str(folder), "PYTHONPATH": str(ROOT)}
            program.env |= home | dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), proxy)
            flags = ["--watch", "--no-open", "--player", "first-exit", "--max-turns", "3"]
            with subprocess.Popen(
                [*program.command, *flags],
                cwd=folder,
                env=program.env,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            ) as game:
                try:
                    assert game.stdout is not None
                    addresses = (re.search(r"http://\S+", line) for line in game.stdout)
                    address = next(found[0] for found in addresses if found)
                    with opened(browser, "about:blank") as page:
                        session = page.context.new_cdp_session(page)
                        session.send("Emulation.setCPUThrottlingRate", {"rate": times_slower})
                        page.goto(address, timeout=60_000)
                        expect(page.locator(".turn").first).to_be_visible(timeout=60_000)
                finally:
                    game.terminate()
