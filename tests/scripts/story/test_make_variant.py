"""Fresh variants of the bundled story, built with the real compiler and played on the real engine.

One is played with all other tests, twenty with `poe fresh`.
"""

import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from game_interface import Facts, Game, open_game
from scripts.story import make_achievements, make_variant
from scripts.story.layout import COMPASS
from scripts.story.make_variant import Made, UnwinnableError, make, played
from scripts.story.source import compiled, missing_tools
from scripts.story.variant import Variant
from scripts.story.walkthrough import derive
from scripts.story.wording import Wording
from stories.memory import StoryImage
from stories.profile import Profile
from tests.support.games import BUNDLED_COMMANDS, original_layout, started
from tests.support.solver import Solver
from workshop.story.build_story import PROFILE, STORY

pytestmark = pytest.mark.slow
needs_inform = pytest.mark.skipif(bool(missing_tools()), reason=str(missing_tools()))
BY_HAND = [pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 21)]
SEEDS = [1, *BY_HAND]
LITTLE = 10
"""Points that one may get with the original's commands, some of which lead somewhere by chance."""
REFUSED = re.compile("can't see any such thing|not something you need|That is not here")
GENERAL = {"day", "door", "garden", "handle", "key", "leaf", "point", "rail", "room"}
GENERAL |= {"shell", "sign", "stair", "stand", "table", "walk"}
"""Words for more than one thing, which variants use too."""
GENERAL |= {"beam", "leather", "lever", "shed", "slot"}
"""Words for things that keep their names, and verbs of the library."""
# Spoken of, but not there, in the original too: people who are away, the room itself, weather.
AWAY = {"Thrupp", "Mistress", "weatherwright", "thunder"}


@cache
def made(seed: int) -> Made:
    return make(seed)


def as_profile(content: bytes) -> Profile:
    return TypeAdapter(Profile).validate_json(content)


def same(text: str) -> str:
    return text


def bundled() -> tuple[bytes, bytes]:
    return STORY.read_bytes(), PROFILE.read_bytes()


@pytest.mark.soak
def test_the_originals_own_walkthrough_can_be_derived() -> None:
    end, _ = played(*bundled(), derive(original_layout(), same))

    assert (end.won, end.score) == (True, 100)


@pytest.mark.soak
def test_the_solver_wins_the_original_from_its_story_file() -> None:
    story, profile = bundled()
    end, _ = played(story, profile, Solver(story, as_profile(profile), same).solve())

    assert (end.won, end.score) == (True, 100)


@pytest.mark.soak
@needs_inform
@pytest.mark.parametrize("seed", SEEDS)
def test_a_variant_is_won_by_its_walkthrough_and_by_what_the_solver_finds(seed: int) -> None:
    profile = as_profile(made(seed).profile)  # made: the walkthrough has won
    solution = Solver(made(seed).story, profile, Variant(seed).words).solve()
    end, _ = played(made(seed).story, made(seed).profile, solution)

    assert solution != made(seed).walkthrough
    assert (end.won, end.score) == (True, 100)


@needs_inform
@pytest.mark.parametrize("seed", SEEDS)
def test_the_parser_knows_none_of_the_originals_names(seed: int) -> None:
    story, _ = compiled(Variant(seed))
    known = set(StoryImage(story).dictionary_entries.values())
    names = {name.lower().split()[-1][:9] for name in Variant(seed).words}

    assert names & known <= GENERAL


@needs_inform
def test_no_variant_is_made_whose_walkthrough_does_not_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(make_variant, "derive", lambda *_: ["north", "wait"])

    with pytest.raises(
        UnwinnableError, match=r"the walkthrough of seed 3 ends with \d+ points, in"
    ):
        make(3)


@needs_inform
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.soak
def test_the_originals_walkthrough_is_worth_little_in_a_variant(seed: int) -> None:
    end, _ = played(made(seed).story, made(seed).profile, BUNDLED_COMMANDS)

    assert not end.won
    assert (end.score or 0) <= LITTLE


@needs_inform
def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_story() -> None:
    first = compiled(Variant(1))

    assert first == compiled(Variant(1)) == (made(1).story, made(1).profile)
    assert compiled(Variant(2)) != first


@needs_inform
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 21))
def test_rooms_speak_of_the_ways_that_there_are_and_of_what_can_be_examined(seed: int) -> None:
    words = Variant(seed).words
    rooms = 0
    for play, facts, text in rooms_of(made(seed)):
        rooms += 1
        said = set(re.findall("|".join(COMPASS), text))
        exits = {way.direction: way.kind for way in facts.exits if way.direction in COMPASS}
        assert {way for way, kind in exits.items() if kind != "blocked"} <= said, text
        assert said <= exits.keys(), text
        before = (play.step("wait"), play.snapshot())[1]
        for phrase in mentioned(words, facts.room_name, text):
            answer = play.step(f"examine {phrase}")
            assert not REFUSED.search(answer), f"{phrase} in {facts.room_name}: {text}"
            play.restore(before)
    assert rooms >= 18


def mentioned(words: Wording, room: str, text: str) -> Iterator[str]:
    """What a text speaks of by a word that a variant changes, and that should be there."""
    text = re.sub('"[^"]*"', "", text)  # what somebody says, or cries, is not there
    for key in words:
        phrase = words(key).lower()
        is_there = key not in AWAY and phrase not in room.lower()
        if is_there and re.search(rf"\b{re.escape(phrase)}\b", text):
            yield phrase


def rooms_of(variant: Made) -> Iterator[tuple[Game, Facts, str]]:
    """Each room on the way, when it is first seen by light, and what LOOK says of it."""
    with tempfile.TemporaryDirectory() as folder:
        story = Path(folder, "variant.z5")
        story.write_bytes(variant.story)
        Path(folder, "variant.profile.json").write_bytes(variant.profile)
        game = open_game(story, seed=1)
    game.start()
    seen = set()
    for command in ("look", *variant.walkthrough):
        game.step(command)
        facts = game.facts()
        if facts.room_id in seen or facts.dark or game.is_over:
            continue
        seen.add(facts.room_id)
        here = game.snapshot()
        text = game.step("look").partition(facts.room_name)[2]
        yield game, facts, " ".join(text.lower().split())
        game.restore(here)


@needs_inform
@pytest.mark.soak
def test_the_program_writes_stories_that_are_known_by_their_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(make_variant, "make", made)  # which took seconds
    monkeypatch.setattr(make_achievements, "_RANDOM_SEEDS", (1,))
    monkeypatch.setattr(make_achievements, "_RANDOM_TURNS", 10)
    stories, solutions = tmp_path / "stories", tmp_path / "solutions"
    flags = ["--seed", "2", "--out", str(stories), "--walkthroughs", str(solutions)]

    assert make_variant.main(flags) == 0
    assert capsys.readouterr().out.count("\n") == 1
    assert sorted(file.name for file in stories.iterdir()) == [
        f"fresh-2.{kind}" for kind in ("achievements.tsv", "profile.json", "z5")
    ]
    assert (solutions / "fresh-2.txt").read_text().splitlines() == made(2).walkthrough
    with started(stories / "fresh-2.z5") as game:
        facts = game.facts()
        assert game.story.profiled
        assert (facts.score, facts.max_score) == (0, 100)
        assert {way.kind for way in facts.exits} == {"open", "blocked"}
        assert facts.inventory


def test_without_the_compiler_the_program_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert make_variant.main(["--out", str(tmp_path / "out")]) == 2
    assert "apt install inform6-compiler inform6-library" in capsys.readouterr().err


@needs_inform
@pytest.mark.parametrize(
    "moved", ["move kipper to shelf;", "move lantern to snow_store;", "remove windbag;"]
)
def test_the_solver_notices_that_a_story_cannot_be_won(moved: str) -> None:
    story, profile = compiled(lambda label, text: moved if label == "moves" else text)

    with pytest.raises(UnwinnableError, match=r"what can be reached is: .*has recipe card"):
        Solver(story, as_profile(profile), same).solve()
