"""Whole games: no word, exit, thing or room reaches a player before the game has shown it.

What was shown is judged here from the raw text of the game, not by the code that is tested.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from game_interface.errors import InvalidCommandError
from mcp_ghost.testing import content_reply
from session.game_state import NAMELESS, ThingSeen
from session.levels import ObservationLevel as Level
from tests.support.episodes import answer, played, system_text, user_text, wanted
from tests.support.games import BUNDLED_COMMANDS, ZORK1, ZORK1_SEED, needs_zork1, zork1_solution
from tests.support.mind.telling import Told, ToldGame
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mcp_ghost.testing import ModelRequest, Reply

BOTH = [
    pytest.param("bundled", id="bundled"),
    pytest.param(ZORK1, id="zork1", marks=needs_zork1),
]
COMPASS = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
SHORT = {"n": "north", "e": "east", "s": "south", "w": "west", "u": "up", "d": "down"}
SHORT |= {"ne": "northeast", "nw": "northwest", "se": "southeast", "sw": "southwest"}
DIRECTIONS = (*COMPASS, "up", "down", "in", "out")


def words(text: str) -> set[str]:
    """Its words; of one that was cut off only what cannot be checked is left out."""
    return set(re.findall(r"[a-z]+", re.sub(r"\S*…", "", text.lower())))


STORY = words(
    """The game begins turn turns to of are left out thinking action now you died
    Situation Turn of at most The game says Last Answer with one JSON object new_objective
    close_objective nav_target plan Points and deaths up Your condition Under attack in
    turns Wounds Light Load as told"""
)
"""Every word of the frame that the turns so far, and the answer to the latest, are set in."""
FRAME = STORY | words(
    """by carrying gone from where you last had or saw it carried until seen in points
    story so far turn of at most situation the game says last score now moves deaths
    you died room in darkness here nothing note carry can try take examine open look new ways
    towards a way not yet tried known to again no back happened once known map around
    is out vain times led different rooms before nearest from step steps with effect but answer
    what worked going circles things and are as they were after there changed verbs that had an
    this by example did something exits unknown has for trying does work go somewhere else or do
    another kind answered without anything episode ends unnamed place deadly it nor only one"""
)
"""Every word of the frame that the answers and facts of a turn are set in."""


def singular(word: str) -> str:
    return word[:-1] if word.endswith("s") else word


class Shown:
    """What a person at the screen has seen, kept from the game's raw text."""

    def __init__(self, game: ToldGame) -> None:
        self.words = words(game.opening)
        self.said: set[str] = set()
        self.numbers: set[str] = set()
        self.rooms: set[str] = set()
        self.carried: set[str] = set()
        self._in_room: defaultdict[int | None, set[str]] = defaultdict(set)
        self._while_in_view: defaultdict[tuple[int | None, str], set[str]] = defaultdict(set)
        self._note(game, game.opening)

    def play(self, game: ToldGame, command: str) -> None:
        here = game.facts.room_id
        meant = SHORT.get(command.lower(), command.lower())
        self._in_room[here].add(meant)
        self.said |= words(f"{command} {meant}")
        text = game.play(command)
        self.words |= words(text)
        self.numbers |= set(re.findall(r"#\d+", text))
        self._note(game, text)

    def _note(self, game: ToldGame, text: str) -> None:
        facts = game.facts
        if not facts.dark:
            self.rooms.add(facts.room_name)
        here = words(text.replace("-", "")) | words(text)
        self._in_room[facts.room_id] |= here
        for thing in facts.inventory or ():
            self.carried.add(thing.name)
        for thing in facts.visible:
            self._while_in_view[facts.room_id, thing.name] |= here
            if thing.name in self.carried:
                self._while_in_view[facts.room_id, thing.name] |= words(thing.name)

    def may_name_way(self, room: int | None, direction: str) -> bool:
        return direction in self._in_room[room]

    def may_name_thing(self, room: int | None, name: str) -> bool:
        """Whether a noun of a thing in view that is called so was printed while it was in view."""
        for (where, full), printed in self._while_in_view.items():
            if where == room and words(name) <= words(full):
                nouns = {full.split()[-1], full.split(" of ")[0].split()[-1]}
                stems = {singular(it) for it in printed}
                if any(singular(noun.lower()) in stems for noun in nouns):
                    return True
        return False

    @property
    def vocabulary(self) -> set[str]:
        """Every word that may be told where facts are."""
        facts = words(" ".join(self.rooms | self.carried))
        return self.words | self.said | facts | FRAME


def check_text(told: Told, shown: Shown) -> None:
    for prompt in (told.full, told.compact):
        assert words(prompt) - STORY - shown.words - shown.said == set()
    facts = told.facts
    assert (facts.room_id, facts.score, facts.moves, facts.inventory) == (None, None, None, None)
    assert (facts.visible, facts.exits, facts.world_hash) == ((), (), "")
    assert facts.absent_words == frozenset()


def check_status(told: Told, shown: Shown) -> None:
    for prompt in (told.full, told.compact):
        assert (
            words(prompt) - FRAME - shown.words - shown.said - words(" ".join(shown.rooms)) == set()
        )
        assert set(re.findall(r"#\d+", prompt)) <= shown.numbers, "rooms of one name are told apart"
    assert (told.facts.inventory, told.facts.visible, told.facts.exits) == (None, (), ())
    assert told.facts.absent_words == frozenset()


def check_facts(told: Told, shown: Shown, room: int | None) -> None:
    for prompt in (told.full, told.compact, " ".join(told.menu)):
        unshown = words(prompt) - set(COMPASS) - {"up", "down"} - shown.vocabulary
        assert set(map(singular, unshown)) - set(map(singular, shown.vocabulary)) == set()
    things = {thing.name for thing in told.seen.visible}
    assert [it for it in things if not shown.may_name_thing(room, it)] == []
    acted = {it.partition(" ")[2] for it in told.menu} - {"", "all"}
    assert acted <= things | shown.carried
    named = {way.direction for way in told.seen.exits}
    named |= {way.direction for way in told.facts.exits}
    named |= {SHORT.get(it, it) for it in untried(told.full)}
    assert [way for way in named if not shown.may_name_way(room, way)] == []
    assert "in" not in untried(told.full)
    rooms = {way.room.name for way in told.seen.exits if way.room}
    assert rooms <= shown.rooms | {NAMELESS}  # which stands for one that was dark


def untried(prompt: str) -> list[str]:
    """The ways out of this room that the prompt calls untried."""
    here = prompt.partition("## Ways out")[2].partition("\n## ")[0]
    found = re.search(r"^Not yet tried: (.*)$", here, re.MULTILINE)
    return found[1].split("; ") if found else []


def check(game: ToldGame, shown: Shown) -> None:
    check_text(game.told(Level.TEXT), shown)
    check_status(game.told(Level.STATUS), shown)
    for level in (Level.FACTS, Level.FACTS_EXITS):
        check_facts(game.told(level), shown, game.facts.room_id)
    facts, exits = game.told(Level.FACTS), game.told(Level.FACTS_EXITS)
    assert facts.seen.exits == ()
    assert "Not yet tried" not in facts.full
    if game.facts.dark:
        assert exits.seen.exits == ()


def solution(story: str) -> Sequence[str]:
    return BUNDLED_COMMANDS if story == "bundled" else zork1_solution()


@pytest.mark.slow
@pytest.mark.parametrize("story", BOTH)
def test_over_a_whole_walkthrough_nothing_is_told_that_was_not_shown(story: str) -> None:
    with ToldGame(Level, story, ZORK1_SEED) as game:
        shown = Shown(game)
        check(game, shown)
        for command in solution(story):
            shown.play(game, command)
            check(game, shown)
        assert game.facts.won


def at_random(dice: Random, game: ToldGame, text: str) -> str:
    """A move, or something with a word that the game may know and may not have said."""
    verb = dice.choice(["go", "go", "take", "examine", "open", "drop", "push", "look", "read"])
    if verb == "go":
        return dice.choice(DIRECTIONS)
    if verb == "look":
        return verb
    heard = re.findall("[a-z]{3,}", text.lower())
    known = sorted(game.game.vocabulary.words)
    return f"{verb} {dice.choice(heard if heard and dice.random() < 0.7 else known)}"


def random_play(story: str, seed: int, turns: int) -> Iterator[tuple[ToldGame, Shown]]:
    """The beginning of the solution, then what the dice say."""
    dice = Random(seed)
    commands = solution(story)
    with ToldGame(Level, story, seed) as game:
        shown = Shown(game)
        for command in commands[: dice.randrange(len(commands) // 2)]:
            shown.play(game, command)
        text = game.opening
        for _ in range(turns):
            if game.game.is_over:
                return
            with suppress(InvalidCommandError):
                shown.play(game, at_random(dice, game, text))
                yield game, shown


BY_HAND = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 9)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *BY_HAND])
@pytest.mark.parametrize("story", BOTH)
def test_over_random_play_nothing_is_told_that_was_not_shown(story: str, seed: int) -> None:
    for game, shown in random_play(story, seed, turns=60 if seed == 1 else 150):
        check(game, shown)


@needs_zork1
def test_what_lies_under_a_rug_or_leaves_is_told_when_they_are_moved() -> None:
    with ToldGame([Level.FACTS_EXITS], ZORK1) as game:
        for command in ("north", "east", "open window", "in", "west", "look"):
            game.play(command)
        told = game.told(Level.FACTS_EXITS)
        assert {"trophy case", "sword"} <= set(map(str, told.seen.visible))
        assert not {"stairs", "trap door"} & set(map(str, told.seen.visible))
        assert untried(told.full) == ["east", "west"]
        assert "down" not in untried(told.full)
        for command in ("move rug", "open trap door"):
            game.play(command)
        assert ThingSeen("trap door") in game.told(Level.FACTS_EXITS).seen.visible
    with ToldGame([Level.FACTS_EXITS], ZORK1) as game:
        for command in ("north", "north", "north", "look"):
            game.play(command)
        told = game.told(Level.FACTS_EXITS)
        assert told.seen.room
        assert told.seen.room.name == "Clearing"
        assert untried(told.full) == [way for way in untried(told.full) if way != "down"]
        assert "grating" not in " ".join(map(str, told.seen.visible))


def test_a_key_in_a_nest_and_a_refusal_are_told_when_the_game_tells_of_them() -> None:
    levels = [Level.FACTS, Level.FACTS_EXITS]
    with ToldGame(levels) as game:
        for command in ("north", "north", "east"):
            game.play(command)
        raw = [thing.name for thing in game.facts.visible]
        assert "brass key" in raw
        refusals = {way.direction: way.note for way in game.facts.exits if way.kind == "blocked"}
        assert "only weather" in str(refusals["east"])
        for level in levels:
            told = game.told(level)
            assert ThingSeen("nest") in told.seen.visible
            assert "key" not in told.full.partition("## Situation")[2]
            assert "weather." not in told.full
        assert "east" not in untried(game.told(Level.FACTS_EXITS).full)
        game.play("east")
        assert "only weather" in game.told(Level.FACTS).full


def test_at_text_a_whole_episode_asks_with_nothing_but_what_was_printed(tmp_path: Path) -> None:
    """Reflections, refusals and the model's own words included."""

    def model(request: ModelRequest) -> Reply:
        if wanted(request) == "ReflectionAnswer":
            return content_reply("{}")
        return ScriptedModel(BUNDLED_COMMANDS)(request)

    settings: dict[str, Any] = {
        "observation_level": "text",
        "reflection_enabled": True,
        "context_profile": "full",
        "max_turns_per_episode": 30,
    }
    episode = played(tmp_path, model, **settings)
    assert episode.start["parts_off"] == ["map", "action_check", "memories", "ledger"]
    turns = episode.turns
    thoughts = words(" ".join(f"{it.thinking} {it.command}" for it in turns))
    printed = words(episode.start["opening"] + " ".join(it.response for it in turns))
    frame = STORY | words(
        """The turns player thought game
        Leave these lists empty this time memories wrong_memories"""
    )
    asked = {str(wanted(request)) for request in episode.requests}
    assert asked == {"AgentResponse", "ReflectionAnswer"}
    for request in episode.requests:
        assert words(user_text(request)) - frame - thoughts - printed == set()
        if wanted(request) == "AgentResponse":
            assert "nothing is read from the game's memory" in system_text(request)
    assert turns[-1].after.score, "the log keeps the machine's truth"


@pytest.mark.parametrize("profile", ["full", "compact"])
def test_whether_prior_knowledge_may_be_used_is_told_and_recorded(
    tmp_path: Path, profile: str
) -> None:
    heads = {}
    for use in ("allowed", "discouraged"):
        episode = played(
            tmp_path / use,
            [answer("north")],
            observation_prior_knowledge=use,
            context_profile=profile,
            max_turns_per_episode=1,
        )
        assert episode.start["settings"]["observation_prior_knowledge"] == use
        heads[use] = system_text(episode.requests[0])
    assert "never heard of" in heads["discouraged"]
    assert "never heard of" not in heads["allowed"]


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(it, marks=[] if it in (Level.TEXT, Level.FACTS) else pytest.mark.soak)
        for it in Level
    ],
)
def test_an_episode_that_is_resumed_goes_on_at_its_level(tmp_path: Path, level: Level) -> None:
    script = [answer(command) for command in BUNDLED_COMMANDS[:8]]
    settings: dict[str, Any] = {"observation_level": level}
    whole = played(tmp_path / "whole", script, **settings, max_turns_per_episode=8)
    parts = tmp_path / "parts"
    played(parts, script[:4], **settings, max_turns_per_episode=4)
    resumed = played(parts, script[4:], resume=True, max_turns_per_episode=8)
    for again, once in zip(resumed.requests, whole.requests[4:], strict=True):
        assert (system_text(again), user_text(again)) == (system_text(once), user_text(once))
    said = f"continues at level {level}, where it began, not at facts."
    log = "".join(path.read_text() for path in parts.rglob("events.jsonl"))
    assert (said in log) is (level is not Level.FACTS)


def test_the_check_knows_of_things_elsewhere_only_what_the_player_knows() -> None:
    with ToldGame([Level.FACTS]) as game:
        assert "kipper" in game.facts.absent_words
        assert game.told(Level.FACTS).facts.absent_words == frozenset()
        for command in ("drop letter", "north"):
            game.play(command)
        assert game.told(Level.FACTS).facts.absent_words == {"letter"}
        game.play("south")
        assert "letter" not in game.told(Level.FACTS).facts.absent_words
