"""The words of a story: what its parser knows and what they stand for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stories.memory import MachineMemory, StoryImage
from stories.profile import NO_PROFILE
from stories.vocabulary import AbsentWords, Vocabulary
from tests.support.games import bundled_solution, needs_zork1, started, written
from tests.support.tiny_story import LOWER, Object, build, pack

if TYPE_CHECKING:
    from game_interface import Game

HALL, CELLAR, YOU, LAMP, BOX, COIN, GEM, ALTAR, STATUE, SHELF, CLOAK = range(1, 12)
PORTABLE, NAMES, OTHER, NORTH = 17, 18, 9, 31
NOUN, ADJECTIVE, VERB = 0x80, 0x22, 0x41
WORDS = ("altar", "box", "cloak", "coin", "gem", "golden", "lamp", "north", "statue", "take")


def with_words(objects: list[Object], words: dict[str, int]) -> bytes:
    """An image with a dictionary of these words and flags; lists of words become addresses."""
    start = len(build(objects))  # of the dictionary, which comes last
    addresses = {word: start + 4 + 5 * number for number, word in enumerate(sorted(words))}
    for thing in objects:
        for prop in thing.properties.keys() & {NAMES, OTHER}:
            listed = thing.properties[prop].decode().split()
            data = b"".join(addresses[word].to_bytes(2, "big") for word in listed)
            thing.properties = {**thing.properties, prop: data}
    image = bytearray(build(objects)) + bytes((0, 5)) + len(words).to_bytes(2, "big")
    assert len(build(objects)) == start
    for word, flags in sorted(words.items()):
        image += pack([6 + LOWER.index(letter) for letter in word] + [5] * (6 - len(word))) + bytes(
            (flags,)
        )
    image += bytes(-len(image) % 8)
    image[0x08:0x0A] = start.to_bytes(2, "big")
    image[0x1A:0x1C] = (len(image) // 2).to_bytes(2, "big")
    return bytes(image)


def named(name: str, parent: int = 0, *, portable: bool = True) -> Object:
    """An object to which its name's last word refers."""
    words = name.split()[-1].encode()
    return Object(name, parent, [PORTABLE] if portable else [], {NAMES: words})


def tiny_game(folder: Path, **more_words: int) -> Game:
    """You stand in a hall with a lamp; a coin in a box, a gem and an altar are in the cellar."""
    objects = [
        Object("Hall", properties={NORTH: bytes((CELLAR,))}),
        Object("Cellar", properties={NORTH: bytes((HALL,)), OTHER: b"statue"}),
        Object("cretin", HALL),
        named("brass lamp", YOU),
        named("box", CELLAR),
        named("gold coin", BOX),
        named("gem", CELLAR),
        named("altar", CELLAR, portable=False),
        named("statue", CELLAR),
        Object("shelf of everything"),
        named("cloak", SHELF),
    ]
    words = dict.fromkeys(WORDS, NOUN) | {"golden": NOUN | ADJECTIVE, "take": VERB}
    image = with_words(objects, words | more_words)
    profile = {
        "sha256": StoryImage(image).sha256,
        "title": "Tiny",
        "player": YOU,
        "attributes": {"portable": PORTABLE},
        "directions": {"north": NORTH},
    }
    (folder / "tiny.profile.json").write_text(json.dumps(profile))
    return started(written(folder, image))


def test_words_for_things_that_are_elsewhere_are_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path) as game:
        assert {"box", "coin", "gem"} <= game.facts().absent_words


def test_words_for_what_is_carried_or_here_are_not_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path) as game:
        assert "lamp" not in game.facts().absent_words


def test_words_for_what_stands_fast_are_never_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path) as game:
        assert "altar" not in game.facts().absent_words


def test_a_word_that_any_other_object_mentions_is_not_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path) as game:
        assert "statue" not in game.facts().absent_words


def test_what_is_in_no_room_but_in_a_store_of_things_that_are_everywhere_is_not_absent(
    tmp_path: Path,
) -> None:
    with tiny_game(tmp_path) as game:
        assert "cloak" not in game.facts().absent_words


def test_a_word_with_another_meaning_is_not_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path, gem=NOUN | ADJECTIVE, coin=NOUN | VERB) as game:
        assert {"gem", "coin"} & game.facts().absent_words == set()


def test_words_are_known_as_far_as_the_parser_looks_at_them() -> None:
    with started() as game:
        words = game.vocabulary
        assert words.may_know("Watering")
        assert words.may_know("mackintoshes")  # nine letters count
        assert not words.may_know("mackinaw")
        assert not words.may_know("gazebo")


ONE = ["take lamp", "take lamp.", "take lamp and pamphlet", "gull, hello", 'say "hello"', "n"]
SEVERAL = ["n. s", "n, e", "look then look", "take lamp; n", "look and wait", "wait, wait", "n.s.n"]


@pytest.mark.parametrize("line", [*ONE, *SEVERAL])
def test_the_commands_of_a_line_are_counted_as_the_parser_takes_them(line: str) -> None:
    with started() as game:
        told = game.vocabulary.commands_in(line)
        before = game.facts().moves or 0
        game.step(line)
        moves = (game.facts().moves or 0) - before
    assert (told > 1) == (line in SEVERAL)
    assert moves in (0, told)  # none where nothing can be done


@needs_zork1
@pytest.mark.parametrize("line", ["open mailbox and read leaflet", "n, e", "walk north and east"])
def test_the_commands_of_a_line_are_counted_in_infocoms_stories_too(line: str) -> None:
    from tests.support.games import ZORK1

    with started(ZORK1) as game:
        before = game.facts().moves or 0
        game.step(line)
        assert (game.facts().moves or 0) - before == game.vocabulary.commands_in(line) == 2


@pytest.mark.parametrize("word", ["42", "thrupp's", "trap-door", "café", "lamp!"])
def test_what_parsers_take_apart_in_their_own_ways_is_not_judged(word: str) -> None:
    with started() as game:
        assert game.vocabulary.may_know(word)


def test_without_a_dictionary_every_word_may_be_known() -> None:
    assert Vocabulary.of(StoryImage(build())).may_know("gazebo")


def test_without_a_profile_no_word_is_absent(tmp_path: Path) -> None:
    with tiny_game(tmp_path) as game:
        image = StoryImage(game.story.path.read_bytes())
    memory = MachineMemory(image, image.data[: image.dynamic_size])
    assert AbsentWords(image, NO_PROFILE).read(memory, HALL) == frozenset()


def test_what_is_carried_or_seen_in_the_bundled_story_is_never_absent() -> None:
    for turn in bundled_solution("bocfel"):
        at_hand = (*(turn.facts.inventory or ()), *turn.facts.visible)
        words = {word for thing in at_hand for word in thing.name.split()}
        assert not words & turn.facts.absent_words, turn.command


def test_a_thing_of_the_bundled_story_is_absent_until_it_is_at_hand() -> None:
    facts = {turn.command: turn.facts for turn in bundled_solution("bocfel")}
    assert "kipper" in facts["take crank handle"].absent_words
    assert "kipper" not in facts["take kipper"].absent_words
    assert "kipper" not in facts["open larder"].absent_words


@needs_zork1
def test_the_property_of_names_is_found_in_infocoms_stories() -> None:
    from tests.support.games import ZORK1

    with started(ZORK1) as game:
        absent = game.facts().absent_words
        assert {"lamp", "sword", "egg"} <= absent
        assert absent & {"mailbox", "leafle", "house", "window", "tree", "water", "light"} == set()
        game.step("open mailbox")
        assert "leafle" not in game.facts().absent_words
