"""Figures against hand counts of small logs, and how they are shown."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from evaluation.figures import EpisodeFigures, LogTail, Spread, band, checkpoints, variant_figures
from evaluation.outcome.stored import StoredEvaluation
from evaluation.outcome.tables import Table
from evaluation.plan import Cell
from evaluation.plot import plot_scores
from evaluation.report import results_of, tables_of
from mcp_ghost.messages import Usage
from session.game_configuration import ConfigurationError
from session.game_state import ToolUse
from session.knowledge import Reflection
from session.record.event_log import EVENTS_FILE
from session.record.schema import parse
from tests.evaluation.made_up import agreed, episode, event, played, start, turn, write

TOOL = ToolUse(name="a.b", arguments={}, result="", is_error=False, duration_ms=1.0)


def test_an_episode_is_counted_as_by_hand(tmp_path: Path) -> None:
    usage = Usage(calls=2, prompt_tokens=100, cached_tokens=60, completion_tokens=8, cost=0.5)
    looked_back = Reflection(number=1, first_turn=1, last_turn=2, usage=usage, seconds=2.0)
    failed = looked_back.model_copy(update={"failure": "nothing to read"})
    events = [
        start(),
        turn(1, 5, usage=usage, seconds=1.5, tools=(TOOL, TOOL)),
        event("reflection", turn=1, **looked_back.model_dump(mode="json")),
        turn(2, 9, usage=usage, seconds=0.5, died=True),
        event("mcp_tool_call", turn=3),
        event("turn_failed", turn=3, failure="no reply", usage=asdict(usage), seconds=0.5),
        turn(3, 4, usage=usage, seconds=0.5, tools=(TOOL,)),
        event("reflection", turn=3, **failed.model_dump(mode="json")),
        event("hint", turn=4, text="Go up."),
        event("episode_end", reason="max_turns", turns=3),
    ]
    write(tmp_path, events)
    figures = EpisodeFigures.read(tmp_path)
    assert figures.summary() == {
        "end_reason": "max_turns",
        "finished": True,
        "turns": 3,
        "moves": 0,
        "score": 4,
        "best_score": 9,
        "max_score": 50,
        "rooms": 3,
        "hints": 1,
        "deaths": 1,
        "restarts": 0,
        "failed_turns": 1,
        "engine_refused": 0,
        "tool_calls": 3,
        "refused_proposals": 0,
        "reflections": 2,
        "failed_reflections": 1,
        "requests": None,
        "failed_requests": None,
        "model_calls": 12,
        "prompt_tokens": 600,
        "cached_tokens": 360,
        "completion_tokens": 48,
        "cost": 3.0,
        "seconds": 7.0,
        "scores": [0, 5, 9, 4],
    }
    of_variant = variant_figures([figures], 3)
    assert of_variant["cached_share"] == 0.6
    assert of_variant["cost_per_turn"]["median"] == 1.0
    assert of_variant["score"]["3"]["median"] == 4
    assert of_variant["best_score"]["3"]["median"] == 9


@pytest.mark.parametrize(
    ("ends", "finished"),
    [
        (["max_turns"], True),
        (["victory"], True),
        (["stalled"], True),
        ([], False),
        (["aborted"], False),
        (["llm_unavailable"], False),
        (["aborted", "resumed"], False),
        (["aborted", "resumed", "final_death"], True),
    ],
)
def test_only_an_end_that_nothing_can_follow_is_one(ends: list[str], *, finished: bool) -> None:
    figures = EpisodeFigures()
    figures.take(parse(start()))
    for end in ends:
        resumed = end == "resumed"
        figures.take(
            parse(event("episode_resumed") if resumed else event("episode_end", reason=end))
        )
    assert figures.finished is finished


def test_quartiles_are_the_inclusive_ones_of_the_standard_library() -> None:
    assert Spread.of([1, 2, 3, 4]) == Spread(2.5, 1.75, 3.25, 1, 4)
    assert Spread.of([7]) == Spread(7, 7, 7, 7, 7)


def test_an_episode_that_ended_early_keeps_its_score_at_later_checkpoints() -> None:
    rising = episode(list(range(1, 61)))
    over = episode([30], "final_death")
    figures = variant_figures([rising, over], 60)
    assert list(figures["score"]) == ["50", "60"]
    assert figures["score"]["50"]["median"] == (50 + 30) / 2
    assert figures["score"]["60"]["highest"] == 60
    assert figures["score"]["60"]["lowest"] == 30
    assert [spread.median for spread in band([rising, over], 60)][:3] == [0, 15.5, 16]


def test_checkpoints_are_those_within_the_turns_and_the_last_turn() -> None:
    assert checkpoints(30) == [30]
    assert checkpoints(100) == [50, 100]
    assert checkpoints(300) == [50, 100, 200, 300]


def test_what_failed_counts_as_far_as_it_was_played_and_all_ends_are_told() -> None:
    figures = variant_figures(
        [episode([3]), episode([40], "llm_unavailable"), EpisodeFigures()], 50
    )
    assert (figures["episodes"], figures["begun"], figures["finished"]) == (3, 2, 1)
    assert figures["end_reasons"] == {"max_turns": 1, "llm_unavailable": 1, "not played": 1}
    assert figures["score"]["50"]["highest"] == 40


def test_a_variant_without_a_finished_episode_has_no_figures_but_a_row(tmp_path: Path) -> None:
    never = StoredEvaluation(tmp_path, agreed(turns=60), {Cell("whole", 1, 1): EpisodeFigures()})
    tables = tables_of(results_of(never), 60)
    assert tables[0].rows[0] == ["whole", "50", "-", "-", "-", "-"]
    assert tables[1].rows[0] == ["whole", "50", "0", "-", "-"]
    assert "1 Not played" in tables[3].markdown()
    assert band([EpisodeFigures()], 60) == []


def test_a_log_that_is_damaged_or_missing_counts_as_far_as_it_can_be_read(tmp_path: Path) -> None:
    write(tmp_path, [start(), turn(1, 5)], "no event\n")
    assert EpisodeFigures.read(tmp_path).curve == [0, 5]
    assert EpisodeFigures.read(tmp_path / "nowhere").turns == 0


def test_a_growing_log_is_followed_line_by_line(tmp_path: Path) -> None:
    tail = LogTail(tmp_path / EVENTS_FILE)
    assert tail.update() == 0
    misleading = turn(1, 5, response='She says: {"event_type": "turn"}')
    write(tmp_path, [start(), misleading], json.dumps(turn(2, 5))[:40])
    assert tail.update() == 1
    write(tmp_path, [start(), misleading, turn(2, 5), turn(3, 5)])
    assert (tail.update(), tail.update()) == (3, 3)


def test_tables_show_median_quartiles_and_best() -> None:
    scores = {seed: [score] for seed, score in enumerate((1, 2, 3, 40))}
    score, _, _, play, cost = tables_of(results_of(played({"whole": scores})), 1)
    assert score.rows == [["whole", "1", "2.5 [1.8, 12.2]", "40", "2.5 [1.8, 12.2]", "40"]]
    assert play.rows[0][:3] == ["whole", "4 of 4", "1"]
    assert cost.rows == [["whole", "-", "1", "10", "0%", "0", "-", "0.1"]]


def test_a_table_can_be_pasted_as_markdown() -> None:
    assert Table("Score", ["variant", "turn"], [["whole", "50"]]).markdown() == (
        "**Score**\n\n| variant | turn |\n| --- | --: |\n| whole | 50 |\n"
    )


@pytest.mark.parametrize(
    ("model", "guests", "said"),
    [
        ("m", {}, "with m on this machine"),
        ("none", {}, "without a model"),
        ("none", {"mcp": "agent"}, "without a model of ours"),
    ],
)
def test_before_any_episode_has_begun_only_a_model_that_would_be_asked_is_named(
    model: str, guests: dict[str, str], said: str
) -> None:
    about = agreed(model=model, guests=guests)
    none = StoredEvaluation(Path("nowhere"), about, {Cell("whole", 1, 1): EpisodeFigures()})
    assert f", played {said}, up to 1 turn" in results_of(none)["statement"]


@pytest.mark.slow
def test_a_plot_names_axes_and_variants_and_is_the_same_each_time(tmp_path: Path) -> None:
    bands = {
        "whole": band([episode([1, 2]), episode([3, 9])], 2),
        "bare": band([episode([0, 1])], 2),
        "never finished": [],
    }
    png, svg = plot_scores(bands, "A made-up game", 50, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    drawn = svg.read_text()
    for words in ("turn", "score (of 50)", "whole", "bare", "A made-up game"):
        assert f"<!-- {words}" in drawn
    assert "never finished" not in drawn
    plot_scores(bands, "A made-up game", 50, tmp_path)
    assert svg.read_text() == drawn


def test_without_a_finished_episode_there_is_no_plot(tmp_path: Path) -> None:
    assert plot_scores({"whole": []}, "A made-up game", None, tmp_path) == []


def test_without_matplotlib_a_plot_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "viewer.drawing", raising=False)
    bands = {"whole": band([episode([1, 2])], 2)}
    with pytest.raises(ConfigurationError, match=r"needs matplotlib.*uv sync --extra plot"):
        plot_scores(bands, "A made-up game", 50, tmp_path)
