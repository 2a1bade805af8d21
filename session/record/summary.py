"""The first and the last block of an episode, the sum of several, and what can be done next."""

import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from mcp_ghost.cli.screen import Screen
from mcp_ghost.messages import Usage
from mcp_ghost.text import address, counted, dollars, duration, tokens
from session.game_configuration import GameConfiguration
from session.game_state import UNKNOWN, EndReason, shown
from session.record.event_log import read
from session.record.fold import EpisodeFold
from session.record.schema import Entry, EpisodeResumed
from shared_utils import EMBEDDED_BASE_URL

LOG_FILE = "episode.log"
_HINTED = "from the person watching"

_MAIN = ("uv", "run", "python", "main.py")
_VIEWER = ("uv", "run", "python", "-m", "viewer")
_HEADINGS = {  # whole in a terminal of 40 columns
    EndReason.VICTORY: ("The game is won", "bold green"),
    EndReason.FINAL_DEATH: ("The game is over", "bold red"),
    EndReason.GAME_OVER: ("The game is over", "bold"),
    EndReason.STALLED: ("Nothing new for a long time", "bold yellow"),
    EndReason.MAX_TURNS: ("Turn limit reached ({turns:,})", "bold"),
    EndReason.LLM_UNAVAILABLE: ("The model gave no usable answer", "bold red"),
    EndReason.ENGINE_FAILED: ("The game failed", "bold red"),
    EndReason.ENGINE_REFUSED: ("Three commands in a row failed", "bold red"),
    EndReason.ABORTED: ("The episode was stopped", "bold yellow"),
    EndReason.LEFT: ("The player has left", "bold"),
    EndReason.BUDGET: ("Budget spent: raise it to continue", "bold yellow"),
}


_FAILURES = frozenset(
    {EndReason.LLM_UNAVAILABLE, EndReason.ENGINE_FAILED, EndReason.ENGINE_REFUSED}
)


class StorySoFar(EpisodeFold):
    """The episode in ``folder``, with what only its header and summary show."""

    def __init__(self, folder: Path, to_resume: str = "", *, live: bool = True) -> None:
        """``to_resume`` is the command to continue the episode, being played if ``live``."""
        super().__init__()
        self.folder = folder
        self.to_resume = to_resume
        self.seconds = 0.0
        """How long this run of the program has been playing, or how long the turns took."""
        self._began = time.monotonic() if live else None

    def take(self, entry: Entry) -> None:
        """Add what one line says, after what the log has of earlier runs of the program."""
        began, resumed = self._began, isinstance(entry.event, EpisodeResumed)
        if began is not None and resumed and self.start is None:
            for earlier in read(self.folder):
                super().take(earlier)
        super().take(entry)
        self.seconds = self.turn_seconds if began is None else time.monotonic() - began


def show_header(screen: Screen, so_far: StorySoFar) -> None:
    """Show what is played, by whom and with what."""
    start, resumed = so_far.start, so_far.resumed
    if start is None:
        return
    base_url = (resumed and resumed.base_url) or start.base_url
    model = (resumed and resumed.model) or start.model
    without = "none" if start.player == "model" else "none: this player calls no tools"
    screen.heading(f"ZorkGPT {start.version}".strip(), style="bold cyan")
    screen.facts(
        [
            ("story", f"{start.title} (engine {start.engine}, seed {start.seed})"),
            ("unknown", ", ".join(start.unknown)),
            ("model", f"{model} {where(base_url)}" if base_url else model),
            ("player", "" if start.player == "model" else start.player),
            ("tools", f"MCP server {start.mcp}" if start.mcp else without),
        ],
        to_copy=[("log", str(so_far.folder / LOG_FILE))],
    )


def where(base_url: str) -> str:
    """Tell where the model is that answers at this address."""
    return "on this machine" if base_url == EMBEDDED_BASE_URL else f"at {address(base_url)}"


def show_summary(screen: Screen, so_far: StorySoFar) -> None:
    """Tell how the episode went, why it ended and how to continue it."""
    end = so_far.end
    if end is None or so_far.start is None:
        return
    hints, (heading, style) = so_far.hints, _HEADINGS[end.reason]
    screen.heading(heading.format(turns=end.turns), style=style)
    screen.facts(
        [
            ("score", so_far.score_line.replace("/", " of ")),
            ("turns", f"{end.turns:,}"),
            ("rooms", f"{len(so_far.rooms)} seen" if so_far.rooms else UNKNOWN),
            ("deaths", shown(end.deaths)),
            ("tools", counted(end.tool_calls, "call")),
            ("hints", f"{counted(hints, 'hint')} {_HINTED}: not an unaided score" * bool(hints)),
            ("model", _took(end.usage)),
            ("time", duration(so_far.seconds)),
            ("failure", so_far.last_failure if end.reason in _FAILURES else ""),
        ],
        to_copy=[
            ("log", str(so_far.folder / LOG_FILE)),
            ("view", to_view(so_far.folder)),
            ("resume", to_go_on(so_far, so_far.to_resume)),
        ],
    )


def show_total(screen: Screen, episodes: Sequence[StorySoFar]) -> None:
    """Show the sum of several episodes that have ended, in one line."""
    ends = [episode.end for episode in episodes if episode.end]
    scores = [end.score for end in ends if end.score is not None]
    best = f"best score {max(scores)}, mean {mean(scores):.1f}" if scores else f"score {UNKNOWN}"
    hinted = sum(bool(episode.hints) for episode in episodes)
    screen.text(
        f"{counted(len(ends), 'episode')}: {best}, "
        f"{counted(sum(end.turns for end in ends), 'turn')}, "
        f"{counted(sum(end.tool_calls for end in ends), 'tool call')}, "
        f"{_took(sum((end.usage for end in ends), Usage()))}, "
        f"{duration(sum(episode.seconds for episode in episodes))}"
        + f"; {hinted} with hints {_HINTED}, so not unaided"
        * bool(hinted),
        "bold",
        mark="Σ",
    )


def used(usage: Usage) -> Iterator[str]:
    """Yield tokens and dollars, as far as they are known."""
    if usage.prompt_tokens:
        yield tokens(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
    if usage.cost:
        yield dollars(usage.cost)


def _took(usage: Usage) -> str:
    return ", ".join([counted(usage.calls, "request"), *used(usage)])


class NextStep(NamedTuple):
    """A command and what it is for."""

    purpose: str
    command: str


def next_steps(fold: EpisodeFold, folder: Path, to_resume: str = "") -> Iterator[NextStep]:
    """Of the episode in ``folder``, which ended as ``fold`` says, or was interrupted.

    ``to_resume`` is the command that continues it in the same way, where that is known.
    """
    place = str(folder) if _workdir(folder) else folder.name
    if fold.end is None or not fold.end.reason.is_final:
        resume = to_resume or shlex.join([*_MAIN, "--resume", place])
        yield NextStep("Play on", f"{resume}{_further(fold)} --watch")
    if fold.turns > 1:
        fork = [*_MAIN, "--fork", f"{place}@{fold.turns - 1}", "--watch"]
        yield NextStep("Continue from an earlier turn", shlex.join(fork))
    yield NextStep("View it again", to_view(folder))
    export = [*_VIEWER, "export", "site", folder.name, *_workdir(folder)]
    yield NextStep("Export it for any web host", shlex.join(export))
    yield NextStep("Play another game", shlex.join([*_MAIN, "--watch"]))


def to_view(folder: Path) -> str:
    """Return the command that shows the episode in ``folder``, among its others."""
    return shlex.join([*_VIEWER, "--open", *_workdir(folder)])


def to_go_on(fold: EpisodeFold, to_resume: str) -> str:
    """``to_resume``, as it has to be typed after such an end; empty where nothing can go on."""
    if fold.end is None or fold.end.reason.is_final or not to_resume:
        return ""
    return to_resume + _further(fold)


def _further(fold: EpisodeFold) -> str:
    """More turns, where those allowed are used up."""
    end = fold.end
    used_up = end is not None and end.reason is EndReason.MAX_TURNS
    return f" --max-turns {2 * end.turns}" if end and used_up else ""


def _workdir(folder: Path) -> list[str]:
    """Return the flag that names the work folder, where it is not the usual one."""
    workdir = str(folder.parent.parent)
    usual = GameConfiguration.model_fields["workdir"].default
    return [] if workdir == usual else ["--workdir", workdir]
