"""What game, model and tools may say is shown, and does nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import beside, current, needs_chromium, opened
from tests.support.viewing import log_of, recorded, write_log
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_chromium
SCRIPT = (
    "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"
    "<svg onload='window.pwned = 1'></svg><a href='javascript:window.pwned = 1'>x</a>"
)
MARKS = (
    "\x1b[31mred\x1b[0m \x07bell \u202eevil\u202c \u200bzero \ud800lone \U000e0041\U000e0042tags"
)
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
HOSTILE = f"{SCRIPT} {MARKS} {HEBREW}"
SHOWN = (
    "<script>window.pwned",
    "<img src=x",
    "red ␇bell ⟨RLO⟩evil⟨PDF⟩",
    "⟨ZWSP⟩zero",
    "\N{REPLACEMENT CHARACTER}lone",
)
END = "the very end"
LARGE = 5_000_000


@pytest.fixture(scope="module")
def page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The first turn of an episode in which everything is hostile."""
    workdir = tmp_path_factory.mktemp("work")
    events = log_of(beside(lambda: recorded(workdir / "source")))
    write_log(workdir / "episodes" / "hostile", [spoilt(event) for event in events])
    with watching(workdir, open_browser=False) as address, opened(browser, address) as page:
        page.get_by_role("link", name="hostile", exact=True).click()
        page.evaluate("location.hash = '#/hostile/turn/1'")
        expect(current(page)).to_have_attribute("data-turn", "1")
        yield page
        assert page.evaluate("window.pwned") is None


def spoilt(event: dict[str, object]) -> dict[str, object]:
    """The event with hostile words wherever somebody else's may stand."""
    if event["event_type"] == "episode_start":
        return {**event, "opening": HOSTILE, "model": HOSTILE, "title": HOSTILE}
    if event["event_type"] == "reflection":
        return {**event, "dropped": [HOSTILE], "triggers": [HOSTILE]}
    if event["event_type"] != "turn":
        return event
    text = json.loads(json.dumps(event["after"]))
    text["room"]["name"] = HOSTILE
    text |= {"inventory": [HOSTILE], "visible": [HOSTILE]}
    result = (f"{HOSTILE}\n" * (LARGE // len(HOSTILE) + 1))[:LARGE] if event["turn"] == 1 else "x"
    tool = {"is_error": True, "duration_ms": 1.5, "result": f"{result}\n{END}"}
    return {
        **event,
        **dict.fromkeys(("response", "thinking", "proposed", "advice", "new_objective"), HOSTILE),
        "after": text,
        "place": text["room"],
        "refused": [{"command": HOSTILE, "thinking": HOSTILE, "reason": HOSTILE}],
        "tools": [{"name": HOSTILE, "arguments": {HOSTILE: HOSTILE}, **tool}],
    }


def test_markup_and_control_characters_are_only_text_in_a_turn(page: Page) -> None:
    turn = page.locator(".turn[data-turn='1']")
    for part in (".answer", ".body > .thinking", ".refusal", ".advice", ".where", ".proposed"):
        for words in SHOWN:
            expect(turn.locator(part).first).to_contain_text(words)
    assert turn.locator("script, img, [onerror], [onload], a[href^=javascript]").count() == 0
    assert page.locator("main svg:not(.icon)").count() == 0


def test_they_are_only_text_in_situation_map_and_heading(page: Page) -> None:
    for part in (".situation h2", ".situation .words", "#heading h1"):
        expect(page.locator(part).first).to_contain_text(SHOWN[0])
    expect(page.locator(".map .canvas")).to_have_attribute(
        "aria-label", re.compile(re.escape(SHOWN[0]))
    )
    assert "\u202e" not in page.locator("body").inner_text()
    assert "\x1b" not in page.locator("body").inner_text()


def test_text_that_runs_to_the_left_cannot_turn_its_surroundings(page: Page) -> None:
    answer = page.locator(".turn[data-turn='1'] .answer")
    expect(answer).to_contain_text(HEBREW)
    isolated = "(it) => getComputedStyle(it.querySelector('bdi')).unicodeBidi"
    assert answer.evaluate(isolated) in ("isolate", "plaintext")


def test_a_tool_result_of_five_megabytes_is_cut_and_can_be_had_whole(page: Page) -> None:
    tool = page.locator(".turn[data-turn='1'] details.tool")
    tool.locator("summary").click()
    result = tool.locator(".result")
    expect(result).to_contain_text(SHOWN[0])
    assert len(result.inner_text()) < 10_000
    result.get_by_role("button", name="Show all").click()
    expect(result.locator("pre.whole .slice").last).to_contain_text(END)
    assert result.locator("pre.whole").evaluate("(it) => it.textContent.length") > LARGE * 0.8
    assert result.locator("pre.whole").evaluate("(it) => it.clientHeight") < 600
    page.keyboard.press("ArrowRight")  # the page still answers
    expect(current(page)).to_have_attribute("data-turn", "2")
