"""What an episode is worth to the next, for a model that acts on nothing but what it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.game_interface.test_facts import profiled, tiny_world
from tests.support.episodes import Played, played, system_text, user_text
from tests.support.games import BUNDLED_COMMANDS, ZORK1, ZORK1_SEED, needs_zork1, zork1_solution
from tests.support.mind.reader import perfect_reader
from tests.support.tiny_story import loop, say
from workshop.benchmarks.prompt_cost import prompt_cost
from workshop.scripted_model import ScriptedModel


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
    assert [it.command for it in (*first.turns, *second.turns) if it.refused] == []
    assert "## What scored in earlier episodes" not in system_text(alone.requests[0])
    assert alone.end["reason"] != "victory"
    assert alone.end["score"] < points / 2


def assert_nothing_is_lost_or_told_twice(episode: Played) -> None:
    """Thoughts, commands and points of every turn so far, in each prompt, once."""
    turns = episode.turns
    for number, request in enumerate(episode.requests):
        story, now = request.messages[1:-1], user_text(request, message=-1)
        said = [json.loads(str(it["content"])) for it in story if it["role"] == "assistant"]
        done = turns[: len(said)]
        assert len(said) == number
        assert [(it["thinking"], it["action"]) for it in said] == [
            (it.thinking, it.command) for it in done
        ]
        whole = user_text(request)
        points = [it for it in done if it.scored]
        assert whole.count(" points, now ") == len(points)
        assert all(f"[{it.scored:+d} points, now {it.after.score}]" in whole for it in points)
        told_before = "\n".join(str(it["content"]) for it in story)
        repeated = [line for line in now.splitlines() if len(line) > 160 and line in told_before]
        assert [it for it in repeated if it not in str(turns[number - 1].response)] == []


def assert_is_cached(episode: Played, tokens: int) -> None:
    cost = prompt_cost(episode.requests, len(episode.turns))
    assert cost.repeated_share >= 0.85
    assert cost.cached_price_per_turn < tokens


@pytest.mark.soak
def test_a_perfect_reader_wins_the_second_episode_by_the_ledger_of_the_first_and_not_without(
    tmp_path: Path,
) -> None:
    first, second, alone = episodes(tmp_path, BUNDLED_COMMANDS)
    assert_read(first, second, alone, points=100)
    assert_nothing_is_lost_or_told_twice(first)
    assert_is_cached(first, tokens=2655)  # what a turn cost uncached before there was a story


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
    settings = {"story": ZORK1, "seed": ZORK1_SEED}
    first, second, alone = episodes(
        tmp_path, [*zork1_solution()], context_history_tokens=100_000, **settings
    )
    assert_read(first, second, alone, points=350)
    assert_nothing_is_lost_or_told_twice(first)
