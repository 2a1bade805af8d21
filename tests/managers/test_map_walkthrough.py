"""The map that is learned from real games: every way can be walked again, none is invented."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from managers.map.world_map import WorldMap
from orchestration.turn import observation_of
from session.game_state import Place, TurnRecord
from tests.support.games import (
    BUNDLED_COMMANDS,
    ZORK1,
    ZORK1_SEED,
    needs_zork1,
    started,
    zork1_solution,
)
from tests.support.mind.maps import blocked, route

if TYPE_CHECKING:
    from game_interface import Game

STORIES = ["bundled", pytest.param(ZORK1, id="zork1", marks=needs_zork1)]

pytestmark = pytest.mark.slow


@dataclass
class Journey:
    """A solution played to its end, and what the map made of it."""

    game: Game
    map: WorldMap = field(default_factory=WorldMap)
    turns: list[TurnRecord] = field(default_factory=list)
    before: dict[int, bytes] = field(default_factory=dict)
    """The game before each turn."""

    def play(self, commands: Iterable[str]) -> None:
        now = observation_of(self.game.facts())
        self.map.begin(now)
        for turn, command in enumerate(commands, start=1):
            if self.game.is_over:
                return
            self.before[turn] = self.game.snapshot()
            self.turns.append(self.step(turn, command, now.room))
            self.map.apply(self.turns[-1])
            now = self.turns[-1].after

    def step(self, turn: int, command: str, room: Place | None) -> TurnRecord:
        response = self.game.step(command)
        return TurnRecord(
            turn=turn,
            place=room,
            command=command,
            proposed=command,
            thinking="",
            response=response,
            after=observation_of(self.game.facts()),
            died=self.game.died_in_last_step,
            over=self.game.is_over,
            seconds=0.0,
            snapshot="",
        )

    def again(self, turn: int, command: str) -> TurnRecord:
        """What comes of a command given instead of that turn's."""
        self.game.restore(self.before[turn])
        return self.step(turn, command, self.turns[turn - 1].place)


def solution(story: str) -> Sequence[str]:
    return BUNDLED_COMMANDS if story == "bundled" else zork1_solution()


@cache
def journey(story: str) -> Journey:
    """Played once for all tests of a run."""
    played = Journey(started(story, seed=ZORK1_SEED))
    played.play(solution(story))
    assert played.game.facts().won
    return played


@pytest.mark.parametrize("story", STORIES)
def test_every_way_on_the_map_can_be_walked_again(story: str) -> None:
    played = journey(story)
    ways = list(played.map.ways.all())
    assert len(ways) > 20
    for way in ways:
        after = played.again(way.turn, way.command).after
        assert after.room_id == way.to, (way.room_id, way.command)


@pytest.mark.soak
@pytest.mark.parametrize("story", STORIES)
def test_what_was_found_by_wandering_about_comes_out_the_same_again(story: str) -> None:
    dice, directions = random.Random(7), ["n", "go se", "s", "W", "walk up", "d", "in", "g", "wait"]
    commands = [*solution(story)[:40], *dice.choices(directions, k=60)]
    wandered = Journey(started(story, seed=3))
    wandered.play(commands)
    ways = list(wandered.map.ways.all())
    assert {way.is_blocked for way in ways} == {True, False}
    for way in ways:
        after = wandered.again(way.turn, way.command).after
        assert after.room_id == (way.room_id if way.is_blocked else way.to), way


@pytest.mark.parametrize("story", STORIES)
def test_every_change_of_room_is_on_the_map_and_no_way_that_was_not_walked(story: str) -> None:
    played = journey(story)
    walked = {
        (turn.place_id, turn.after.room_id)
        for turn in played.turns
        if turn.place_id != turn.after.room_id and not turn.died
    }
    known = {(way.room_id, room) for way in played.map.ways.all() for room in way.destinations}
    assert {(start, end) for start, end in known if start != end} == walked
    assert {(end, start) for start, end in walked} - walked, "all ways were walked back: no test"


@pytest.mark.parametrize("story", STORIES)
def test_blocked_directions_are_kept_with_the_games_own_words(story: str) -> None:
    """In every room each direction that the game's memory shows as blocked is really tried."""
    played, tried = journey(story), WorldMap()
    refusals: dict[tuple[int | None, str], str] = {}
    for turn in played.turns[:-1]:
        shown = [] if turn.after.room_id in tried.rooms else turn.after.exits
        tried.begin(turn.after)
        for way_out in shown:
            if way_out.kind == "blocked":
                vain = played.again(turn.turn + 1, way_out.direction)
                if vain.after.room == vain.place and not vain.died:
                    tried.apply(vain)
                    refusals[vain.place_id, way_out.direction] = " ".join(vain.response.split())
    assert len(refusals) >= 8
    for (room_id, direction), answer in refusals.items():
        assert room_id is not None
        assert blocked(tried, room_id)[direction] == answer[:200]


@pytest.mark.parametrize("story", STORIES)
def test_routes_on_the_map_are_made_of_ways_that_were_walked(story: str) -> None:
    played = journey(story)
    walked = {
        (turn.place_id, turn.after.room_id)
        for turn in played.turns
        if turn.place_id != turn.after.room_id
    }
    first, last = played.turns[0].place_id, played.turns[-1].place_id
    assert first is not None
    assert last is not None
    found = route(played.map, first, last)
    assert found
    stops = [first, *(room.id for _, room in found)]
    assert set(pairwise(stops)) <= walked
    assert played.map.distance(first, last) == len(found)


@pytest.mark.parametrize("story", STORIES)
def test_labels_in_the_drawing_are_unique_although_rooms_share_names(story: str) -> None:
    played = journey(story)
    labels = re.findall(r'^  r\d+\["(.*)"\]$', played.map.mermaid(), re.MULTILINE)
    assert len(labels) == len(set(labels)) == len(played.map.rooms)
