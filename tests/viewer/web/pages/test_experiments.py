"""The page of experiments in a real browser: curves, figures, comparison, search, notes."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import beside, current, needs_chromium, opened, served_files
from tests.support.viewing import log_of, recorded, write_log
from viewer.experiments.notes import Notes
from viewer.library import Library
from viewer.web.cockpit import Cockpit
from viewer.web.site import export_site
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
MODELS = ("birch/small", "cedar/tiny")
SEEDS = 5


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models with five seeds each, which end at different scores."""
    workdir = tmp_path_factory.mktemp("work")
    events = log_of(beside(lambda: recorded(workdir / "source")))
    for model in MODELS:
        for seed in range(1, SEEDS + 1):
            start = {"model": model, "seed": seed}
            kept = [
                {**it, **start} if it["event_type"] == "episode_start" else it
                for it in events
                if it["turn"] <= 2 * seed + 2 or it["event_type"] == "episode_end"
            ]
            write_log(workdir / "work" / "episodes" / f"{model[:5]}-{seed}", kept)
    return workdir / "work"


def at(page: Page, place: str) -> Page:
    """The page at another address, opened anew."""
    page.evaluate("location.hash = '#/nowhere/at/all'")
    expect(page.get_by_role("alert")).to_be_visible()
    page.evaluate("place => { location.hash = place }", place)
    return page


def test_curves_have_bands_and_their_groups_and_episodes_can_be_chosen(window: Page) -> None:
    page = at(window, "#/all/experiments")
    plot = page.locator(".experiments .plot")
    expect(plot).to_have_attribute("data-lines", "2")
    expect(plot).to_have_attribute("data-bands", "2")
    rows = page.locator(".experiments tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("birch/small")
    expect(rows.first.locator("td.number").nth(2)).to_contain_text("[")
    page.get_by_label("By").select_option("Seed")
    expect(rows).to_have_count(SEEDS)
    expect(plot).to_have_attribute("data-bands", "0")
    page.get_by_label("Show").select_option("Cost")
    page.get_by_label("Filter").fill("model:birch seed>2")
    expect(rows).to_have_count(3)
    expect(page.locator(".count")).to_contain_text("3 episodes played to the end")
    assert page.evaluate("location.hash") == (
        "#/all/experiments?filter=model%3Abirch%20seed%3E2&by=seed&show=cost"
    )
    page.get_by_label("Filter").fill("nothing like this")
    expect(page.locator(".count")).to_have_text("No match among 10 episodes")
    expect(plot).to_have_count(0)


def test_hints_are_told_of_episodes_that_count_and_of_no_others(
    window: Page, workdir: Path
) -> None:
    *turns, _end = log_of(workdir / "episodes" / "birch-5")
    hint = {"event_type": "hint", "turn": 3, "text": "Go up."}
    write_log(workdir / "episodes" / "stopped", [*turns, hint])
    page = at(window, "#/all/experiments")
    expect(page.locator(".count")).to_contain_text("1 unfinished left out")
    expect(page.locator(".count")).not_to_contain_text("hints")
    shutil.rmtree(workdir / "episodes" / "stopped")


def test_notes_and_tags_are_written_by_who_has_the_token_and_found_by_the_filter(
    browser: Browser, workdir: Path
) -> None:
    cockpit = Cockpit()
    with (
        watching(workdir, open_browser=False, cockpit=cockpit, episode="birch-5") as address,
        opened(browser, address) as page,
    ):
        assert cockpit.token in address
        expect(page.get_by_label("Note on the episode")).to_be_visible()
        assert cockpit.token not in page.url
        page.locator(".story").click()
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        note = page.get_by_label("Note on turn 1")
        note.fill("Here it begins")
        page.get_by_label("Tags on turn 1").fill("opening, odd")
        page.locator(".notes").get_by_role("button", name="Save").first.click()
        expect(page.locator(".notes").get_by_text("Saved")).to_be_visible()
        page.reload()
        page.get_by_label("Tags on the episode").fill("best")
        page.locator(".notes").get_by_role("button", name="Save").last.click()
        expect(page.locator(".notes").get_by_text("Saved")).to_be_visible()
        page.evaluate("location.hash = '#/?filter=tag:odd'")
        rows = page.locator("table.episodes tbody tr")
        expect(rows).to_have_count(1)
        expect(rows.locator(".tag")).to_have_text("best")


def test_who_has_no_token_reads_notes_and_is_told_how_to_write_them(
    window: Page, workdir: Path
) -> None:
    Notes(workdir / "episodes" / "cedar-5").write(2, "Look here", ["odd"])
    page = at(window, "#/cedar-5/turn/2")
    expect(page.locator(".notes")).to_contain_text("Look here")
    expect(page.locator(".notes textarea")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(page.locator(".notes")).to_contain_text("open the address that the viewer printed")


def test_words_are_found_in_all_episodes_and_lead_to_the_turn(window: Page) -> None:
    page = at(window, "#/all/search")
    page.get_by_label("Words").fill("watering can")
    page.get_by_label("Filter").fill("model:cedar")
    page.keyboard.press("Enter")
    expect(page.locator(".count")).to_contain_text("of 5 episodes")
    assert "find=watering%20can&filter=model%3Acedar" in page.url
    expect(page.locator(".found mark").first).to_have_text("watering can")
    page.locator(".found").get_by_role("link", name="Turn").first.click()
    expect(page.locator(".finder .told")).to_contain_text("turn")
    expect(current(page)).to_contain_text("watering can")
    page = at(window, "#/all/search?find=no such words")
    expect(page.locator(".count")).to_have_text("No match in 10 episodes")


def test_several_episodes_are_compared_from_where_they_part(window: Page, workdir: Path) -> None:
    events = log_of(workdir / "episodes" / "birch-5")
    for event in events:
        if event["event_type"] == "turn" and event["turn"] == 7:
            event |= {"command": "sing", "seconds": event["seconds"] * 1.001}
    write_log(workdir.parent / "work" / "episodes" / "parted", events)
    page = at(window, "#/")
    for name in ("birch-5", "cedar-5", "parted"):
        page.get_by_label(f"Compare {name}").check()
    Notes(workdir / "episodes" / "cedar-5").write(
        None, "", [], "A long name that somebody gave to this episode"
    )
    page.get_by_role("button", name="Compare 3").click()
    expect(page.locator(".sums thead")).to_contain_text("A long name that s…")
    expect(page.locator(".sums")).not_to_contain_text("by 0 %")
    page.get_by_label("Show").select_option("Share of the achievements")
    expect(page.locator(".compare .plot")).to_have_attribute("data-lines", "3")
    expect(page.locator(".compare .plot")).to_have_attribute("data-lines", "3")
    with page.expect_response(lambda it: it.url.endswith("parted/spent.json")) as spent:
        page.get_by_label("Show").select_option("Tokens used")
    assert len(spent.value.json()) == 12
    expect(page.locator(".compare .plot canvas")).to_be_visible()
    told = "First difference in turn 7: the commands differ, “.+” and “sing”. 1 of 12 rows differ."
    page.get_by_label("birch-5 beside").select_option("parted")
    expect(page.get_by_text(re.compile(told))).to_be_visible()
    marked = page.locator(".turns-beside tr[aria-current]")
    expect(marked.get_by_role("rowheader")).to_have_text("command")
    expect(marked.locator("td").last).to_contain_text("7 sing")
    page.get_by_label("Only rows that differ").check()
    expect(page.locator(".turns-beside tbody tr")).to_have_count(1)
    page.get_by_role("button", name="First difference").click()
    expect(page).to_have_url(re.compile(r"\?turn=7$"))
    shutil.rmtree(workdir / "episodes" / "parted")


def downloaded(page: Page, kind: str) -> tuple[str, str]:
    """The name and the text of the file that the page offers."""
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=kind).click()
    return download.value.suggested_filename, download.value.path().read_text(encoding="utf-8")


def test_what_the_filter_shows_is_downloaded(window: Page, workdir: Path) -> None:
    Notes(workdir / "episodes" / "cedar-5").write(None, '=1+1, "quoted"', ["a", "b"])
    page = at(window, "#/?filter=model:cedar seed>3")
    expect(page.locator("table.episodes tbody tr")).to_have_count(2)
    name, text = downloaded(page, "CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert name == "episodes.csv"
    assert {row["id"] for row in rows} == {"cedar-4", "cedar-5"}
    (noted,) = (row for row in rows if row["note"])
    assert (noted["note"], noted["tags"]) == ('\'=1+1, "quoted"', "a; b")
    name, text = downloaded(page, "JSON lines")
    lines = [json.loads(line) for line in text.splitlines()]
    assert (name, len(lines)) == ("episodes.jsonl", 2)
    assert lines[0]["scores"]


def test_the_turns_of_an_episode_are_downloaded_one_in_each_row(
    window: Page, workdir: Path
) -> None:
    Notes(workdir / "episodes" / "birch-5").write(2, "odd", [])
    page = at(window, "#/birch-5/turn/3")
    expect(current(page)).to_have_attribute("data-turn", "3")
    name, text = downloaded(page, "CSV")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert (name, len(rows)) == ("birch-5.csv", 12)
    assert (rows[1]["turn"], rows[1]["note"]) == ("2", "odd")
    assert all(row["command"] and row["seconds"] for row in rows)


def test_a_link_is_copied_with_what_is_shown(browser: Browser, address: str) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    with opened(browser, f"{address}#/birch-5/turn/3", permissions=allowed) as page:
        expect(current(page)).to_have_attribute("data-turn", "3")
        page.get_by_role("button", name="Copy link").click()
        expect(page.get_by_text("The link is copied.").last).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == f"{address}#/birch-5/turn/3"


def test_an_export_searches_averages_and_shows_notes_without_a_server_of_ours(
    browser: Browser, workdir: Path, tmp_path: Path
) -> None:
    Notes(workdir / "episodes" / "birch-5").write(2, "Exported", [])
    library = Library(workdir)
    export_site(library, library.episodes(), tmp_path / "site")
    with (
        served_files(tmp_path / "site") as address,
        opened(browser, f"{address}#/birch-5/turn/2?find=watering can") as page,
    ):
        expect(page.locator(".notes")).to_contain_text("Exported")
        expect(page.locator(".finder .told")).to_contain_text("turn")
        page.keyboard.press("n")
        expect(current(page)).to_contain_text("watering can")
        at(page, "#/all/search?find=watering can&filter=model:birch")
        expect(page.locator(".count")).to_contain_text("of 5 episodes")
        expect(page.locator(".found mark").first).to_have_text("watering can")
        at(page, "#/all/experiments?filter=model:birch")
        expect(page.locator(".experiments tbody tr")).to_have_count(2)
        expect(page.locator(".count")).to_contain_text("shows the curves of all its episodes")


def test_numbers_stand_below_each_other_on_a_small_screen(browser: Browser, address: str) -> None:
    small = {"width": 900, "height": 800}
    with opened(browser, f"{address}#/all/experiments", viewport=small) as page:
        number = page.locator(".experiments td.number").first
        expect(number).to_have_css("text-align", "end")


CUT = "(it) => it.scrollWidth > it.clientWidth || it.scrollHeight > it.clientHeight"


def test_a_telephone_shows_the_whole_state_of_an_exported_episode(
    browser: Browser, workdir: Path, tmp_path: Path
) -> None:
    library = Library(workdir)
    export_site(library, library.episodes(), tmp_path / "site")
    phone = {"width": 390, "height": 844}
    with (
        served_files(tmp_path / "site") as address,
        opened(browser, f"{address}#/birch-5", viewport=phone) as page,
    ):
        state = page.locator("#state")
        expect(state).to_have_text("Replay · Ended: Turn limit")
        assert not state.evaluate(CUT)
        assert page.evaluate("document.documentElement.scrollWidth") == phone["width"]
