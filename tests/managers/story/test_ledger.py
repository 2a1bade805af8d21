"""What is told of points of earlier episodes, and which of them are passed on."""

from __future__ import annotations

from managers.manager import CHARACTERS_PER_TOKEN
from managers.story.ledger import TOKEN_BUDGET, Ledger
from session.game_state import Place
from session.knowledge import CarriedOver, Scored
from storage.selection import MOST_OTHER_SCORES, best_scores
from tests.support.records import observation

HALL = Place(id=1, name="Hall")


def scored(episode: str, turn: int, command: str, points: int, **more: object) -> Scored:
    values = {"episode": episode, "turn": turn, "room": HALL, "command": command, "points": points}
    return Scored.model_validate({**values, **more})


def told(*scores: Scored) -> str:
    ledger = Ledger()
    ledger.begin(observation(1), CarriedOver(scores=best_scores(scores)))
    return "\n".join(section.text() for section in ledger.preamble())


def test_where_nothing_scored_nothing_is_told() -> None:
    assert told() == ""


def test_the_best_run_is_told_whole_with_all_commands_up_to_its_last_points() -> None:
    text = told(
        scored("a", 3, "take gem", 5, by=("north", "open box")),
        scored("a", 9, "jump", -10, died=True, by=("up",)),
        scored("a", 12, "put gem in case", 20, by=("west", "down")),
        scored("a", 30, "jump", -10, died=True, by=("look",)),
        scored("b", 2, "take gem", 5, by=("north", "open box")),
    )
    lines = text.splitlines()
    assert lines[0] == "## What scored in earlier episodes"
    assert lines[2:5] == [
        "- turn 3, Hall, +5 points: north; open box; take gem",
        "- turn 9, Hall, -10 points, you died: up; jump",
        "- turn 12, Hall, +20 points: west; down; put gem in case",
    ]
    assert len(lines) == 5, "what another run repeats is not told twice"


def test_a_victory_belongs_to_the_best_run_although_it_brings_no_points() -> None:
    text = told(
        scored("a", 5, "take gem", 5),
        scored("a", 9, "enter barrow", 0, won=True, by=("west",)),
        scored("b", 3, "take gem", 5),
    )
    assert text.endswith("- turn 9, Hall, you won: west; enter barrow")


def test_of_equal_runs_the_shorter_one_is_the_best() -> None:
    assert "turn 3, " in told(scored("a", 5, "take gem", 5), scored("b", 3, "take gem", 5))


def test_points_and_deaths_of_other_runs_are_told_without_their_way() -> None:
    text = told(
        scored("a", 5, "take gem", 50),
        scored("b", 7, "take hat", 5, by=("up",)),
        scored("b", 8, "jump", -10, died=True),
        scored("b", 9, "drop hat", -5),
    )
    assert text.endswith(
        "without the commands that led there:\n"
        "- Hall, -10 points, you died: jump\n- Hall, +5 points: take hat"
    )


def test_what_is_begun_anew_is_another_run() -> None:
    text = told(
        scored("a", 5, "take gem", 5, by=("up",)),
        scored("a", 9, "take gem", 5, run=1, by=("down",)),
    )
    assert "up; take gem" in text
    assert "down" not in text


def test_a_ledger_of_many_and_long_ways_keeps_its_budget() -> None:
    by = tuple(f"command number {number}" for number in range(100))
    best = [scored("a", turn, f"take {turn}", 5, by=by) for turn in range(1, 81)]
    others = [scored("b", turn, f"drop {turn}", 1) for turn in range(1, 301)]
    text = told(*others, *best)
    assert text.count("\n- turn ") == 80
    assert text.count("drop ") == MOST_OTHER_SCORES
    of_the_best = text.partition("What else scored")[0]
    assert len(of_the_best) < TOKEN_BUDGET * CHARACTERS_PER_TOKEN + 500
    assert "…; command number 92; " in text
