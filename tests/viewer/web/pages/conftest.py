"""One browser, and for each module that wants one a page that shows its work folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import beside, current, opened, play_with_tools, started_browser
from viewer.web.watch import watching

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def played_with_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder with an episode in which tools were called."""
    workdir = tmp_path_factory.mktemp("work")
    beside(lambda: play_with_tools(workdir))
    return workdir


@pytest.fixture(scope="module")
def workdir(played_with_tools: Path) -> Path:
    """What the page shows; a module may have its own."""
    return played_with_tools


@pytest.fixture(scope="module")
def address(workdir: Path) -> Iterator[str]:
    with watching(workdir, open_browser=False) as address:
        yield address


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def window(browser: Browser, address: str) -> Iterator[Page]:
    """One page for all tests of a module."""
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
