"""The page of all episodes in a real browser, and what holds for every page."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from session.record.branch import branch_off
from tests.support.browser import beside, current, needs_chromium, opened, served_files
from tests.support.viewing import log_of, recorded, write_log
from viewer.__main__ import main
from viewer.web.cockpit import Cockpit
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = needs_chromium
MODELS = ("alder/large", "birch/small", "cedar/tiny")
PHONE = {"width": 320, "height": 568}
"""The smallest of them, or a common screen at 400 %."""
UNNAMED = """() => [...document.querySelectorAll("button, a[href], input, select, summary")]
    .filter((it) => it.checkVisibility())
    .filter((it) => !(it.ariaLabel ?? "").trim() && !it.innerText.trim() && !it.labels?.length)
    .map((it) => it.outerHTML)"""


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One episode that was played, and an evaluation of three made of it."""
    workdir = tmp_path_factory.mktemp("work")
    events = log_of(beside(lambda: recorded(workdir)))
    for number, model in enumerate(MODELS, 1):
        changes = {"model": model, "seed": number}
        last = [event["event_type"] for event in events].index("episode_end")
        kept = [
            {**event, **changes} if event["event_type"] == "episode_start" else event
            for event in events[: last if number == 1 else None]
            if event["turn"] <= 4 * number
        ]
        folder = workdir / "trial" / "all-parts" / f"seed-{number}" / "episodes" / f"e{number}"
        write_log(folder, kept)
    return workdir


@pytest.fixture
def index(window: Page) -> Page:
    """The index, opened anew."""
    window.evaluate("location.hash = '#/nowhere/at/all'")
    expect(window.get_by_role("alert")).to_be_visible()
    window.evaluate("location.hash = '#/'")
    expect(rows(window)).to_have_count(4)
    return window


def rows(page: Page) -> Locator:
    return page.locator("table.episodes tbody tr")


def column(page: Page, name: str) -> list[str]:
    return page.locator(f'table.episodes td[data-label="{name}"]').all_inner_texts()


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(index: Page) -> None:
    heading = index.locator("table.episodes").get_by_role("columnheader", name="Turns")
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert column(index, "Turns") == ["12", "12", "8", "4"]
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert column(index, "Turns") == ["4", "8", "12", "12"]
    index.get_by_role("columnheader", name="Model").get_by_role("button").click()
    assert column(index, "Model")[:3] == list(MODELS)


def test_the_filter_takes_several_words_and_a_key_leads_to_it(index: Page) -> None:
    index.keyboard.press("/")
    expect(index.get_by_label("Filter")).to_be_focused()
    index.keyboard.type("trial birch")
    expect(rows(index)).to_have_count(1)
    expect(rows(index)).to_contain_text("birch/small")
    expect(index.locator(".count")).to_have_text("1 of 4 episodes")
    index.get_by_label("Filter").fill("no such thing")
    expect(rows(index)).to_have_count(0)
    expect(index.locator(".count")).to_have_text("No match among 4 episodes")


def test_the_filter_takes_expressions_and_the_address_keeps_them(index: Page) -> None:
    asked, count = index.get_by_label("Filter"), index.locator(".count")
    for expression, shown in (
        ("turns>=8", 3),
        ("turns>=8 turns<12", 1),
        ("turns!=12 -model:birch", 1),
        ("MODEL:cedar SEED:3", 1),
        ('"turn limit"', 2),
        ('end:"Turn limit" -group:trial', 1),
        ("end:interrupted", 2),
        ("started>2000 started<2001", 0),
        ("max:100 deaths=0 cost<=0", 4),
        ("trial -", 3),
    ):
        asked.fill(expression)
        expect(rows(index)).to_have_count(shown)
    asked.fill("turns>=8 model:birch/small")
    expect(rows(index)).to_have_count(1)
    for expression, wrong in (
        ("scroe>3", "There is no field “scroe”: did you mean score?"),
        ("luck>3", "the fields are seed, turns, score"),
        ("score>many", "score> needs a number, not “many”"),
        ("model:", "A value is missing after model:"),
        ('model:"birch', 'A quotation mark is not closed, or is inside a word: model:"birch'),
    ):
        asked.fill(expression)
        expect(count).to_contain_text(wrong)
        expect(rows(index)).to_have_count(1)
    asked.fill("turns>=8 model:birch/small")
    assert index.evaluate("location.hash") == "#/?filter=turns%3E%3D8%20model%3Abirch%2Fsmall"
    rows(index).locator(".episode-link").click()
    expect(current(index)).to_have_attribute("data-turn", "8")
    index.go_back()
    expect(rows(index)).to_have_count(1)
    expect(asked).to_have_value("turns>=8 model:birch/small")
    index.evaluate("location.hash = '#/?filter=turns:4'")
    expect(rows(index)).to_contain_text(MODELS[0])


def test_a_value_leads_to_its_episodes_and_each_has_one_line(index: Page) -> None:
    heights = "all => all.map((it) => it.getBoundingClientRect().height)"
    assert max(rows(index).evaluate_all(heights)) < 36
    rows(index).filter(has_text=MODELS[0]).get_by_role("link", name=MODELS[0]).click()
    expect(rows(index)).to_have_count(1)
    expect(index.get_by_label("Filter")).to_have_value(f'model:"{MODELS[0]}"')
    index.get_by_label("Filter").fill("")
    boxes = rows(index).get_by_role("checkbox")
    boxes.first.click()
    boxes.last.click(modifiers=["Shift"])
    expect(index.get_by_role("button", name="Compare 4")).to_be_enabled()
    index.locator("summary", has_text="Columns").click()
    index.get_by_label("Seed", exact=True).uncheck()
    expect(index.locator('td[data-label="Seed"]')).to_have_count(0)


def test_episodes_are_renamed_archived_and_deleted_once_the_page_is_left(
    browser: Browser, workdir: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "episodes"
    for name in ("first", "second", "third"):
        shutil.copytree(workdir / "episodes" / "played", folder / name)
    with (
        watching(tmp_path, open_browser=False, cockpit=Cockpit()) as address,
        opened(browser, address.replace("#/", "#/all/experiments"), forgiven="404") as page,
    ):
        page.get_by_role("link", name="Episodes", exact=True).click()
        expect(rows(page)).to_have_count(3)
        page.get_by_label("Compare first").check()
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("Name of first").fill(name := "With the lamp " + "on" * 33)
        page.keyboard.press("Enter")
        page.set_viewport_size({"width": 900, "height": 800})
        expect(page.get_by_role("link", name="With the lamp")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == 900
        assert len(set(rows(page).evaluate_all("rows => rows.map((it) => it.clientHeight)"))) == 1
        page.get_by_role("link", name="With the lamp").click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.locator("#heading p")).to_have_text(re.compile("The Weatherworks.* · first"))
        page.go_back()
        page.get_by_label("Compare second").check()
        page.get_by_role("button", name="Archive").click()
        expect(rows(page)).to_have_count(2)
        page.get_by_role("button", name="Show 1 archived episode").click()
        page.get_by_label("Compare second").check()
        page.get_by_role("button", name="Unarchive").click()
        expect(page.get_by_role("button", name="archived episode")).to_have_count(0)
        for _ in range(2):
            page.get_by_label("Compare third").check()
            page.get_by_role("button", name="Delete").click()
            expect(page.locator(".changing")).to_contain_text(
                re.compile(r"1 episode \([\d.]+ .B\)")
            )
            expect(rows(page)).to_have_count(2)
            page.get_by_role("button", name="Undo").click()
            expect(rows(page)).to_have_count(3)
        page.get_by_label("Compare third").check()
        page.get_by_role("button", name="Delete").click()
        assert (folder / "third").is_dir()
        with page.expect_response("**/data/delete"):
            page.get_by_role("link", name="Search all episodes").click()
        assert sorted(it.name for it in folder.iterdir()) == ["first", "second"]
        page.evaluate("location.hash = '#/second/turn/2'")
        expect(current(page)).to_have_attribute("data-turn", "2")
        shutil.rmtree(folder / "second")
        page.get_by_role("tab", name="Prompt").click()
        expect(page.locator(".request")).to_contain_text("There is no episode “second” here.")


def test_a_row_tells_of_its_episode_and_leads_to_it(index: Page) -> None:
    row = rows(index).filter(has=index.get_by_text("played", exact=True))
    expect(row).to_contain_text("The Weatherworks")
    expect(row).to_contain_text("Turn limit")
    expect(row).to_contain_text("/ 100")
    expect(row.locator("svg.sparkline path").last).to_have_attribute("d", re.compile("^M1 .*H.*V"))
    interrupted = rows(index).filter(has_text=MODELS[0])
    expect(interrupted).to_contain_text("Interrupted")
    row.locator(".episode-link").click()
    expect(current(index)).to_have_attribute("data-turn", "12")


def test_two_chosen_episodes_are_compared(index: Page) -> None:
    button = index.get_by_role("button", name="Compare")
    expect(button).to_be_disabled()
    for model in MODELS[:2]:
        rows(index).filter(has_text=model).get_by_role("checkbox").check()
    button.click()
    plot = index.locator(".compare .plot")
    expect(plot).to_have_attribute("data-lines", "2")
    expect(index.locator(".compare .plot canvas")).to_be_visible()
    expect(index.get_by_role("row", name=re.compile("^Model (?!calls)"))).to_contain_text(MODELS[1])
    expect(index.get_by_role("row", name=re.compile("^Turns "))).to_contain_text("8")
    expect(index.locator(".verdict").first).to_contain_text(re.compile("better|worse"))
    expect(index.locator(".turns-beside tbody tr")).to_have_count(8)
    expect(index.locator(".difference")).to_contain_text(re.compile(": only .+ has “.+”"))
    expect(index.get_by_role("button", name="Show it")).to_be_in_viewport()
    index.get_by_label("Only figures that differ").check()
    expect(index.get_by_role("row", name=re.compile("^Story"))).to_have_count(0)
    index.locator(".legend").get_by_role("checkbox").first.uncheck()
    expect(plot).to_have_attribute("data-lines", "1")
    assert index.evaluate("location.hash").startswith("#/compare/")
    index.go_back()
    expect(rows(index)).to_have_count(4)


def test_branches_are_shown_as_a_tree(browser: Browser, workdir: Path, tmp_path: Path) -> None:
    folders = {name: tmp_path / "episodes" / name for name in ("trunk", "left", "right", "twig")}
    write_log(folders["trunk"], log_of(workdir / "episodes" / "played"))
    branch_off(folders["trunk"], 4, folders["right"])
    branch_off(folders["trunk"], 2, folders["left"])
    branch_off(folders["left"], 1, folders["twig"])
    with (
        watching(tmp_path, open_browser=False) as address,
        opened(browser, f"{address}#/compare/left/right") as page,
    ):
        tree = page.locator(".branches > ul")
        expect(tree.locator("> li > a")).to_have_text(["trunk"])
        expect(tree.locator("> li > ul > li > a")).to_have_text(["left", "right"])
        expect(tree.locator("> li > ul > li > ul > li")).to_contain_text("twig from turn 1: score")
        expect(tree.locator("[aria-current]")).to_have_text(["left", "right"])
        tree.get_by_role("link", name="twig").click()
        expect(page).to_have_url(f"{address}#/twig")


def test_an_evaluation_is_summed_up(index: Page) -> None:
    group = index.get_by_role("row", name=re.compile("^trial.all-parts"))
    expect(group.locator("td").first).to_have_text("3")
    expect(group.locator('[data-label="Turns"]')).to_have_text("24")


def test_an_open_index_takes_in_episodes_as_they_are_read_and_leaves_the_focus_where_it_was(
    browser: Browser, workdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.web.server._PARTIAL_SECONDS", 0)  # one log for each answer
    events = log_of(workdir / "episodes" / "played")
    for name in ("first", "second", "third"):
        write_log(tmp_path / "episodes" / name, events)
    with watching(tmp_path, open_browser=False) as address, opened(browser, address) as page:
        expect(rows(page)).to_have_count(3)
        expect(page.locator(".count")).to_have_text("3 episodes")
        page.get_by_role("link", name="first").focus()
        write_log(tmp_path / "episodes" / "fourth", events)
        expect(rows(page)).to_have_count(4)
        expect(page.get_by_role("link", name="first")).to_be_focused()


def test_on_a_telephone_nothing_is_wider_than_the_screen(browser: Browser, address: str) -> None:
    with opened(browser, address, viewport=PHONE, has_touch=True) as page:
        for place in ("#/", "#/compare/played/played", "#/played/turn/6"):
            page.goto(address + place)
            expect(page.locator("#main h1, .turn[aria-current]").first).to_be_visible()
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width == PHONE["width"], place
        expect(current(page).locator(".spent").first).to_be_visible()
        for part, inside in (("Map", ".map canvas"), ("Situation", ".situation h2")):
            expect(page.locator(inside).first).to_be_hidden()
            page.get_by_role("tab", name=part, exact=True).click()
            expect(page.locator(inside).first).to_be_visible()
        expect(page.get_by_text("The Weatherworks · default · seed")).to_be_visible()
        page.set_viewport_size({"width": PHONE["height"], "height": PHONE["width"]})
        assert page.locator(".transcript").evaluate("it => it.clientHeight") > 150
        assert page.evaluate("document.documentElement.scrollHeight") == PHONE["width"]


def test_every_control_has_a_name_and_every_page_its_landmarks(window: Page, address: str) -> None:
    for place in ("#/played/turn/6", "#/"):
        window.goto(address + place)
        window.reload()
        expect(window.locator("#main h1, .turn[aria-current]").first).to_be_visible()
        assert window.evaluate(UNNAMED) == []
        assert window.get_by_role("main").count() == window.get_by_role("banner").count() == 1
        window.keyboard.press("Tab")
        expect(window.get_by_role("link", name="Skip to content")).to_be_focused()
        window.keyboard.press("Enter")
        focused = window.evaluate("document.querySelector('main').contains(document.activeElement)")
        assert focused
        assert window.evaluate("location.hash") == place


CONTRAST = """(pairs) => {
    const light = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map((it) => it / 255)
            .map((it) => (it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const probe = document.body.appendChild(document.createElement("i"));
    const value = (name) => {
        probe.style.color = `var(--${name})`;
        return light(getComputedStyle(probe).color);
    };
    return pairs.map(([a, b]) => [value(a), value(b)].sort((x, y) => y - x))
        .map(([high, low]) => (high + 0.05) / (low + 0.05));
}"""


def test_text_has_contrast_by_day_and_by_night(index: Page) -> None:
    texts = ("ink", "soft", "accent", "good", "bad", "command")
    pairs = [(text, ground) for text in texts for ground in ("paper", "sheet")]
    index.emulate_media(color_scheme="light")
    by_day = index.evaluate(CONTRAST, pairs)
    index.emulate_media(color_scheme="dark")
    by_night = index.evaluate(CONTRAST, pairs)
    index.emulate_media(color_scheme="null")
    assert by_day != by_night
    for pair, ratio in zip(pairs * 2, by_day + by_night, strict=True):
        assert ratio >= 4.5, pair


def test_the_switch_changes_light_to_dark_and_is_remembered(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#/played/turn/3", color_scheme="light") as page:
        expect(current(page)).to_be_visible()
        ground = "getComputedStyle(document.documentElement).backgroundColor"
        by_day = page.evaluate(ground)
        page.get_by_role("button", name="Dark colours").click()
        by_night = page.evaluate(ground)
        assert by_night != by_day
        page.reload()
        expect(current(page)).to_be_visible()
        assert page.evaluate(ground) == by_night


def test_the_exported_site_works_from_a_plain_file_server(
    browser: Browser, workdir: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    assert main(["export", str(site), "--workdir", str(workdir)]) == 0
    with served_files(tmp_path) as address, opened(browser, f"{address}site/") as page:
        page.get_by_role("link", name="played").click()
        expect(page.locator("#state")).to_have_text("Replay · Ended: Turn limit")
        page.keyboard.press("ArrowLeft")
        expect(current(page)).to_have_attribute("data-turn", "11")
        expect(page.locator(".map .canvas")).to_have_attribute("data-rooms", re.compile("5"))
        page.go_back()
        expect(rows(page)).to_have_count(4)
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    expect(page.get_by_text("the page was opened from disk")).to_be_visible()
    page.close()


MODULES = """performance.getEntriesByType("resource").map((it) => it.name)
    .filter((it) => it.endsWith(".js") && !/(main|theme)[.]js$/.test(it)).sort()"""
ANNOUNCED = "[...document.querySelectorAll('link[rel=modulepreload]')].map((it) => it.href).sort()"


def test_every_module_is_asked_for_before_the_first_one_is_read(
    browser: Browser, address: str
) -> None:
    with opened(browser, "about:blank", forgiven="ERR_FAILED") as page:
        page.route("**/main.js", lambda route: route.abort())
        page.goto(address)
        announced = page.evaluate(ANNOUNCED)
        page.wait_for_function(f"announced => `${{{MODULES}}}` === `${{announced}}`", arg=announced)
        page.unroute("**/main.js")
        page.reload()
        expect(page.get_by_role("heading", name="Episodes")).to_be_visible()
        assert page.evaluate(MODULES) == announced
