"""The page of an episode in a real browser: replay, tools, map, score, looks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.browser import TURNS_WITH_TOOLS, beside, current, needs_chromium, opened
from tests.support.viewing import log_of, recorded, write_log
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

    from tests.support.viewing import Event

TURNS = TURNS_WITH_TOOLS


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
        "From the game’s memory. The player sees only level “facts”."  # noqa: RUF001
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
    summary = replay.locator(".situation summary", has_text="Exits")
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
def test_what_stopped_an_episode_stands_on_top_and_where_the_turn_would_be(
    browser: Browser, tmp_path: Path
) -> None:
    *events, end = log_of(beside(lambda: recorded(tmp_path / "source")))
    failed = {"event_type": "turn_failed", "turn": 13, "failure": "No key.", "seconds": 1}
    stopped = [*events, failed, failed, {**end, "reason": "llm_unavailable"}]
    write_log(tmp_path / "work" / "episodes" / "failed", stopped)
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, f"{address}#/failed") as page,
    ):
        expect(current(page).locator(".went-wrong")).to_have_text(
            "Turn 13 was not played, at 2 tries. No key."
        )
        why = page.locator(".stopped-by")
        expect(why).to_contain_text("The episode stopped. Turn 13 was not played: No key.")
        expect(why.locator("code")).to_contain_text("main.py --resume")
        page.get_by_role("tab", name="Settings").click()
        settings = page.get_by_role("region", name="Settings")
        expect(settings.get_by_role("row", name="max_turns_per_episode 12 500")).to_be_visible()
        settings.get_by_text("First line of the log").click()
        expect(settings.locator(".whole")).to_contain_text('"event_type": "episode_start"')


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
        page.get_by_label("Find a room").select_option(label="Landing Stage")
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
    replay.get_by_label("Find a room").select_option(label="Landing Stage")
    expect(replay.locator(".room-card")).to_contain_text("Landing Stage")


SELECTED = "({ graph }) => graph.nodes(':selected').map((it) => it.data('name')).join()"
SHOWN = "({ graph }, kind) => graph.elements(`[?${kind}]`).not('.later').map((it) => it.id())"
TRAIL = "({ graph }) => graph.edges('.trail').length"
CONTRAST = """({ graph }) => graph.nodes('[?room]').every((it) =>
    it.style('background-color') !== it.style('color'))"""


@needs_chromium
def test_the_map_finds_rooms_takes_keys_and_tells_the_walk(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    replay.get_by_label("Find a room").select_option(label="Landing Stage")
    assert canvas.evaluate(SELECTED) == "Landing Stage"
    spot = canvas.evaluate("({ graph }) => graph.nodes(':selected').renderedPosition()")
    box = canvas.bounding_box()
    assert box
    assert abs(spot["x"] - box["width"] / 2) < 2
    assert abs(spot["y"] - box["height"] / 2) < 2
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
    replay.get_by_role("button", name="Fill the screen with the map").click()
    expect(replay.locator(".transcript")).to_be_hidden()
    expect(replay.get_by_label("Turn", exact=True)).to_be_visible()
    replay.keyboard.press("Escape")
    expect(replay.locator(".transcript")).to_be_visible()
    replay.get_by_role("button", name="Show the whole walk").click()

    stubs = set(canvas.evaluate(SHOWN, "stub"))
    replay.get_by_label("Turn", exact=True).fill("0")
    shows(replay, 0)
    first = set(canvas.evaluate(SHOWN, "stub"))
    assert first - stubs, "what was walked since is no longer a stub"
    assert stubs - first, "nothing of the future is shown"
    rooms = replay.get_by_label("Find a room").locator("option")
    expect(rooms.filter(has_text="Landing Stage")).to_have_count(1)
    expect(rooms.filter(has_text="Office")).to_have_count(0)

    replay.emulate_media(forced_colors="active")
    expect(canvas).to_have_css("forced-color-adjust", "auto")
    assert canvas.evaluate(CONTRAST)
    replay.emulate_media(forced_colors="none")
    sizes = replay.locator(".map button:visible, .map summary:visible, .map select").evaluate_all(
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
    replay.get_by_role("tablist", name="Beside the story").get_by_text("Prompt").click()
    prompt = replay.get_by_role("region", name="Prompt")
    call = prompt.get_by_role("region", name="Agent, call 1")
    expect(call.locator("dl")).to_contain_text("Served byscripted_model.py")
    expect(call.locator("dl")).to_contain_text("Finish reasonthe reply is complete")
    expect(call.locator("dl")).to_contain_text("Endpointthis machine (http://127.0.0.1:")
    expect(call.locator("dl")).to_contain_text("Max tokens")
    assert "openai" not in call.locator("dl").inner_text()
    expect(call.locator("mark", has_text="Turn 15 of at most")).to_have_count(1)
    expect(call.locator("pre.raw")).to_contain_text('"action": "take recipe card"')
    head = call.locator("details", has_text="You are playing a text adventure").last
    expect(head).not_to_have_attribute("open", "")
    prompt.get_by_label("Search this prompt").fill("playing a text adventure")
    replay.keyboard.press("Enter")
    expect(head.locator("pre")).to_be_in_viewport()
    assert replay.evaluate("CSS.highlights.get('found-in-prompt').size") == 1
    prompt.get_by_label("Search this prompt").fill("")
    prompt.get_by_label("Only new lines").check()
    expect(call.locator("details", has_text="You are playing a text adventure")).to_have_count(0)
    expect(call.locator("mark", has_text="Turn 15 of at most")).to_have_count(1)
    prompt.get_by_label("Only new lines").uncheck()
    replay.keyboard.press("ArrowRight")
    expect(call.locator("mark", has_text="Turn 16 of at most")).to_have_count(1)
    alone = replay.get_by_role("button", name="Fill the screen with this pane")
    alone.click()
    assert replay.evaluate("location.hash") == "#/played/turn/16/prompt"
    expect(replay.locator(".transcript")).to_be_hidden()
    prompt.get_by_label("Compared with turn").fill("16")
    replay.keyboard.press("Enter")
    expect(call.locator("mark")).to_have_count(0)
    prompt.get_by_label("Compared with turn").fill("15")
    replay.keyboard.press("Enter")
    expect(call.locator("del")).to_contain_text("Turn 15 of at most")
    prompt.get_by_label("Compared with turn").fill("")
    prompt.get_by_label("of", exact=True).fill("played")
    replay.keyboard.press("Enter")
    expect(call.locator("mark")).to_have_count(0)
    prompt.get_by_label("of", exact=True).fill("")
    replay.keyboard.press("Enter")
    alone.click()
    expect(replay.locator(".transcript")).to_be_visible()
    assert replay.evaluate("location.hash") == "#/played/turn/16"
    with_tools = 4 * 4
    replay.evaluate(f"location.hash = '#/played/turn/{with_tools}'")
    expect(prompt.get_by_role("heading", name="Agent")).to_have_count(2)
    expect(prompt).to_contain_text("thoughtbox.think")
    replay.evaluate("location.hash = '#/played/turn/0'")
    expect(prompt).to_contain_text("No model is asked before the first turn.")
    replay.get_by_role("tablist", name="Beside the story").get_by_text("Situation").click()
    expect(prompt).to_be_hidden()


def usage_of(page: Page, figure: str) -> Locator:
    """The chart of a figure, once the tab that has it is open."""
    tabs = page.locator(".tabs:visible").get_by_role("tab", name="Usage")
    tabs.click()
    return page.locator(".usage").get_by_role("slider", name=f"{figure} by turn")


@needs_chromium
def test_what_each_turn_took_is_drawn_until_the_turn_shown_and_keys_and_clicks_choose_one(
    replay: Page,
) -> None:
    tokens = usage_of(replay, "Tokens")
    expect(tokens).to_have_attribute("data-bars", "15")
    expect(tokens).to_have_attribute("aria-valuetext", re.compile(r"^Turn 15: [\d,]+ \("))
    tokens.focus()
    for key, turn in (("ArrowLeft", 14), ("ArrowDown", 13), ("PageUp", TURNS), ("Home", 0)):
        replay.keyboard.press(key)
        shows(replay, turn)
        expect(tokens).to_have_attribute("data-bars", str(turn))
        expect(tokens).to_have_attribute("aria-valuenow", str(turn))
        expect(tokens).to_be_focused()
    over = tokens.locator(".u-over")
    box = over.bounding_box()
    assert box
    over.click(position={"x": box["width"] * 10 / (TURNS + 1), "y": box["height"] / 2})
    shows(replay, 10)
    usage = replay.get_by_role("region", name="Usage")
    usage.get_by_text("As a table").click()
    expect(usage.locator("tbody tr")).to_have_count(10)
    steps = usage.locator(".waterfall li")
    expect(steps.first).to_contain_text("Start of thoughtbox")
    expect(steps.last).to_contain_text(re.compile(r"^Game\d+ ms$"))
    usage.get_by_role("region", name="Time", exact=True).get_by_role("link").click()
    expect(usage.locator("tbody tr[aria-current]")).to_have_count(1)
    assert replay.evaluate("location.hash").startswith("#/played/turn/")
    replay.locator(".sides").get_by_role("tab", name="Situation").click()
    expect(usage).to_be_hidden()


INKED = """({ firstElementChild: plot }) => {
    const canvas = plot.querySelector("canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size > 2;
}"""


@needs_chromium
def test_unknown_costs_are_gaps_that_are_said_on_a_telephone_and_in_high_contrast(
    browser: Browser, tmp_path: Path
) -> None:
    events = log_of(beside(lambda: recorded(tmp_path / "source")))
    for event in events:
        if event["event_type"] == "turn":
            event["usage"]["cost"] = 0 if event["turn"] in (3, 4, 9) else 0.01 * event["turn"]
        if event["event_type"] == "reflection":
            event["usage"] = {}
    write_log(tmp_path / "work" / "episodes" / "gaps", events)
    phone = {"viewport": {"width": 390, "height": 844}, "forced_colors": "active"}
    with (
        watching(tmp_path / "work", open_browser=False) as address,
        opened(browser, f"{address}#/gaps/turn/5", **phone) as page,
    ):
        cost = usage_of(page, "Cost")
        expect(cost).to_have_attribute("data-bars", "3")
        expect(cost).to_have_attribute("data-unknown", "2")
        said = page.get_by_role("region", name="Cost").locator(".sum")
        expect(said).to_contain_text("$0.08 so far; median $0.02, peak $0.05 in turn 5")
        expect(said).to_contain_text("unknown in 2 turns (dotted), which are not counted")
        assert cost.evaluate(INKED)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.locator(".usage").focus()  # on the tabs, arrows go from tab to tab
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_role("region", name="Cost")).to_contain_text("Turn 4: unknown")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(said).to_contain_text("$0.14 so far; median $0.04, peak $0.06")  # of 1, 2, 5 and 6
        page.keyboard.press("End")
        between = page.locator(".usage").get_by_text(re.compile("^Not in these charts: "))
        expect(between).to_contain_text(re.compile("with unknown tokens, unknown cost, "))


@needs_chromium
def test_times_are_rounded_before_minutes_are_told_from_seconds(window: Page) -> None:
    said = "import('./static/format.js').then(it => [0.25, 0.9999, 59.96, 119.7].map(it.duration))"
    assert window.evaluate(said) == ["250 ms", "1.0 s", "1 min 0 s", "2 min 0 s"]


@needs_chromium
def test_a_missing_episode_and_a_wrong_address_say_so(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}#/nowhere", forgiven="404") as page:
        alert = page.locator("#main [role=alert]")
        expect(alert).to_contain_text("There is no episode “nowhere” here.")
        expect(alert).to_contain_text("try again by itself")
        page.evaluate("location.hash = '#/played/turn/x'")
        expect(alert).to_contain_text("no such page")
        page.get_by_role("link", name="All episodes", exact=True).click()
        expect(page.get_by_role("heading", name="Episodes")).to_be_visible()


@needs_chromium
def test_the_transcript_is_one_stop_and_its_turns_are_gone_through_by_page(replay: Page) -> None:
    stops = ".transcript :is(a, button, summary, [tabindex]):not([tabindex='-1'])"
    outside = "all => all.filter((it) => !it.closest('[aria-current]')).length"
    assert replay.locator(stops).evaluate_all(outside) == 0
    replay.locator(".transcript").focus()
    expect(current(replay)).to_be_focused()
    replay.keyboard.press("PageDown")
    expect(current(replay)).to_have_attribute("data-turn", "16")
    expect(current(replay)).to_be_focused()
    whole = replay.locator(".transcript").evaluate("it => it.scrollHeight")
    replay.keyboard.press("c")
    expect(replay.get_by_role("button", name="One line per turn")).to_have_attribute(
        "aria-pressed", "true"
    )
    assert replay.locator(".transcript").evaluate("it => it.scrollHeight") < whole
    replay.keyboard.press("c")
    replay.get_by_role("link", name="Skip to the situation").focus()
    replay.keyboard.press("Enter")
    expect(replay.locator(".situation")).to_be_focused()
    tabs = replay.locator(".sides").get_by_role("tab")
    tabs.first.focus()
    replay.keyboard.press("ArrowRight")
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    tabs.first.click()


@needs_chromium
def test_panes_move_close_and_fill_the_screen_and_the_browser_remembers_it(
    browser: Browser, address: str
) -> None:
    with opened(browser, f"{address}#/played/turn/6") as page:
        expect(current(page)).to_be_visible()
        width = "it => it.getBoundingClientRect().width"
        story, side = page.locator(".story"), page.locator(".side")
        border = page.get_by_role("separator", name="Width of the story")
        before = story.evaluate(width)
        box = border.bounding_box()
        assert box is not None
        page.mouse.move(box["x"], 300)
        page.mouse.down()
        page.mouse.move(box["x"] + 100, 320)
        page.mouse.up()
        assert before + 88 < story.evaluate(width) < before + 112
        page.keyboard.press("ArrowLeft")
        assert story.evaluate(width) < before + 100
        shows(page, 6)  # the arrow was the border's
        panes = page.get_by_role("group", name="Panes")
        panes.get_by_role("button", name="Side").click()
        panes.get_by_role("button", name="Map").click()
        assert story.evaluate(width) == 1280
        expect(panes.get_by_role("button", name="Story")).to_be_disabled()
        page.reload()
        expect(current(page)).to_be_visible()
        expect(side).to_be_hidden()
        panes.get_by_role("button", name="Side").click()
        expect(side).to_be_visible()
        page.get_by_role("button", name="Fill the screen with this pane").click()
        expect(story).to_be_hidden()
        expect(page.get_by_role("link", name="Episodes", exact=True)).to_be_hidden()
        assert side.evaluate(width) == 1280
        page.keyboard.press("Escape")
        expect(story).to_be_visible()
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.locator(".transcript").evaluate("it => it.clientHeight") > 560
        page.get_by_role("button", name="Fill the screen", exact=True).click()
        assert page.locator(".transcript").evaluate("it => it.clientHeight") > 740
