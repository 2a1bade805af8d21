"""Damaged story files are refused, or fail at a command, with an error that says where."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from game_interface import open_game
from game_interface.child import process
from game_interface.child.play import Play
from game_interface.engines import fernz_engine
from game_interface.errors import EngineError, StoryFormatError
from game_interface.machine.memory import MachineMemory, StoryImage
from game_interface.machine.profile import STORIES, find_profile
from tests.support.games import needs_jericho, written

WHOLE = (STORIES / "weatherworks.z5").read_bytes()
PROFILE = find_profile(StoryImage(WHOLE).sha256, [STORIES])
COMMANDS = ("look", "read letter", "north", "take all", "inventory")
PLACE = re.compile(r"^not a Z-machine story|0x[0-9a-f]+")
"""In the header, or at an address."""


def damaged(data: bytes, changes: list[tuple[int, bytes]]) -> bytes:
    """The story with other bytes at these places."""
    copy = bytearray(data)
    for place, new in changes:
        copy[place : place + len(new)] = new[: len(copy) - place]
    return bytes(copy)


IMAGE = StoryImage(WHOLE)
DICTIONARY = IMAGE.header.dictionary
DYNAMIC = IMAGE.dynamic_size
# Most damage to the header is noticed at once, and most of it to the code never.
CHANGE = st.tuples(
    st.one_of(*[st.integers(0, last) for last in (63, DYNAMIC - 1, len(WHOLE) - 1)]),
    st.binary(min_size=1, max_size=4),
)
CHANGES = st.lists(CHANGE, min_size=1, max_size=30)


@contextmanager
def failing_with_its_place() -> Iterator[None]:
    """What is run may fail, if it says where."""
    try:
        yield
    except StoryFormatError as error:
        if not PLACE.search(str(error)):
            raise
    except EngineError as error:
        if "ran too long" not in str(error):
            raise


@pytest.fixture(scope="module", autouse=True)
def short_turns() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fernz_engine, "MAX_INSTRUCTIONS", 20_000)
        patch.setattr(process, "START_SECONDS", 5.0)
        yield


@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(changes=CHANGES, known=st.booleans())
def test_a_damaged_story_is_played_or_refused_with_the_place(
    changes: list[tuple[int, bytes]], *, known: bool
) -> None:
    story, moment = damaged(WHOLE, changes), None
    with failing_with_its_place():
        play = Play(StoryImage(story), PROFILE if known else None, "fernz", 12)
        moment = play.start()
    for command in COMMANDS:
        with failing_with_its_place():
            if moment and not moment.ending:
                moment = play.step(command)
    if moment:
        assert play.restore(base64.b64decode(moment.snapshot)).facts == moment.facts


@pytest.mark.parametrize(
    "change", [(0x08, b"\xff\xfe"), (DICTIONARY, b"\xff"), (DICTIONARY + 4, b"\0")]
)
def test_a_dictionary_that_does_not_fit_is_refused_with_its_place(
    change: tuple[int, bytes], tmp_path: Path
) -> None:
    story = written(tmp_path, damaged(WHOLE, [change]), "damaged.z5")
    with pytest.raises(StoryFormatError, match=r"damaged: its dictionary at 0x[0-9a-f]{4} has"):
        open_game(story, engine="fernz")


def test_properties_that_do_not_end_are_refused_with_their_place() -> None:
    last = (DYNAMIC - 1).to_bytes(2, "big")
    image = StoryImage(damaged(WHOLE, [(IMAGE.entry(9) + 12, last)]))
    with pytest.raises(StoryFormatError, match=r"damaged: its objects reach 0x[0-9a-f]{4}"):
        MachineMemory(image, image.data[:DYNAMIC]).property_data(9, 1)


@needs_jericho
@pytest.mark.fuzz
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
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
