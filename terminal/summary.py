"""The first and the last block of an episode, and the sum of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_model import EMBEDDED_BASE_URL
from mcp_ghost.text import address, counted, dollars, duration, tokens
from session.episode_log import LOG_FILE
from session.game_state import EndReason, Usage

if TYPE_CHECKING:
    from mcp_ghost.screen import Screen
    from terminal.story_so_far import StorySoFar

_HEADINGS = {
    EndReason.VICTORY: ("The game is won", "bold green"),
    EndReason.FINAL_DEATH: ("The game is over", "bold red"),
    EndReason.STALLED: ("The episode ended: nothing new happened for a long time", "bold yellow"),
    EndReason.MAX_TURNS: ("The episode ended: its last turn was played", "bold"),
    EndReason.LLM_UNAVAILABLE: ("The episode stopped: the model gave no usable answer", "bold red"),
    EndReason.ABORTED: ("The episode was stopped", "bold yellow"),
    EndReason.BUDGET: (
        "The episode ended: its budget is used up, raise it to go on",
        "bold yellow",
    ),
}


def show_header(screen: Screen, so_far: StorySoFar) -> None:
    """What is played, by whom and with what."""
    start = so_far.start
    here = start.get("base_url") == EMBEDDED_BASE_URL
    where = "on this machine" if here else f"at {address(start.get('base_url') or '?')}"
    screen.heading(f"ZorkGPT {start.get('version', '')}".strip(), style="bold cyan")
    screen.facts(
        [
            ("story", f"{start['title']} (engine {start['engine']}, seed {start['seed']})"),
            ("model", f"{start['model']} {where}"),
            ("tools", f"MCP server {start['mcp']}" if start.get("mcp") else "none"),
        ],
        to_copy=[("log", str(so_far.folder / LOG_FILE))],
    )


def show_summary(screen: Screen, so_far: StorySoFar) -> None:
    """How the episode went, why it ended and how it can go on."""
    end = so_far.end
    reason = EndReason(end["reason"])
    usage = Usage.model_validate(end["usage"])
    heading, style = _HEADINGS[reason]
    screen.heading(heading, style=style)
    screen.facts(
        [
            ("score", so_far.score_line.replace("/", " of ")),
            ("turns", f"{end['turns']:,}"),
            ("rooms", f"{len(so_far.rooms)} seen"),
            ("deaths", str(end["deaths"])),
            ("tools", counted(end["tool_calls"], "call")),
            ("model", _took(usage)),
            ("time", duration(so_far.seconds)),
            ("failure", so_far.last_failure if reason is EndReason.LLM_UNAVAILABLE else ""),
        ],
        to_copy=[
            ("log", str(so_far.folder / LOG_FILE)),
            ("go on", "" if reason.is_final else _to_resume(so_far, reason)),
        ],
    )


def show_total(screen: Screen, episodes: Sequence[StorySoFar]) -> None:
    """The sum of several episodes that have ended, in one line."""
    ends = [episode.end for episode in episodes]
    scores = [end["score"] for end in ends]
    names = Usage.model_fields
    usage = Usage(**{name: sum(end["usage"][name] for end in ends) for name in names})
    screen.text(
        f"{counted(len(ends), 'episode')}: best score {max(scores)}, "
        f"mean {sum(scores) / len(scores):.1f}, "
        f"{counted(sum(end['turns'] for end in ends), 'turn')}, "
        f"{counted(sum(end['tool_calls'] for end in ends), 'tool call')}, "
        f"{_took(usage)}, {duration(sum(episode.seconds for episode in episodes))}",
        "bold",
        mark="Σ",
    )


def _took(usage: Usage) -> str:
    took = [counted(usage.calls, "request")]
    if usage.prompt_tokens:
        took.append(tokens(usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens))
    if usage.cost:
        took.append(dollars(usage.cost))
    return ", ".join(took)


def _to_resume(so_far: StorySoFar, reason: EndReason) -> str:
    turns = so_far.end["turns"]
    further = f" --max-turns {2 * turns}" if reason is EndReason.MAX_TURNS else ""
    return so_far.to_resume + further
