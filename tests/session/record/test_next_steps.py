from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from orchestration.parts import PARTS
from players import PLAYERS
from session.game_state import EndReason
from session.record.fold import EpisodeFold
from session.record.schema import EpisodeEnd
from session.record.summary import next_steps, to_go_on
from terminal.flags import parse_flags
from viewer.flags import parse_flags as parse_viewer_flags

USUAL = Path("game_files/episodes/played")
ELSEWHERE = Path("/a folder/episodes/played")


def ended(reason: EndReason | None, turns: int = 7) -> EpisodeFold:
    fold = EpisodeFold()
    fold.turns = turns
    fold.end = EpisodeEnd(reason=reason, turns=turns) if reason else None
    return fold


@pytest.mark.parametrize("folder", [USUAL, ELSEWHERE])
@pytest.mark.parametrize("reason", [None, EndReason.ABORTED, EndReason.MAX_TURNS])
def test_every_command_is_one_that_the_programs_take(
    folder: Path, reason: EndReason | None
) -> None:
    place = "played" if folder == USUAL else str(folder)
    steps = dict(next_steps(ended(reason), folder))
    assert len(steps) == 5
    for command in steps.values():
        words = shlex.split(command)
        assert words[:3] == ["uv", "run", "python"]
        if words[3] == "main.py":
            assert parse_flags(words[4:], PARTS, PLAYERS).watch == 0
        else:
            assert words[3:5] == ["-m", "viewer"]
            flags = parse_viewer_flags(words[5:])
            assert flags.workdir == (None if folder == USUAL else Path("/a folder"))
    resumed = parse_flags(shlex.split(steps["Play on"])[4:], PARTS, PLAYERS)
    further = 14 if reason is EndReason.MAX_TURNS else None
    assert (resumed.resume, resumed.max_turns) == (place, further)
    forked = parse_flags(shlex.split(steps["Continue from an earlier turn"])[4:], PARTS, PLAYERS)
    assert forked.fork == (place, 6)


def test_a_game_that_is_over_does_not_go_on() -> None:
    fold = ended(EndReason.VICTORY, 1)
    purposes = [step.purpose for step in next_steps(fold, USUAL)]
    assert purposes[0] == "View it again"
    assert to_go_on(fold, "main.py --resume played") == ""
