"""The page of players that ask no model, in a real browser."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import beside, needs_chromium
from tests.support.viewing import play, recorded

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = needs_chromium
PLAYERS = ("first-exit", "random")
TURNS = 6


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An episode of a model, and one of each of two players that ask none."""
    workdir = tmp_path_factory.mktemp("work")
    beside(lambda: recorded(workdir))
    for player in PLAYERS:
        beside(partial(play, workdir, TURNS, f"by-{player}", player_name=player))
    return workdir


def at(page: Page, place: str) -> Page:
    """The page at another address, opened anew."""
    page.evaluate("location.hash = '#/nowhere/at/all'")
    expect(page.get_by_role("alert")).to_be_visible()
    page.evaluate("place => { location.hash = place }", place)
    return page


def test_a_player_without_a_model_has_its_name_in_the_list_and_is_found_by_it(
    window: Page,
) -> None:
    page = at(window, "#/")
    rows = page.locator("table.episodes tbody tr")
    expect(rows).to_have_count(3)
    models = page.locator('table.episodes td[data-label="Model"]')
    assert {*PLAYERS} < {*models.all_inner_texts()}
    expect(rows.filter(has_text="without")).to_have_count(0)
    for expression, shown in (
        ("player:random", "by-random"),
        ("model:first-exit", "by-first-exit"),
        ("player:model", "played"),
    ):
        page.get_by_label("Filter").fill(expression)
        expect(rows).to_have_count(1)
        expect(rows.locator(".episode-link")).to_have_text(shown)


def test_players_without_a_model_are_compared_by_their_names(window: Page) -> None:
    page = at(window, "#/compare/by-random/by-first-exit")
    row = page.get_by_role("region", name="Figures").get_by_role("row", name="Model")
    expect(row.first.locator("td")).to_have_text(["random", "first-exit"])


def test_the_usage_of_a_player_without_a_model_is_its_time_and_a_sentence(window: Page) -> None:
    page = at(window, f"#/by-random/turn/{TURNS}")
    page.locator(".sides").get_by_role("tab", name="Usage").click()
    usage = page.get_by_role("region", name="Usage")
    expect(usage).to_contain_text("No model was asked, so there are no tokens and no costs.")
    expect(usage.get_by_role("slider")).to_have_count(1)
    time = usage.get_by_role("slider", name="Time by turn")
    expect(time).to_have_attribute("data-bars", str(TURNS))
    usage.get_by_text("As a table").click()
    expect(usage.get_by_role("columnheader")).to_have_text(["Turn", "Time"])
    expect(usage).not_to_contain_text("nknown")
    expect(page.locator(".spent").last).to_have_text(re.compile(r"^[\d.]+\sm?s$"))


def test_players_without_a_model_are_groups_of_their_own_in_experiments(window: Page) -> None:
    page = at(window, "#/all/experiments")
    names = page.locator(".experiments tbody th")
    expect(names).to_have_count(3)
    page.get_by_label("Filter").fill("-player:model")
    expect(names).to_have_text(list(PLAYERS))
    page.get_by_label("By").select_option("Variant")
    expect(names).to_have_text(list(PLAYERS))
    page.get_by_label("By").select_option("Model")
    names.get_by_role("link", name="random").click()
    expect(page.locator("table.episodes tbody tr")).to_have_count(1)
    page.get_by_role("link", name="by-random").click()
    expect(page.locator("#heading")).to_contain_text("random · seed 7")
