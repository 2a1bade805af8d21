"""A story whose memory tells nothing: every reader of its episode says so, and none makes it 0."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from evaluation.figures import EpisodeFigures, band, variant_figures
from mcp_ghost.cli.screen import Screen
from session.game_state import Observation, TurnRecord
from session.record.event_log import EVENTS_FILE, read
from session.record.schema import EpisodeEnd, EpisodeStart
from session.record.summary import StorySoFar, show_total
from storage.episode_knowledge import read_episode
from tests.support.episodes import answer, played
from tests.support.games import written
from tests.support.tiny_story import READ_KEYS, Object, build, say
from viewer.episode import Episode
from viewer.library import Library
from viewer.show import show_episode

TURNS = 4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An episode of a story that tells no room, no score, no moves and nothing that is carried."""
    image = build([Object("x")], version=5, code=say("Hi.\n") + READ_KEYS)
    story = written(tmp_path, image, "silent.z5")
    played(
        tmp_path,
        [answer(word) for word in ("x", "y", "z", "space")],
        story=str(story),
        max_turns_per_episode=TURNS,
    )
    return next(tmp_path.rglob(EVENTS_FILE)).parent


def test_the_log_holds_no_made_up_number(folder: Path) -> None:
    events = [entry.event for entry in read(folder)]
    (start,) = (it for it in events if isinstance(it, EpisodeStart))
    (end,) = (it for it in events if isinstance(it, EpisodeEnd))
    turns = [it for it in events if isinstance(it, TurnRecord)]
    assert start.unknown == ("room", "score", "moves", "inventory", "deaths")
    for seen in (start.observation, *(turn.after for turn in turns)):
        assert (seen.room, seen.score, seen.moves, seen.inventory) == (None, None, None, None)
    assert {(turn.place, turn.scored, turn.died) for turn in turns} == {(None, None, None)}
    assert (end.score, end.deaths) == (None, None)


def test_what_people_read_says_unknown(folder: Path) -> None:
    output = io.StringIO()
    screen = Screen(Console(file=output, width=100), live=False)
    show_episode(screen, folder)
    lines = [" ".join(line.split()) for line in output.getvalue().splitlines()]
    assert "unknown room, score, moves, inventory, deaths" in lines
    assert {"score unknown", "rooms unknown", "deaths unknown"} <= set(lines)
    so_far = StorySoFar(folder, live=False)
    for entry in read(folder):
        so_far.take(entry)
    output.truncate(0)
    show_total(screen, [so_far])
    assert "1 episode: score unknown, 4 turns" in output.getvalue()


def test_figures_are_computed_from_nothing_that_is_unknown(folder: Path) -> None:
    figures = EpisodeFigures.read(folder)
    summary = figures.summary()
    names = ("moves", "score", "best_score", "rooms", "deaths")
    assert [summary[name] for name in names] == [None] * len(names)
    assert (summary["turns"], summary["scores"]) == (TURNS, [None] * (TURNS + 1))
    of_variant = variant_figures([figures], TURNS)
    assert of_variant["score"] == of_variant["best_score"] == {str(TURNS): None}
    assert of_variant["deaths"] is of_variant["moves"] is None
    assert band([figures], TURNS) == []


def test_storage_and_viewer_keep_it_unknown(folder: Path, tmp_path: Path) -> None:
    account = read_episode(folder)
    assert account is not None
    assert (account.episode.score, account.episode.turns, account.passages) == (None, TURNS, ())
    episode = Episode("silent", folder, "group")
    episode.refresh()
    row = episode.summary()
    assert [row[name] for name in ("score", "best_score", "rooms", "deaths")] == [None] * 4
    (group,) = Library(folder.parent).index([episode])["groups"]
    assert group["score"] is None
    assert episode.json()["map"]["rooms"] == []
    from viewer.drawing import draw_scores  # matplotlib takes a second in every worker

    with pytest.raises(ValueError, match="no score to draw"):
        draw_scores([episode.json()], tmp_path / "scores.png")


def test_logs_of_earlier_versions_have_a_room_0_where_none_is_known() -> None:
    fields = {"room": {"id": 0, "name": "Unnamed place"}, "score": 0, "moves": 1, "world_hash": ""}
    assert Observation.model_validate(fields).room is None
