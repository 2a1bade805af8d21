"""Which episode ``--resume``, ``--fork`` and ``--replay`` mean."""

from pathlib import Path

from mcp_ghost.text import did_you_mean
from session.game_configuration import ConfigurationError
from session.game_state import TurnRecord
from session.record.event_log import EVENTS_FILE, read
from session.record.schema import EpisodeStart

_LATEST = "latest"
_HOW_TO_NAME = "give an episode's name, the path of its folder, or 'latest'."


def find_episode(wanted: str, workdir: str) -> Path:
    """Return the folder of the episode with that name, in that folder, or the ``latest`` one.

    Raises:
        ConfigurationError: There is none.
    """
    episodes = Path(workdir) / "episodes"
    folder = episodes / wanted
    if "/" in wanted or not _is_episode(folder):
        if wanted == _LATEST:
            return _latest(episodes)
        folder = Path(wanted).resolve()
        if not _is_episode(folder):
            known = [_LATEST, *(log.parent.name for log in episodes.glob(f"*/{EVENTS_FILE}"))]
            raise ConfigurationError(
                f"There is no episode '{wanted}', neither in {episodes} nor as a folder: "
                f"{did_you_mean(wanted, known) or _HOW_TO_NAME}"
            )
        if folder.parent.name != "episodes":
            raise ConfigurationError(
                f"The episode in {folder} can only be continued below a folder named 'episodes': "
                f"move it into {episodes}."
            )
    if not _holds(folder, EpisodeStart):
        raise ConfigurationError(
            f"There is nothing to continue or replay in {folder}: its game never began."
        )
    return folder


def _latest(episodes: Path) -> Path:
    logs = sorted(episodes.glob(f"*/{EVENTS_FILE}"), key=lambda log: -log.stat().st_mtime)
    # A start that failed, for a wrong key, say, is only the latest if nothing else was played.
    for needed in (TurnRecord, EpisodeStart):
        for log in logs:
            if _holds(log.parent, needed):
                return log.parent
    raise ConfigurationError(f"There is no episode in {episodes} yet: start one.")


def recorded_episode(wanted: str, workdir: str) -> Path:
    """Return the folder of the episode that is to be replayed, wherever it is.

    Raises:
        ConfigurationError: There is none.
    """
    folder = Path(wanted).resolve()
    is_elsewhere = _is_episode(folder) and folder.parent.name != "episodes"
    return folder if is_elsewhere else find_episode(wanted, workdir)


def _holds(folder: Path, event: type[EpisodeStart | TurnRecord]) -> bool:
    return any(isinstance(entry.event, event) for entry in read(folder))


def _is_episode(folder: Path) -> bool:
    return (folder / EVENTS_FILE).is_file()
