"""What can be done with an episode that nobody plays: the commands, as they have to be typed."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from session.game_configuration import GameConfiguration
from session.game_state import EndReason
from session.record.fold import EpisodeFold

_MAIN = ("uv", "run", "python", "main.py")
_VIEWER = ("uv", "run", "python", "-m", "viewer")


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
        yield NextStep("Go on from an earlier turn", shlex.join(fork))
    yield NextStep("Look at it again", to_view(folder))
    export = [*_VIEWER, "export", "site", folder.name, *_workdir(folder)]
    yield NextStep("Export it for any web host", shlex.join(export))
    yield NextStep("Play another game", shlex.join([*_MAIN, "--watch"]))


def to_view(folder: Path) -> str:
    """The command that shows the episode in ``folder``, among its others."""
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
    """The flag that names the work folder, where it is not the usual one."""
    workdir = str(folder.parent.parent)
    usual = GameConfiguration.model_fields["workdir"].default
    return [] if workdir == usual else ["--workdir", workdir]
