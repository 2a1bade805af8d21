"""The page of an episode in a real browser: replay, tools, map, score, looks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support import ROOT
from tests.support.browser import (
    PATIENCE,
    beside,
    current,
    needs_chromium,
    opened,
    play_with_tools,
    started_browser,
)
from tests.support.viewing import log_of, recorded, write_log
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.viewing import Event

TURNS = 18
VENDOR = ROOT / "viewer" / "static" / "vendor"
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workdir = tmp_path_factory.mktemp("work")
    beside(lambda: play_with_tools(workdir, TURNS))
    with watching(workdir, open_browser=False) as address:
        yield address


@pytest.fixture(scope="module")
def browser(address: str) -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def window(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as page:
        yield page


@pytest.fixture
def replay(window: Page) -> Page:
    """The page at turn 15, opened anew."""
    window.evaluate("location.hash = '#/'")
    expect(window.get_by_role("heading", name="Episodes")).to_be_visible()
    window.evaluate("location.hash = '#/played/turn/15'")
    expect(current(window)).to_have_attribute("data-turn", "15")
    return window


def shows(page: Page, turn: int) -> None:
    """Every part of the page is at ``turn``."""
    expect(current(page)).to_have_attribute("data-turn", str(turn))
    expect(page.locator("output.place")).to_have_text(f"{turn} / {TURNS}")
    expect(page.get_by_label("Turn", exact=True)).to_have_value(str(turn))


@needs_chromium
def test_an_address_shows_its_turn_everywhere(replay: Page) -> None:
    shows(replay, 15)
    turn = replay.locator('.turn[data-turn="15"]')
    expect(turn).to_be_in_viewport()
    expect(turn.locator(".command .typed")).to_have_text("take recipe card")
    expect(turn.locator(".thinking")).to_contain_text("Line 15 says so.")
    expect(turn.locator(".delta")).to_have_text("+5")
    expect(replay.locator(".situation h2")).to_have_text("Office")
    expect(replay.locator('[data-fact="score"] dd')).to_have_text("10 / 100")
    expect(replay.locator("[data-truth]")).to_have_text(
        "As the game’s memory has it; the player was told what the level “facts” allows."  # noqa: RUF001
    )
    expect(replay.locator(".situation .words").last).to_contain_text("recipe card")
    expect(replay.locator(".caption")).to_contain_text("Turn 15 · score 10")


@needs_chromium
def test_keys_lead_through_the_episode_and_the_address_follows(replay: Page) -> None:
    for key, turn in (("ArrowRight", 16), ("ArrowRight", 17), ("ArrowLeft", 16), ("Home", 0)):
        replay.keyboard.press(key)
        shows(replay, turn)
        assert replay.evaluate("location.hash") == f"#/played/turn/{turn}"
    replay.keyboard.press("End")
    shows(replay, TURNS)
    assert replay.evaluate("location.hash") == "#/played"


@needs_chromium
def test_the_slider_and_its_own_keys_choose_a_turn(replay: Page) -> None:
    slider = replay.get_by_label("Turn", exact=True)
    slider.fill("7")
    shows(replay, 7)
    slider.press("ArrowRight")
    shows(replay, 8)
    expect(slider).to_have_attribute("aria-valuetext", f"Turn 8 of {TURNS}")


@needs_chromium
def test_another_turn_leaves_the_focus_in_the_situation(replay: Page) -> None:
    summary = replay.locator(".situation summary", has_text="Ways out")
    summary.focus()
    replay.keyboard.press("ArrowLeft")
    expect(replay.locator('[data-fact="moves"] dd')).to_have_text("14")
    expect(summary).to_be_focused()


@needs_chromium
def test_why_there_was_no_answer_is_said_once(browser: Browser, tmp_path: Path) -> None:
    why = "No server can be reached."
    failed = {"failure": why, "thinking": f"No usable answer: {why}"}
    events = log_of(beside(lambda: recorded(tmp_path / "source")))
    changed = [{**it, **failed} if it["event_type"] == "turn" else it for it in events]
    write_log(tmp_path / "work" / "episodes" / "failed", changed)
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, f"{address}#/failed/turn/3") as page,
    ):
        expect(current(page).get_by_text(why)).to_have_count(1)


@needs_chromium
def test_playing_goes_on_to_the_end_and_stops_there(replay: Page) -> None:
    replay.get_by_label("Speed").select_option("Fast")
    replay.get_by_label("Turn", exact=True).fill(str(TURNS - 3))
    replay.get_by_role("button", name="Play", exact=True).click()
    expect(replay.get_by_role("button", name="Pause")).to_be_visible()
    shows(replay, TURNS)
    expect(replay.get_by_role("button", name="Play", exact=True)).to_be_visible()


@needs_chromium
def test_the_space_bar_plays_and_pauses(replay: Page) -> None:
    replay.keyboard.press("Space")
    expect(replay.get_by_role("button", name="Pause")).to_be_visible()
    replay.keyboard.press("Space")
    expect(replay.get_by_role("button", name="Play", exact=True)).to_be_visible()


@needs_chromium
def test_a_tool_call_unfolds_to_arguments_and_result(replay: Page) -> None:
    tool = replay.locator('.turn[data-turn="16"] details.tool')
    expect(tool.locator("summary")).to_contain_text("thoughtbox.think")
    expect(tool.locator("pre").first).to_be_hidden()
    tool.locator("summary").click()
    expect(tool.locator("pre").first).to_contain_text("Line 16 deserves a thought.")
    expect(tool.locator(".result")).to_contain_text("thoughtNumber")


@needs_chromium
def test_a_reflection_stands_after_its_turn_with_what_was_learned(replay: Page) -> None:
    reflection = replay.locator("[data-reflection='1']")
    expect(reflection).to_contain_text("Reflection 1")
    expect(reflection.locator("li").first).to_contain_text("Memory")


@needs_chromium
def test_the_map_shows_the_present_room_and_what_was_known_by_then(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    expect(canvas).to_have_attribute("aria-label", re.compile("current room: Office$"))
    expect(canvas).to_have_attribute("data-rooms", "7")
    replay.keyboard.press("Home")
    expect(canvas).to_have_attribute("data-rooms", "1")
    expect(canvas).to_have_attribute("aria-label", re.compile("current room: Landing Stage$"))


@needs_chromium
def test_a_click_on_a_room_tells_of_it_and_leads_to_its_first_visit(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    name = 'graph.nodes().filter((it) => it.data("name") === "Courtyard")'
    spot = canvas.evaluate(f"({{ graph }}) => {name}.renderedPosition()")
    canvas.click(position=spot)
    card = replay.locator(".room-card")
    expect(card).to_contain_text("Courtyard")
    expect(card).to_contain_text("Kitchen Garden")
    card.get_by_role("link", name="turn 3").click()
    shows(replay, 3)


@needs_chromium
def test_a_room_tells_of_the_ways_that_were_tried_in_vain(browser: Browser, tmp_path: Path) -> None:
    events = log_of(beside(lambda: recorded(tmp_path / "source")))
    tried = {"command": "west", "response": "The sea is that way."}
    changed = [{**it, **tried} if is_turn(it, 1) else it for it in events]
    write_log(tmp_path / "work" / "episodes" / "tried", changed)
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, f"{address}#/tried") as page,
    ):
        page.get_by_text("Rooms as a list").click()
        page.get_by_role("button", name="Landing Stage").click()
        expect(page.locator(".room-card")).to_contain_text("west The sea is that way.")


def is_turn(event: Event, number: int) -> bool:
    return (event["event_type"], event["turn"]) == ("turn", number)


@needs_chromium
def test_the_map_zooms_and_fits_and_is_there_as_a_list(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    before = canvas.evaluate("({ graph }) => graph.zoom()")
    replay.get_by_role("button", name="Zoom in").click()
    assert canvas.evaluate("({ graph }) => graph.zoom()") > before
    replay.get_by_role("button", name="Show the whole map").click()
    box = canvas.evaluate("({ graph }) => graph.nodes().not('.later').renderedBoundingBox()")
    assert box["x1"] >= 0
    assert box["y1"] >= 0
    replay.get_by_text("Rooms as a list").click()
    replay.get_by_role("button", name="Landing Stage").click()
    expect(replay.locator(".room-card")).to_contain_text("Landing Stage")


SELECTED = "({ graph }) => graph.nodes(':selected').map((it) => it.data('name')).join()"
SHOWN = "({ graph }, kind) => graph.elements(`[?${kind}]`).not('.later').map((it) => it.id())"
TRAIL = "({ graph }) => graph.edges('.trail').length"
CONTRAST = """({ graph }) => graph.nodes('[?room]').every((it) =>
    it.style('background-color') !== it.style('color'))"""


@needs_chromium
def test_the_map_finds_rooms_takes_keys_and_tells_the_walk(replay: Page) -> None:
    canvas, search = replay.locator(".map .canvas"), replay.get_by_label("Find a room")
    found = replay.locator(".room-search output")
    search.fill("landing")
    expect(found).to_have_text("1 of 1")
    assert canvas.evaluate(SELECTED) == "Landing Stage"
    spot = canvas.evaluate("({ graph }) => graph.nodes(':selected').renderedPosition()")
    box = canvas.bounding_box()
    assert box
    assert abs(spot["x"] - box["width"] / 2) < 2
    assert abs(spot["y"] - box["height"] / 2) < 2
    search.fill("xyzzy")
    expect(found).to_have_text("no match")

    canvas.focus()
    replay.keyboard.press("Home")
    assert canvas.evaluate(SELECTED) == "Office"
    seen = {"Office"}
    for key in ("ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight") * 3:
        replay.keyboard.press(key)
        seen.add(canvas.evaluate(SELECTED))
    assert len(seen) >= 3
    shows(replay, 15)  # the replay stood still
    replay.keyboard.press("Enter")
    expect(replay.locator(".room-card")).to_be_visible()
    replay.keyboard.press("Escape")
    expect(replay.locator(".room-card")).to_be_hidden()

    replay.keyboard.press("End")
    shows(replay, TURNS)
    latest = canvas.evaluate(TRAIL)
    replay.get_by_role("button", name="Show the whole walk").click()
    assert canvas.evaluate(TRAIL) > latest
    replay.get_by_role("button", name="Full screen").click()
    expect(replay.locator(".transcript")).to_be_hidden()
    expect(replay.get_by_label("Turn", exact=True)).to_be_visible()
    replay.get_by_role("button", name="Full screen").click()
    expect(replay.locator(".transcript")).to_be_visible()
    replay.get_by_role("button", name="Show the whole walk").click()

    stubs = set(canvas.evaluate(SHOWN, "stub"))
    replay.get_by_label("Turn", exact=True).fill("0")
    shows(replay, 0)
    first = set(canvas.evaluate(SHOWN, "stub"))
    assert first - stubs, "what was walked since is no stub any longer"
    assert stubs - first, "nothing of the future is shown"
    search.fill("office")
    expect(found).to_have_text("no match")
    search.fill("")

    replay.emulate_media(forced_colors="active")
    expect(canvas).to_have_css("forced-color-adjust", "auto")
    assert canvas.evaluate(CONTRAST)
    replay.emulate_media(forced_colors="none")
    sizes = replay.locator(".map button:visible, .map summary:visible, .map input").evaluate_all(
        "all => all.map((it) => it.getBoundingClientRect()).map((it) => [it.width, it.height])"
    )
    assert len(sizes) >= 8
    assert all(min(size) >= 24 for size in sizes), sizes


@needs_chromium
def test_a_click_on_the_score_line_goes_to_that_turn(replay: Page) -> None:
    over = replay.locator(".score .u-over")
    box = over.bounding_box()
    assert box
    over.click(position={"x": box["width"] - 1, "y": box["height"] / 2})
    shows(replay, TURNS)


@needs_chromium
def test_the_help_lists_the_keys_and_closes(replay: Page) -> None:
    replay.keyboard.press("?")
    dialog = replay.get_by_role("dialog", name="Keys")
    expect(dialog).to_contain_text("play or pause")
    replay.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


@needs_chromium
def test_the_prompt_of_a_turn_shows_what_was_sent_and_what_came_back(replay: Page) -> None:
    replay.get_by_role("navigation", name="Beside the story").get_by_text("Prompt").click()
    prompt = replay.get_by_role("region", name="Prompt")
    call = prompt.get_by_role("region", name="Agent, call 1")
    expect(call).to_contain_text("served by scripted_model.py")
    expect(call).to_contain_text("ended by stop")
    expect(call.locator("mark", has_text="Turn 15 of at most")).to_have_count(1)
    expect(call.locator("pre.raw")).to_contain_text('"action": "take recipe card"')
    head = call.locator("details", has_text="You are playing a text adventure").last
    expect(head).not_to_have_attribute("open", "")
    prompt.get_by_label("Only lines that are new since the previous call").check()
    expect(call.locator("details", has_text="You are playing a text adventure")).to_have_count(0)
    expect(call.locator("mark", has_text="Turn 15 of at most")).to_have_count(1)
    prompt.get_by_label("Only lines that are new since the previous call").uncheck()
    replay.keyboard.press("ArrowRight")
    expect(call.locator("mark", has_text="Turn 16 of at most")).to_have_count(1)
    with_tools = 4 * 4
    replay.evaluate(f"location.hash = '#/played/turn/{with_tools}'")
    expect(prompt.get_by_role("heading", name="Agent")).to_have_count(2)
    expect(prompt).to_contain_text("thoughtbox.think")
    replay.evaluate("location.hash = '#/played/turn/0'")
    expect(prompt).to_contain_text("No model is asked before the first turn.")
    replay.get_by_role("navigation", name="Beside the story").get_by_text("Situation").click()
    expect(prompt).to_be_hidden()


@needs_chromium
def test_a_missing_episode_and_a_wrong_address_say_so(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#/nowhere", forgiven="404") as page:
        expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
        page.evaluate("location.hash = '#/played/turn/x'")
        expect(page.get_by_role("alert")).to_contain_text("no such page")
        page.get_by_role("link", name="All episodes", exact=True).click()
        expect(page.get_by_role("heading", name="Episodes")).to_be_visible()


def test_vendored_files_are_those_that_were_noted() -> None:
    noted = dict(re.findall(r"^\| `(\S+)` \|.*\| `([0-9a-f]{64})` \|$", read("VENDORED.md"), re.M))
    there = {path.name for path in VENDOR.iterdir()} - {"VENDORED.md"}
    assert set(noted) == there
    for name, digest in noted.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def read(name: str) -> str:
    return (VENDOR / name).read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_elsewhere() -> None:
    static = Path(ROOT / "viewer" / "static")
    ours = [
        *(p for p in static.rglob("*.js") if "vendor" not in p.parts),
        *static.glob("css/*.css"),
        *ROOT.glob("viewer/templates/*"),
    ]
    assert len(ours) > 15
    for path in ours:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|innerHTML|\beval\(|style=", text), path
