"""The hash of the world repeats when the player dithers and changes when something happens."""

from itertools import pairwise

import pytest

from game_interface import Game
from game_interface.engines.engine import EngineName
from tests.support.games import BUNDLED_COMMANDS, ENGINES, bundled_solution, started

DITHERING = ("look", "inventory", "wait", "xyzzy", "examine me", "score", "jump", "look under me")
OPPOSITES = {
    "north": "south",
    "south": "north",
    "east": "west",
    "west": "east",
    "up": "down",
    "down": "up",
}


def played(game: Game, commands: list[str]) -> str:
    for command in commands:
        game.step(command)
    return game.facts().world_hash


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_dithering_anywhere_in_the_bundled_story_changes_nothing(engine: EngineName) -> None:
    with started(engine=engine) as game:
        for turn in bundled_solution(engine)[:-1:8]:
            game.restore(turn.snapshot)
            for idle in DITHERING:
                game.step(idle)
                assert game.facts().world_hash == turn.facts.world_hash, (turn.command, idle)


@pytest.mark.slow
def test_walking_to_and_fro_comes_back_to_the_same_world() -> None:
    with started() as game:
        played(game, BUNDLED_COMMANDS[:10])
        there, back = _way_and_return(game)
        first = [played(game, [there]), played(game, [back])]

        assert [played(game, [there]), played(game, [back])] == first
        assert first[0] != first[1]


def _way_and_return(game: Game) -> tuple[str, str]:
    here = game.facts().room_id
    snapshot = game.snapshot()
    for way in game.facts().exits:
        if way.kind == "open" and way.direction in OPPOSITES:
            game.step(way.direction)
            game.step(OPPOSITES[way.direction])
            if game.facts().room_id == here:
                return way.direction, OPPOSITES[way.direction]
            game.restore(snapshot)
    raise AssertionError("no way there and back")


def test_taking_dropping_and_taking_again_repeats() -> None:
    with started() as game:
        carried = game.facts().world_hash
        dropped = played(game, ["drop letter"])

        assert dropped != carried
        assert played(game, ["take letter"]) == carried
        assert played(game, ["drop letter"]) == dropped


def test_every_step_of_the_solution_but_reading_changes_the_world() -> None:
    still = [
        after.command
        for before, after in pairwise(bundled_solution("bocfel"))
        if before.facts.world_hash == after.facts.world_hash
    ]

    assert [c for c in still if c.split()[0] not in ("read", "look", "examine", "wait")] == []


def test_a_door_that_was_opened_is_a_change() -> None:
    with started() as game:
        before = played(game, ["north", "north"])

        assert played(game, ["close front door"]) != before
        assert played(game, ["open front door"]) == before
