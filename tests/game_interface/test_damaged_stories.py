"""Damaged story files are refused, or fail at a command, with an error that says where."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from game_interface import open_game
from game_interface.errors import EngineError, GameError, InvalidCommandError, StoryFormatError
from game_interface.snapshot import decode, encode
from stories.memory import MachineMemory, StoryImage
from stories.profile import STORIES
from tests.support.games import needs_jericho, written

WHOLE = (STORIES / "weatherworks.z5").read_bytes()
COMMANDS = ("look", "read letter", "north", "take all", "inventory")


def damaged(data: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    """The story with other bytes at these places."""
    copy = bytearray(data)
    for place, new in changes:
        copy[place : place + len(new)] = new[: len(copy) - place]
    return bytes(copy)


IMAGE = StoryImage(WHOLE)
DICTIONARY = IMAGE.word(0x08)
DYNAMIC = IMAGE.dynamic_size
# Most damage to the header is noticed at once, and most of it to the code never.
CHANGE = st.tuples(
    st.one_of(*[st.integers(0, last) for last in (63, DYNAMIC - 1, len(WHOLE) - 1)]),
    st.binary(min_size=1, max_size=4),
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=30)


@pytest.mark.fuzz
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)
@given(changes=CHANGES, known=st.booleans())
def test_whatever_a_damaged_story_does_is_an_error_of_the_game_layer(
    changes: list[tuple[int, bytes]], tmp_path: Path, *, known: bool
) -> None:
    story = damaged(WHOLE, changes)
    path = written(tmp_path, story, "damaged.z5")
    if known:
        profile = json.loads((STORIES / "weatherworks.profile.json").read_bytes())
        with suppress(StoryFormatError):
            profile["sha256"] = StoryImage(story).sha256
        (tmp_path / "damaged.profile.json").write_text(json.dumps(profile))
    with suppress(GameError), open_game(path, seed=12, turn_timeout_seconds=1) as game:
        game.start()
        for command in COMMANDS:
            with suppress(EngineError, InvalidCommandError, StoryFormatError):
                if not game.is_over:
                    game.step("x" if game.facts().waits_for == "key" else command)
        snapshot, facts = game.snapshot(), game.facts()
        game.restore(snapshot)
        assert replace(game.facts(), status_line="") == replace(facts, status_line="")


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    changes=st.lists(st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=6)), min_size=1)
)
def test_whatever_a_damaged_state_does_is_an_error_of_the_game_layer(
    changes: list[tuple[int, bytes]],
) -> None:
    """As in a snapshot that somebody edited, with a digest that is right."""
    with open_game("bundled", seed=12, turn_timeout_seconds=2) as game:
        game.start()
        game.step("north")
        good = decode(game.snapshot(), game.story.sha256, "bocfel")
        state = damaged(good.state, [(place % len(good.state), new) for place, new in changes])
        with suppress(GameError):
            game.restore(encode(replace(good, state=state), game.story.sha256))
            game.step("look")
        game.restore(encode(good, game.story.sha256))
        assert "Landing Stage" in game.step("south")


@pytest.mark.parametrize(
    "change", [(0x08, b"\xff\xfe"), (DICTIONARY, b"\xff"), (DICTIONARY + 4, b"\0")]
)
def test_a_dictionary_that_does_not_fit_is_refused_with_its_place(
    change: tuple[int, bytes], tmp_path: Path
) -> None:
    story = written(tmp_path, damaged(WHOLE, [change]), "damaged.z5")
    with pytest.raises(StoryFormatError, match=r"damaged: its dictionary at 0x[0-9a-f]{4} has"):
        open_game(story)


def test_properties_that_do_not_end_are_refused_with_their_place() -> None:
    last = (DYNAMIC - 1).to_bytes(2, "big")
    image = StoryImage(damaged(WHOLE, [(IMAGE.entry(9) + 12, last)]))
    with pytest.raises(StoryFormatError, match=r"damaged: its objects reach 0x[0-9a-f]{4}"):
        MachineMemory(image, image.data[:DYNAMIC]).property_data(9, 1)


@needs_jericho
@pytest.mark.fuzz
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=8,
)
@given(changes=CHANGES)
def test_whatever_a_damaged_story_does_to_jericho_the_program_goes_on(
    changes: list[tuple[int, bytes]], tmp_path: Path
) -> None:
    path = written(tmp_path, damaged(WHOLE, changes), "damaged.z5")
    with (
        suppress(EngineError, StoryFormatError),
        open_game(path, seed=12, engine="jericho", turn_timeout_seconds=1) as game,
    ):
        game.start()
        for command in COMMANDS:
            if not game.is_over:
                game.step(command)


@pytest.mark.parametrize("rest", [b"", bytes(60), b"\0\3\1\2" + bytes(56)])
def test_a_damaged_glulx_story_cannot_start_and_is_no_game_of_one_text(
    rest: bytes, tmp_path: Path
) -> None:
    with (
        open_game(written(tmp_path, b"Glul" + rest, "damaged.ulx")) as game,
        pytest.raises(EngineError, match="cannot start: the interpreter stopped: "),
    ):
        game.start()


@pytest.mark.parametrize("key", [b'"tag"', b'"rock"', b'"generation"', b'"windows"', b'"type"'])
def test_a_state_whose_part_lost_its_name_is_damaged(key: bytes) -> None:
    with open_game("bundled", seed=12) as game:
        game.start()
        good = decode(game.snapshot(), game.story.sha256, "bocfel")
        state = good.state.replace(key, key[:-2] + b'?"')
        refused = []
        try:
            game.restore(encode(replace(good, state=state), game.story.sha256))
            game.step("look")
        except GameError as error:
            refused.append(error)
        assert refused
