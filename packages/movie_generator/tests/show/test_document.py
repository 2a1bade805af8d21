"""The HTML of ``show`` in a browser: sources, keys, and nothing of the page at work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from movie_generator.__main__ import main
from movie_generator.models import (
    Dropped,
    Narration,
    ScriptSection,
    Source,
    SourcePage,
    VideoScript,
)
from movie_generator.show.document import document
from tests.support.browser import needs_chromium, opened, started_browser

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

HOSTILE = "</mark><script>document.title='taken'</script><img src=x onerror=alert(1)>"
FIRST, SECOND = "The bridge is 412 metres long.", "Anna Lind opened it."
TEXT = f"{HOSTILE}\n\n" + "Words. " * 600 + f"{FIRST} {SECOND}\n" + "More words. " * 600

SEEN = (
    "it => { const r = it.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight }"
)


def at(quote: str, text: str = TEXT) -> Source:
    start = text.index(quote)
    return Source(start=start, end=start + len(quote), quote=quote)


def script() -> VideoScript:
    spoken = [
        Narration(text="It is 412 m long.", reading="It is 412 metres long.", source=at(FIRST)),
        Narration(
            text="Lind opened it.", reading="Lind opened it.", source=at(f"{FIRST} {SECOND}")
        ),
        Narration(text=HOSTILE, reading=HOSTILE),
    ]
    image = "https://images.example/a.png"
    return VideoScript(
        title=f"The bridge {HOSTILE}",
        description="What it is",
        sections=[ScriptSection(title="One", narrations=spoken, source_image_url=image)],
        dropped=[Dropped(section="One", text="It cost 9 euros.", reasons=["number “9 euros”"])],
        page=SourcePage(url="javascript:alert(1)", title="Page", text=TEXT),
    )


@pytest.fixture(scope="module")
def opened_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("show")
    script().save(folder / "script.yaml")
    assert main(["show", str(folder / "script.yaml"), "--html", str(folder / "it.html")]) == 0
    with (
        started_browser() as browser,
        opened(browser, (folder / "it.html").as_uri()) as page,
    ):
        yield page


@pytest.fixture
def page(opened_once: Page) -> Page:
    """The page as it is at first."""
    opened_once.set_viewport_size({"width": 1280, "height": 720})
    opened_once.reload()
    return opened_once


def lit(page: Page) -> str:
    return "".join(page.locator("mark.on").all_text_contents())


@needs_chromium
def test_a_source_is_marked_by_key_by_click_and_by_pointer(page: Page) -> None:
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    page.keyboard.press("ArrowDown")
    assert lit(page) == FIRST
    assert page.locator("mark.on").first.evaluate(SEEN)
    page.keyboard.press("ArrowDown")
    assert lit(page) == f"{FIRST} {SECOND}"
    page.locator("mark", has_text=SECOND).click()
    assert page.evaluate("document.activeElement.dataset.number") == "1"
    page.locator(".narration").first.hover()
    assert lit(page) == FIRST
    page.locator(".narration").nth(2).click()
    assert lit(page) == ""
    assert page.locator("aside .text").text_content() == TEXT
    assert asked == []


@needs_chromium
def test_nothing_of_page_or_script_is_more_than_text(page: Page) -> None:
    assert page.title() == f"The bridge {HOSTILE}"
    assert page.locator("img, aside a[href^=javascript]").count() == 0
    assert page.locator("script").count() == 1
    assert HOSTILE in (page.locator(".narration").nth(2).text_content() or "")
    image = page.locator("main a[target=_blank]")
    assert image.get_attribute("href") == "https://images.example/a.png"
    assert "number “9 euros”" in (page.locator(".dropped").text_content() or "")


@needs_chromium
def test_it_fits_a_telephone_in_both_colours(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.keyboard.press("ArrowDown")
    assert page.locator("mark.on").first.is_visible()
    colours = "it => { const s = getComputedStyle(it); return [s.color, s.backgroundColor] }"
    page.emulate_media(color_scheme="light")
    by_day = page.locator("mark.on").first.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    by_night = page.locator("mark.on").first.evaluate(colours)
    assert by_day != by_night
    assert by_day[0] != by_day[1]
    assert by_night[0] != by_night[1]


def test_a_script_without_its_page_is_shown_all_the_same() -> None:
    bare = script().model_copy(update={"page": None})
    assert "does not contain the text of its page" in document(bare)


def test_on_a_terminal_each_narration_has_its_source_below(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script().save(tmp_path / "script.yaml")
    assert main(["show", str(tmp_path / "script.yaml")]) == 0
    shown = capsys.readouterr().out
    assert "•  It is 412 m long.\n   “The bridge is 412 metres long.”" in shown
    assert f"?  {HOSTILE}" in shown
    assert "✗  It cost 9 euros.\n   the page does not have the number “9 euros”" in shown
    assert "3 narrations · 2 with a source on the page · 1 sentence left out" in shown


def test_a_file_that_is_no_script_is_an_error_that_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(tmp_path / "nowhere.yaml")]) == 2
    assert "nowhere.yaml cannot be read" in capsys.readouterr().err
    (tmp_path / "it.yaml").write_text("title: 7")
    assert main(["show", str(tmp_path / "it.yaml")]) == 1
    assert "is not a video script" in capsys.readouterr().err


def test_a_script_is_not_written_over_by_its_html(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "script.yaml"
    script().save(file)
    assert main(["show", str(file), "--html", f"{tmp_path}/../{tmp_path.name}/script.yaml"]) == 2
    assert "is the script itself" in capsys.readouterr().err
    assert VideoScript.load(file) == script()
