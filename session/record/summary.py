"""The first and the last block of an episode, and the sum of several."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from mcp_ghost.cli.screen import Screen
from mcp_ghost.messages import Usage
from mcp_ghost.text import address, counted, dollars, duration, tokens
from session.game_state import UNKNOWN, EndReason, shown
from session.record.event_log import read
from session.record.fold import EpisodeFold
from session.record.next_steps import to_go_on, to_view
from session.record.schema import Entry, EpisodeResumed
from shared_utils import EMBEDDED_BASE_URL

LOG_FILE = "episode.log"

_HEADINGS = {  # whole in a terminal of 40 columns
    EndReason.VICTORY: ("The game is won", "bold green"),
    EndReason.FINAL_DEATH: ("The game is over", "bold red"),
    EndReason.GAME_OVER: ("The game is over", "bold"),
    EndReason.STALLED: ("Nothing new for a long time", "bold yellow"),
    EndReason.MAX_TURNS: ("Turn limit reached ({turns:,})", "bold"),
    EndReason.LLM_UNAVAILABLE: ("The model gave no usable answer", "bold red"),
    EndReason.ENGINE_FAILED: ("The game failed", "bold red"),
    EndReason.ENGINE_REFUSED: ("The game failed at three commands", "bold red"),
    EndReason.ABORTED: ("The episode was stopped", "bold yellow"),
    EndReason.LEFT: ("The player has left", "bold"),
    EndReason.BUDGET: ("Budget used up: raise it to go on", "bold yellow"),
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

    @property
    def place(self) -> str:
        """The name of the room."""
        return self.now.room_name if self.now else ""

    def take(self, entry: Entry) -> None:
        """Add what one line says, after what the log has of earlier runs of the program."""
        began, resumed = self._began, isinstance(entry.event, EpisodeResumed)
        if began is not None and resumed and self.start is None:
            for earlier in read(self.folder):
                super().take(earlier)
        super().take(entry)
        self.seconds = self.turn_seconds if began is None else time.monotonic() - began


def show_header(screen: Screen, so_far: StorySoFar) -> None:
    """What is played, by whom and with what."""
    start, resumed = so_far.start, so_far.resumed
    if start is None:
        return
    base_url = (resumed and resumed.base_url) or start.base_url
    model = (resumed and resumed.model) or start.model
    here = base_url == EMBEDDED_BASE_URL
    where = "on this machine" if here else f"at {address(base_url or '?')}"
    screen.heading(f"ZorkGPT {start.version}".strip(), style="bold cyan")
    screen.facts(
        [
            ("story", f"{start.title} (engine {start.engine}, seed {start.seed})"),
            ("unknown", ", ".join(start.unknown)),
            ("model", f"{model} {where}" if base_url else model),
            ("player", "" if start.player == "model" else start.player),
            ("tools", f"MCP server {start.mcp}" if start.mcp else "none"),
        ],
        to_copy=[("log", str(so_far.folder / LOG_FILE))],
    )


def show_summary(screen: Screen, so_far: StorySoFar) -> None:
    """How the episode went, why it ended and how to continue it."""
    end = so_far.end
    if end is None or so_far.start is None:
        return
    heading, style = _HEADINGS[end.reason]
    screen.heading(heading.format(turns=end.turns), style=style)
    screen.facts(
        [
            ("score", so_far.score_line.replace("/", " of ")),
            ("turns", f"{end.turns:,}"),
            ("rooms", f"{len(so_far.rooms)} seen" if so_far.rooms else UNKNOWN),
            ("deaths", shown(end.deaths)),
            ("tools", counted(end.tool_calls, "call")),
            ("hints", _hinted(so_far.hints)),
            ("model", _took(end.usage)),
            ("time", duration(so_far.seconds)),
            (
                "failure",
                so_far.last_failure if end.reason in _FAILURES else "",
            ),
        ],
        to_copy=[
            ("log", str(so_far.folder / LOG_FILE)),
            ("view", to_view(so_far.folder)),
            ("resume", to_go_on(so_far, so_far.to_resume)),
        ],
    )


def show_total(screen: Screen, episodes: Sequence[StorySoFar]) -> None:
    """The sum of several episodes that have ended, in one line."""
    ends = [episode.end for episode in episodes if episode.end]
    scores = [end.score for end in ends if end.score is not None]
    best = f"best score {max(scores)}, mean {mean(scores):.1f}" if scores else f"score {UNKNOWN}"
    screen.text(
        f"{counted(len(ends), 'episode')}: {best}, "
        f"{counted(sum(end.turns for end in ends), 'turn')}, "
        f"{counted(sum(end.tool_calls for end in ends), 'tool call')}, "
        f"{_took(sum((end.usage for end in ends), Usage()))}, "
        f"{duration(sum(episode.seconds for episode in episodes))}"
        f"{_hinted_of(episodes)}",
        "bold",
        mark="Σ",
    )


def _hinted(hints: int) -> str:
    """What to say beside the figures of an episode in which the player was helped."""
    return f"{counted(hints, 'hint')} from the person watching: not an unaided score" * bool(hints)


def _hinted_of(episodes: Sequence[StorySoFar]) -> str:
    hinted = sum(bool(episode.hints) for episode in episodes)
    return f"; {hinted} with hints from the person watching, so not unaided" * bool(hinted)


def _took(usage: Usage) -> str:
    took = [counted(usage.calls, "request")]
    if usage.prompt_tokens:
        took.append(tokens(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    if usage.cost:
        took.append(dollars(usage.cost))
    return ", ".join(took)
