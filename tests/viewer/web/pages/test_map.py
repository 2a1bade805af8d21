"""The map on the page, seen from afar, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.support.browser import needs_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = needs_chromium
THINNEST = """({ graph }, zoom) => {
    graph.zoom(zoom);
    const shown = graph.elements().not(".later");
    const width = (it) => parseFloat(it.renderedStyle(it.isNode() ? "border-width" : "width"));
    return Math.min(...shown.map(width));
}"""


def test_borders_and_lines_are_seen_however_small_the_map_is(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    assert canvas.evaluate(THINNEST, 0.08) > 0.6
    assert canvas.evaluate(THINNEST, 0.3) > 0.6
    assert canvas.evaluate(THINNEST, 1) == 1, "as wide as ever where names can be read"


OVERLAP = """async ({ graph }) => {
    graph.zoom(0.3);
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const boxes = [...document.querySelectorAll(".map-names bdi")]
        .map((it) => it.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right
        && a.top < b.bottom && b.top < a.bottom;
    const met = boxes.filter((a, i) => boxes.slice(i + 1).some((b) => meet(a, b)));
    return [boxes.length, met.length];
}"""


def test_from_afar_rooms_have_names_that_do_not_overlap(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    named, overlapping = canvas.evaluate(OVERLAP)
    assert named >= 3
    assert overlapping == 0
    expect(replay.locator(".map-names .here")).to_have_count(1)
    canvas.evaluate("({ graph }) => graph.zoom(1)")
    expect(replay.locator(".map-names bdi")).to_have_count(0)
