"""What an episode is worth to the next, for a model that acts on nothing but what it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.scripted_model import ScriptedModel
from tests.game_interface.test_facts import profiled, tiny_world
from tests.support.episodes import Played, played, system_text, user_text
from tests.support.games import BUNDLED_COMMANDS, ZORK1, needs_zork1
from tests.support.mind.reader import perfect_reader
from tests.support.tiny_story import loop, say
from tests.test_walkthroughs import ZORK1_SEED, zork1_commands


def episodes(folder: Path, commands: list[str], **settings: Any) -> tuple[Played, Played, Played]:  # noqa: ANN401  of the configuration
    """One that plays ``commands``, and two that read: with what it learned, and without."""
    known = {"context_profile": "full", "max_turns_per_episode": len(commands) + 20, **settings}
    first = played(folder, ScriptedModel(commands), episode="first", **known)
    second = played(folder, perfect_reader, episode="second", **known)
    alone = played(folder, perfect_reader, episode="alone", storage_carry_over=False, **known)
    return first, second, alone


def assert_read(first: Played, second: Played, alone: Played, points: int) -> None:
    assert (first.end["reason"], first.end["score"]) == ("victory", points)
    assert (second.end["reason"], second.end["score"]) == ("victory", points)
    assert second.given == first.given
    assert "## What scored in earlier episodes" not in system_text(alone.requests[0])
    assert alone.end["reason"] != "victory"
    assert alone.end["score"] < points / 2


def test_a_perfect_reader_wins_the_second_episode_by_the_ledger_of_the_first_and_not_without(
    tmp_path: Path,
) -> None:
    assert_read(*episodes(tmp_path, BUNDLED_COMMANDS), points=100)


def test_without_the_ledger_nothing_of_earlier_points_is_told(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"context_profile": "full", "max_turns_per_episode": 3}
    for name, is_on, told in (("one", True, False), ("two", True, True), ("three", False, False)):
        episode = played(
            tmp_path,
            ScriptedModel(["north", "north"]),
            episode=name,
            ledger_enabled=is_on,
            **settings,
        )
        head = system_text(episode.requests[0])
        assert ("+2 points: north; north" in head) == told


@pytest.mark.parametrize("is_on", [True, False])
def test_without_condition_none_is_told(tmp_path: Path, is_on: bool) -> None:
    image = tiny_world(code=say("Hall\n") + loop(say("The ogre swings his club.\n")))
    profiled(tmp_path, image).close()
    story = str(next(tmp_path.glob("tiny.z*")))
    episode = played(
        tmp_path,
        ScriptedModel([]),
        story=story,
        max_turns_per_episode=2,
        condition_enabled=is_on,
    )
    told = "## Your condition\nUnder attack in turn 1."
    assert (told in user_text(episode.requests[-1])) == is_on


@needs_zork1
@pytest.mark.soak
def test_a_perfect_reader_wins_zork_in_the_second_episode_and_not_without_the_ledger(
    tmp_path: Path,
) -> None:
    settings = {"story": ZORK1, "seed": int(ZORK1_SEED)}
    assert_read(*episodes(tmp_path, zork1_commands(), **settings), points=350)
