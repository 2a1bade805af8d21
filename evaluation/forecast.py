"""What is known before episodes are played: how long they may take, and which would fail again."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from evaluation.figures import EpisodeFigures
from evaluation.plan import Cell, Plan
from mcp_ghost.text import counted, one_line
from session.game_state import EndReason
from session.playing import GUEST, REPEATS_ITSELF, USES_MODEL

_FAILED = (EndReason.ENGINE_FAILED, EndReason.LLM_UNAVAILABLE)
_LONG_SECONDS = 600
"""If it may take longer than this, somebody at a terminal is asked first."""
_TURN_SECONDS = {"embedded": 3.1, "model": 5.0, "none": 0.05}
"""Of one turn, of those that are played at a time, where nothing was played yet: with the embedded
model as measured in docs/evaluation.md, with one elsewhere about as hosted ones answer."""


def worthwhile(
    plan: Plan, lines: Sequence[Sequence[Cell]], console: Console
) -> list[Sequence[Cell]]:
    """Leave out what would fail as it did before, and say so."""
    rest = []
    for line in lines:
        cell = line[0]
        played = EpisodeFigures.read(plan.folder(cell))
        failed, player = played.end_reason in _FAILED, plan.variant(cell).player
        if failed and player in REPEATS_ITSELF:
            console.print(
                Text(
                    f"{cell}: not continued, because {player} would give the same "
                    f"command again ({one_line(played.last_failure)}). To start it over, remove "
                    f"{plan.folder(cell)}"
                ),
                soft_wrap=True,
            )
        else:
            rest.append(line)
    return rest


def declined(plan: Plan, lines: Sequence[Sequence[Cell]], jobs: int, console: Console) -> bool:
    """Say how long it may take; whether somebody who was asked would not wait."""
    model = "embedded" if plan.config.uses_embedded_model else "model"
    seconds = 0.0
    for cell in (cell for line in lines for cell in line):
        played = EpisodeFigures.read(plan.folder(cell))
        asks = plan.variant(cell).player in (*USES_MODEL, GUEST)
        a_turn = _TURN_SECONDS[model if asks else "none"]
        if played.turns:
            a_turn = (played.turn_seconds + played.reflection_seconds) / played.turns
        seconds += a_turn * (plan.turns - played.turns)
    seconds /= min(jobs, len(lines))
    if seconds < _LONG_SECONDS or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    minutes = seconds / 60
    about = counted(round(minutes), "minute")
    if minutes >= 90:
        about = counted(round(minutes / 60), "hour")
    question = (
        f"This may take about {about}: {counted(sum(map(len, lines)), 'episode')} of "
        f"up to {counted(plan.turns, 'turn')}. It can be interrupted and continued at any time.\n"
        "Begin? [y/N] "
    )
    console.print(Text(question), end="", soft_wrap=True)
    return input().strip().lower() not in ("y", "yes")
