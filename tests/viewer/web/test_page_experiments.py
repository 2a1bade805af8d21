"""The page of experiments in a real browser: curves, figures, comparison, search, notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import PATIENCE, beside, needs_chromium, opened, started_browser
from tests.support.viewing import log_of, recorded, write_log
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect.set_options(timeout=PATIENCE)
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


@pytest.fixture(scope="module")
def address(workdir: Path) -> Iterator[str]:
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
    expect(plot).to_have_attribute("data-lines", "0")
