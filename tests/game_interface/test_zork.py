"""Zork I itself, where `ZORK1_STORY` names a copy: real deaths, real darkness, a real victory."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from game_interface import Game
from game_interface.engines.engine import EngineName
from game_interface.errors import GameOverError
from tests.support.games import (
    ENGINES,
    ZORK1,
    ZORK1_SEED,
    needs_jericho,
    needs_zork1,
    started,
    zork1_solution,
    zork1_walkthrough,
)

pytestmark = needs_zork1

TO_THE_ATTIC = ["north", "east", "open window", "west", "up"]
BACK_TO_THE_ATTIC = ["east", "south", "east", "west", "up"]


@pytest.fixture(params=ENGINES)
def game(request: pytest.FixtureRequest) -> Iterator[Game]:
    with started(ZORK1, engine=request.param) as zork:
        yield zork


def die_in_the_dark(game: Game) -> str:
    """Stumble about until a grue comes."""
    for _ in range(100):
        text = game.step("south")
        if game.died_in_last_step:
            return text
    raise AssertionError("no grue came")


def test_the_opening_has_its_first_line(game: Game) -> None:
    assert game.start().startswith("ZORK I: The Great Underground Empire\n")


def test_the_first_room_is_known_in_full(game: Game) -> None:
    facts = game.facts()

    assert (facts.room_name, facts.score, facts.max_score, facts.moves) == (
        "West of House",
        0,
        350,
        0,
    )
    assert {"small mailbox", "white house"} <= {thing.name for thing in facts.visible}
    assert facts.inventory == ()
    ways = {way.direction: way for way in facts.exits}
    assert set(ways) == {"north", "northeast", "east", "south", "southeast", "west"}
    assert (ways["north"].room_name, ways["north"].kind) == ("North of House", "open")
    assert ways["east"].kind == "blocked"
    assert ways["east"].note == game.step("east").strip()


def test_things_in_an_opened_box_are_seen_and_can_be_carried(game: Game) -> None:
    assert "leaflet" not in {thing.name for thing in game.facts().visible}
    game.step("open mailbox")
    assert ("leaflet", "small mailbox") in {(t.name, t.holder) for t in game.facts().visible}
    game.step("take leaflet")
    assert [thing.name for thing in game.facts().inventory or ()] == ["leaflet"]


def test_a_window_is_a_door_that_opens(game: Game) -> None:
    for command in TO_THE_ATTIC[:2]:
        game.step(command)
    assert "kitchen window (closed)" in {way.note for way in game.facts().exits}
    game.step("open window")
    assert "kitchen window (open)" in {way.note for way in game.facts().exits}


def test_dithering_repeats_the_world_and_the_move_counter_does_not_matter(game: Game) -> None:
    before = game.facts()
    for command in ("look", "examine mailbox", "wait", "inventory"):
        game.step(command)
    after = game.facts()

    assert (before.moves, after.moves) == (0, 6)  # waiting takes three
    assert after.world_hash == before.world_hash
    game.step("open mailbox")
    assert game.facts().world_hash != before.world_hash


def test_two_deaths_are_survived_and_the_third_ends_the_game(game: Game) -> None:
    for command in TO_THE_ATTIC:
        game.step(command)
    assert game.facts().dark
    assert game.facts().visible == ()
    for deaths in (1, 2):
        score = game.facts().score or 0
        die_in_the_dark(game)
        facts = game.facts()
        assert (facts.deaths, facts.dead, game.is_over) == (deaths, False, False)
        assert facts.score == score - 10
        assert facts.room_name == "Forest"
        game.step("look")
        assert not game.died_in_last_step
        for command in BACK_TO_THE_ATTIC:
            game.step(command)

    text = die_in_the_dark(game)

    assert text
    assert game.is_over
    assert (game.facts().deaths, game.facts().dead, game.facts().won) == (3, True, False)
    with pytest.raises(GameOverError):
        game.step("look")


def test_the_end_survives_a_snapshot(game: Game) -> None:
    for command in TO_THE_ATTIC:
        game.step(command)
    die_in_the_dark(game)
    snapshot, facts = game.snapshot(), game.facts()
    game.start()
    game.restore(snapshot)

    assert game.died_in_last_step
    assert game.facts() == facts
    assert len(snapshot) < 2048


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "solution", "seed"),
    [
        ("bocfel", zork1_solution, ZORK1_SEED),
        pytest.param("jericho", zork1_walkthrough, 12, marks=needs_jericho),
    ],
)
def test_zork_i_is_won_with_every_point_and_no_death(
    engine: EngineName, solution: Callable[[], Sequence[str]], seed: int
) -> None:
    with started(ZORK1, engine=engine, seed=seed) as game:
        for command in solution():
            game.step(command)
        facts = game.facts()
    assert (facts.score, facts.won, facts.dead, facts.deaths) == (350, True, False, 0)


def test_what_can_be_carried_and_what_can_be_opened_is_known(game: Game) -> None:
    things = {thing.name: thing for thing in game.facts().visible}
    assert (things["small mailbox"].portable, things["small mailbox"].shut) == (False, True)
    game.step("open mailbox")
    things = {thing.name: thing for thing in game.facts().visible}
    assert things["small mailbox"].shut is False
    assert things["leaflet"].portable is True
