"""The map on the page, seen from afar, in a real browser."""

from __future__ import annotations

import re
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
    graph.zoom(0.3).center();
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const boxes = [...document.querySelectorAll(".map-names bdi")]
        .map((it) => it.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right
        && a.top < b.bottom && b.top < a.bottom;
    const { left, top } = graph.container().getBoundingClientRect();
    const levels = graph.nodes("[?sheet]").not(".later").map((it) => {
        const [x, y] = [left + it.renderedPosition("x"), top + it.renderedBoundingBox().y1];
        return { left: x - 20, right: x + 20, top: y + 3, bottom: y + 9 };
    });
    const met = boxes.filter((a, i) => [...levels, ...boxes.slice(i + 1)].some((b) => meet(a, b)));
    return [boxes.length, met.length];
}"""


def test_from_afar_rooms_have_names_that_do_not_overlap(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    named, overlapping = canvas.evaluate(OVERLAP)
    assert named >= 3
    assert overlapping == 0
    expect(replay.locator(".map-names .here")).to_have_count(1)
    canvas.evaluate("({ graph }) => { graph.zoom(1); }")
    expect(replay.locator(".map-names bdi")).to_have_count(0)


SPOT = """({ graph }, name) => {
    const room = graph.nodes().filter((it) => it.data("name") === name);
    const box = graph.container().getBoundingClientRect();
    const { x, y } = room.renderedPosition();
    return [box.left + x, box.top + y, room.position("x"), room.position("y")];
}"""
LABELS = """({ graph }, kind) =>
    graph.elements(kind).not(".later").map((it) => it.data("label"))"""


def test_a_room_stays_where_it_is_dragged_and_the_map_is_saved_with_doors_and_things(
    replay: Page,
) -> None:
    canvas = replay.locator(".map .canvas")
    assert any(it.startswith("■") for it in canvas.evaluate(LABELS, "edge"))
    assert any(it.startswith("Office") for it in canvas.evaluate(LABELS, "[?room]"))
    x, y, left, top = canvas.evaluate(SPOT, "Office")
    replay.mouse.move(x, y)
    replay.mouse.down()
    replay.mouse.move(x - 30, y + 40, steps=3)
    replay.mouse.up()
    moved = canvas.evaluate(SPOT, "Office")[2:]
    assert moved[0] < left
    assert moved[1] > top
    replay.evaluate("location.hash = '#/'")
    expect(canvas).to_have_count(0)
    replay.evaluate("location.hash = '#/played/turn/15'")
    expect(canvas).to_have_attribute("data-room", re.compile(r"\d"))
    assert canvas.evaluate(SPOT, "Office")[2:] == moved
    replay.locator(".map summary", has_text="Save").click()
    for kind, content in (("SVG", b">Office"), ("PNG", b"IHDR")):
        with replay.expect_download() as download:
            replay.get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"map-played.{kind.lower()}"
        assert content in download.value.path().read_bytes()
    replay.evaluate("() => { window.print = () => {}; }")
    replay.get_by_role("button", name="PDF").click()
    replay.emulate_media(media="print")
    expect(replay.locator("svg.printed")).to_be_visible()
    expect(replay.get_by_role("banner")).to_be_hidden()
    replay.emulate_media(media="screen")
    replay.evaluate("dispatchEvent(new Event('afterprint'))")
    replay.get_by_label("Find a room").select_option(label="Office (here)")
    expect(replay.locator(".room-card")).to_contain_text("Seen there: ")
    replay.get_by_role("button", name="Put it back where it was").click()
    assert canvas.evaluate(SPOT, "Office")[2:] == [left, top]


def test_names_fit_their_boxes_and_only_what_was_carried_is_counted(replay: Page) -> None:
    canvas = replay.locator(".map .canvas")
    tight = """({ graph }) => graph.nodes("[?room]").filter((it) =>
        it.boundingBox().w > it.boundingBox({ includeLabels: false }).w).length"""
    assert canvas.evaluate(tight) == 0
    labels = canvas.evaluate(LABELS, "[?room]")
    assert not any(it.startswith("Office ◆") for it in labels), "the desk is scenery"
    replay.keyboard.press("ArrowLeft")
    expect(replay.get_by_label("Turn", exact=True)).to_have_value("14")
    assert "Office ◆1" in canvas.evaluate(LABELS, "[?room]"), "the card in its drawer is not"
