"""The map on the page, seen from afar, in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
