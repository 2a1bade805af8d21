"""How far an evaluation is: episodes and turns played, and the time left."""

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from evaluation.figures import EpisodeFigures
from evaluation.plan import Cell, Plan
from mcp_ghost.text import counted, one_line
from session.game_state import ENDINGS, shown

_SPEED_SECONDS = 1800.0
"""The time left is estimated from the turns of the last seconds: a slow model's turns are long."""
_NO_COST = "--max-cost has no effect as long as the model's replies report no cost"


def say(console: Console, line: str, style: str = "") -> None:
    """Print a line in which brackets are no markup, and which only the terminal breaks."""
    console.print(Text(line, style), soft_wrap=True)


class ProgressBars(Progress):
    """Two bars on a terminal; a line for each episode that has ended, everywhere."""

    def __init__(
        self,
        console: Console,
        plan: Plan,
        turns_before: dict[Cell, int],
        *,
        max_cost: float | None = None,
    ) -> None:
        """``turns_before`` holds every episode of the plan: the turns of earlier runs."""
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            auto_refresh=False,  # only one thread writes, and learns when nobody reads
            speed_estimate_period=_SPEED_SECONDS,
        )
        self._needs_cost = max_cost is not None
        self._whole = plan.turns
        self._turns = turns_before
        """Turns done of each episode; all of them once it has ended, however early."""
        self._ended = sum(turns >= plan.turns for turns in turns_before.values())
        total = len(turns_before)
        self._episodes = self.add_task("episodes", total=total, completed=self._ended)
        self._all_turns = self.add_task(
            "turns", total=total * self._whole, completed=sum(turns_before.values())
        )

    def show(self, running: Sequence[tuple[Cell, int]]) -> None:
        """Count the turns of the episodes being played."""
        self._turns.update(running)
        self._update()

    def say(self, line: str) -> None:
        """One line above the bars."""
        say(self.console, line)

    def ended(self, cell: Cell, played: EpisodeFigures, failure: str) -> None:
        """Say how an episode ended."""
        if played.finished:
            self._ended += 1
            self._turns[cell] = self._whole
        how = failure or ENDINGS.get(played.end_reason) or "Not begun"
        score = f", score {shown(played.score)}" if played.start else ""
        score += f" with {counted(played.hints, 'hint')}" if played.hints else ""
        style = "" if played.finished else "red"
        line = f"{cell}: {one_line(how)}, {counted(played.turns, 'turn')}{score}"
        say(self.console, line, style)
        billed = played.billed
        if self._needs_cost and billed.calls and not billed.cost:
            self._needs_cost = False
            self.say(_NO_COST)
        self._update()

    def _update(self) -> None:
        self.update(self._episodes, completed=self._ended)
        self.update(self._all_turns, completed=sum(self._turns.values()))
        self.refresh()
