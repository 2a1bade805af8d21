"""Facts come from the memory: rooms, things, exits, darkness, endings."""

import json
from pathlib import Path

import pytest

from game_interface import Exit, Facts, Game, Thing
from game_interface.engines.engine import EngineName
from stories.memory import StoryImage
from tests.support.games import ENGINES, bundled_solution, started, written
from tests.support.tiny_story import READ_KEYS, Object, build, increment, loop, say

HALL, CELLAR, YOU, LAMP, BOX, COIN, CASE, GEM, TABLE, CUP, GHOST, DOOR = range(1, 13)
OPEN, TRANSPARENT, SURFACE, HIDDEN, IS_DOOR = 11, 12, 10, 7, 22
REFUSAL = 0x1000 // 2  # where the code would start, a text lies


def tiny_world(code: bytes | None = None, **hall: bytes) -> bytes:
    """A hall with a thing of every kind; keywords add properties ("p31") to the hall."""
    properties = {int(name[1:]): value for name, value in hall.items()}
    return build(
        [
            Object("Hall", properties={**properties, 5: bytes((DOOR, GHOST))}),
            Object("Cellar"),
            Object("cretin", parent=HALL),
            Object("brass lamp", parent=YOU),
            Object("box", parent=HALL),
            Object("coin", parent=BOX),
            Object("case", parent=HALL, attributes=[TRANSPARENT]),
            Object("gem", parent=CASE),
            Object("table", parent=HALL, attributes=[SURFACE]),
            Object("cup", parent=TABLE),
            Object("ghost", parent=HALL, attributes=[HIDDEN]),
            Object("trap door", attributes=[IS_DOOR]),
        ],
        global_values={0: HALL, 1: 7, 2: 3, 5: 1},
        code=code,
    )


def profiled(folder: Path, image: bytes, **changes: object) -> Game:
    """A game of this image with a profile beside its story file."""
    profile = {
        "sha256": StoryImage(image).sha256,
        "title": "Tiny",
        "max_score": 10,
        "player": YOU,
        "globals": {"deaths": 3},
        "dark_when": {"index": 5, "value": 0},
        "attributes": {
            "open": OPEN,
            "transparent": TRANSPARENT,
            "surface": SURFACE,
            "hidden": HIDDEN,
            "door": IS_DOOR,
        },
        "directions": {"north": 31, "east": 30, "south": 29, "west": 28, "up": 27, "down": 26},
        "scenery_property": 5,
        **changes,
    }
    (folder / "tiny.profile.json").write_text(json.dumps(profile))
    return started(written(folder, image))


def names(things: tuple[Thing, ...] | None) -> list[tuple[str, str | None]]:
    assert things is not None
    return [(thing.name, thing.holder) for thing in things]


def direction(facts: Facts, word: str) -> Exit:
    return next(way for way in facts.exits if way.direction == word)


def test_room_score_and_moves_are_the_games_own(tmp_path: Path) -> None:
    with profiled(tmp_path, tiny_world()) as game:
        facts = game.facts()

    assert (facts.room_id, facts.room_name) == (HALL, "Hall")
    assert (facts.score, facts.max_score, facts.moves) == (7, 10, 3)
    assert (facts.dark, facts.deaths, facts.dead, facts.won) == (False, 0, False, False)
    assert game.story.title == "Tiny"
    assert game.story.profiled


def test_contents_are_seen_where_the_player_sees_them(tmp_path: Path) -> None:
    with profiled(tmp_path, tiny_world()) as game:
        facts = game.facts()

    assert names(facts.inventory) == [("brass lamp", None)]
    assert names(facts.visible) == [
        ("box", None),
        ("case", None),
        ("gem", "case"),
        ("table", None),
        ("cup", "table"),
        ("trap door", None),
    ]


def test_an_opened_box_shows_what_is_in_it(tmp_path: Path) -> None:
    image = bytearray(tiny_world())
    entry = StoryImage(bytes(image)).entry(BOX)
    image[entry + OPEN // 8] |= 0x80 >> OPEN % 8

    with profiled(tmp_path, bytes(image)) as game:
        assert ("coin", "box") in names(game.facts().visible)


def test_nothing_is_visible_in_the_dark_but_what_is_carried_stays_known(tmp_path: Path) -> None:
    with profiled(tmp_path, tiny_world(), dark_when={"index": 5, "value": 1}) as game:
        facts = game.facts()

    assert facts.dark
    assert facts.visible == ()
    assert names(facts.inventory) == [("brass lamp", None)]


def test_infocom_exits_of_all_five_kinds_are_told_apart(tmp_path: Path) -> None:
    refusal = REFUSAL.to_bytes(2, "big")
    image = tiny_world(
        code=say("No way.\n")[1:],
        p31=bytes((CELLAR,)),
        p30=refusal,
        p29=b"\x99\x99\x00",
        p28=bytes((CELLAR, 16 + 5)) + refusal,
        p27=bytes((CELLAR, 16 + 6)) + refusal,
        p26=bytes((CELLAR, DOOR, 0, 0, 0)),
    )
    reader = facts_of(tmp_path, image)

    assert direction(reader, "north") == Exit("north", CELLAR, "Cellar", "open")
    assert direction(reader, "east") == Exit("east", None, None, "blocked", "No way.")
    assert direction(reader, "south") == Exit("south", None, None, "conditional")
    assert direction(reader, "west") == Exit("west", CELLAR, "Cellar", "open")
    assert direction(reader, "up") == Exit("up", None, None, "blocked", "No way.")
    assert direction(reader, "down") == Exit("down", CELLAR, "Cellar", "door", "trap door (closed)")


def facts_of(folder: Path, image: bytes) -> Facts:
    """The facts of an image that need not run."""
    from game_interface.machine.facts import FactsReader
    from stories.memory import MachineMemory
    from stories.profile import Attributes, Profile

    story = StoryImage(image)
    profile = Profile(
        sha256=story.sha256,
        title="Tiny",
        attributes=Attributes(open=OPEN, hidden=HIDDEN, door=IS_DOOR),
        directions={"north": 31, "east": 30, "south": 29, "west": 28, "up": 27, "down": 26},
    )
    memory = MachineMemory(story, story.data[: story.dynamic_size])
    known = Facts(dead=False, won=False, world_hash="")
    return FactsReader(story, profile).read(memory, known)


def test_a_way_that_is_shut_without_a_word_is_not_an_exit(tmp_path: Path) -> None:
    image = tiny_world(p27=bytes((CELLAR, 16 + 6, 0, 0)))

    assert facts_of(tmp_path, image).exits == ()


def test_a_hidden_door_is_not_an_exit(tmp_path: Path) -> None:
    image = bytearray(tiny_world(p26=bytes((CELLAR, DOOR, 0, 0, 0))))
    image[StoryImage(bytes(image)).entry(DOOR) + HIDDEN // 8] |= 0x80 >> HIDDEN % 8

    assert facts_of(tmp_path, bytes(image)).exits == ()


def test_without_a_profile_a_version_3_story_still_tells_the_standard_facts(
    tmp_path: Path,
) -> None:
    with started(written(tmp_path, tiny_world())) as game:
        facts = game.facts()

    assert not game.story.profiled
    assert (facts.room_id, facts.room_name, facts.score, facts.moves) == (HALL, "Hall", 7, 3)
    assert (facts.max_score, facts.deaths, facts.exits) == (None, None, ())
    assert names(facts.inventory) == [("brass lamp", None)]
    assert ("box", None) in names(facts.visible)
    assert ("cretin", None) not in names(facts.visible)


def test_a_story_that_shows_the_time_has_no_score(tmp_path: Path) -> None:
    image = build([Object("Hall")], global_values={0: 1, 1: 9, 2: 30}, flags=2)
    with started(written(tmp_path, image)) as game:
        game.step("wait")
        facts = game.facts()

    assert (facts.room_name, facts.score, facts.moves) == ("Hall", None, None)
    assert facts.unknown == ("score", "moves", "inventory", "deaths")


def test_a_later_story_without_a_profile_knows_the_room_from_who_is_in_it(tmp_path: Path) -> None:
    image = build(
        [Object("Hall"), Object("chair", 1), Object("yourself", 2), Object("hat", 3)],
        version=5,
        code=READ_KEYS,
        global_values={7: 3},
    )
    with started(written(tmp_path, image, "tiny.z5")) as game:
        game.step("x")
        facts = game.facts()

    assert (facts.room_name, facts.score, facts.moves) == ("Hall", None, None)
    assert names(facts.inventory) == [("hat", None)]


@pytest.mark.parametrize(("version", "parent", "before"), [(3, 0, 0), (5, 0, 0), (5, 1, 24)])
def test_who_may_be_someone_else_carries_nothing_that_is_known(
    version: int, parent: int, before: int, tmp_path: Path
) -> None:
    others = [Object("thing")] * before
    objects = [Object("Hall"), *others, Object("yourself", parent), Object("hat", before + 2)]
    story = written(tmp_path, build(objects, version=version), f"tiny.z{version}")
    with started(story) as game:
        facts = game.facts()
    assert facts.inventory is None
    assert facts.room_id == (1 if version == 3 else None)


def test_a_player_who_becomes_somebody_else_is_not_known_any_more(tmp_path: Path) -> None:
    objects = [Object("Hall"), Object("yourself", 1), Object("troll", 1)]
    code = say("Hall\n") + loop(increment(7) + say("Done.\n"))
    story = written(tmp_path, build(objects, code=code, global_values={7: 2}))
    with started(story) as game:
        assert game.facts().inventory == ()
        snapshot = game.snapshot()
        game.step("become troll")
        assert game.facts().inventory is None
        game.restore(snapshot)
        assert game.facts().inventory == ()


@pytest.mark.parametrize("name", ["", "(notepad_3)"])
def test_a_thing_without_a_name_makes_the_list_unknown_and_not_empty(
    name: str, tmp_path: Path
) -> None:
    objects = [Object("Hall"), Object("yourself", 1), Object(name, 2)]
    with started(written(tmp_path, build(objects, global_values={7: 2}))) as game:
        assert game.facts().inventory is None
        assert "inventory" in game.facts().unknown


def test_a_story_that_names_no_player_is_played_by_its_text(tmp_path: Path) -> None:
    image = build([Object("x")], version=5, code=say("Hi.\n") + READ_KEYS)
    with started(written(tmp_path, image, "tiny.z5")) as game:
        facts = game.facts()

    assert facts.unknown == ("room", "score", "moves", "inventory", "deaths")
    assert (facts.room_id, facts.room_name, facts.score, facts.moves) == (None, "", None, None)
    assert (facts.inventory, facts.visible, facts.exits) == (None, (), ())
    assert len(facts.world_hash) == 16


def test_a_death_after_which_the_game_goes_on_is_reported_once(tmp_path: Path) -> None:
    image = tiny_world(code=say("Hall\n") + loop(increment(3) + say("You die.\n")))
    with profiled(tmp_path, image) as game:
        assert not game.died_in_last_step
        game.step("jump")

        assert game.died_in_last_step
        assert not game.is_over
        assert (game.facts().deaths, game.facts().dead) == (1, False)

    quiet = tiny_world(code=say("Hall\n") + loop(say("You have died of boredom. Not.\n")))
    with profiled(tmp_path, quiet) as game:
        game.step("wait")
        assert not game.died_in_last_step


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_the_bundled_story_is_known_all_through_its_solution(engine: EngineName) -> None:
    turns = bundled_solution(engine)
    facts = [turn.facts for turn in turns]

    assert [known.moves for known in facts] == list(range(1, len(turns) + 1))
    assert all(known.room_name and known.exits for known in facts)
    assert [known.won for known in facts] == [turn.is_over for turn in turns]
    assert [turn.is_over for turn in turns] == [False] * (len(turns) - 1) + [True]
    assert len({known.room_id for known in facts}) >= 15
    assert (facts[-1].score, facts[-1].max_score) == (100, 100)
    assert (facts[-1].dead, facts[-1].deaths) == (False, 0)
    scores = [known.score for known in facts if known.score is not None]
    assert len(scores) == len(facts)
    assert scores == sorted(scores)


def test_doors_of_the_bundled_story_lead_somewhere_and_tell_whether_they_are_open() -> None:
    with started() as game:
        game.step("north")
        game.step("north")
        into = direction(game.facts(), "north")
        assert (into.room_name, into.kind, into.note) == (
            "Entrance Hall",
            "door",
            "front door (open)",
        )
        game.step("close front door")
        assert direction(game.facts(), "north").note == "front door (closed)"


def test_refusals_of_the_bundled_story_are_quoted() -> None:
    with started() as game:
        south = direction(game.facts(), "south")
        refusal = game.step("south")

    assert south.kind == "blocked"
    assert south.note
    assert south.note.split() == refusal.split()


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_an_ending_by_death_in_the_bundled_story_is_final(engine: EngineName) -> None:
    with started(engine=engine) as game:
        game.restore(next(t.snapshot for t in bundled_solution(engine) if _sees_thunder(t.facts)))
        for command in ("open cabinet", "take thunder", "open thunder"):
            assert not game.is_over
            game.step(command)

        assert game.is_over
        assert game.died_in_last_step
        assert (game.facts().dead, game.facts().won, game.facts().deaths) == (True, False, 1)


def _sees_thunder(facts: Facts) -> bool:
    return any(thing.name == "jar of thunder" for thing in facts.visible)


@pytest.mark.slow
def test_what_can_be_carried_and_what_can_be_opened_is_known() -> None:
    seen = {
        thing.name: thing for turn in bundled_solution("bocfel") for thing in turn.facts.visible
    }
    carried = {
        thing.name for turn in bundled_solution("bocfel") for thing in turn.facts.inventory or ()
    }
    assert all(seen[name].portable for name in carried if name in seen)
    assert seen["bollard"].portable is False
    assert not seen["bollard"].shut
