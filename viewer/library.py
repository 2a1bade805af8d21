"""The episodes below a folder, at any depth, by ids that are safe in addresses and file names."""

import math
import os
import re
import shutil
import stat
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock

from mcp_ghost.results import JSONObject
from mcp_ghost.text import counted, did_you_mean, reason
from session.game_configuration import ConfigurationError
from session.record.event_log import EVENTS_FILE
from session.record.index import is_being_written
from viewer.episode import Episode
from viewer.summaries import Summaries
from viewer.turns import TURNS_PER_CHUNK

LATEST = "latest"
_HOW_TO_NAME = "Give an episode's name, the path of its folder, or 'latest'."
_EPISODES = "episodes"
_DEPTH = 8
"""Folders below the work folder at most; an evaluation's episodes are four deep."""
_NAMED = 5
"""Episodes that an error names."""
_EPISODES_PER_WAIT = 30
"""So many known episodes lengthen the wait by ``seconds``: an answer repeats them all."""
_LONGEST_WAIT = 6
"""In multiples of ``seconds``."""
_UNSAFE = re.compile(r"[^\w.-]")
_SEED = re.compile(r"seed-\d+")


class Library:
    """Knows the episodes of a work folder, and remembers what it has read of them."""

    def __init__(
        self,
        workdir: Path,
        on_progress: Callable[[str, float | None], None] = lambda _label, _share: None,
    ) -> None:
        """``on_progress`` is told of logs being read: (what is done, the share that is done)."""
        self.workdir = workdir
        self._on_progress = on_progress
        self._episodes: dict[str, Episode] = {}
        self._summaries = Summaries(workdir)
        self._lock = Lock()

    def episodes(self) -> list[Episode]:
        """List the episodes that have begun, each as its log stands now; the newest first."""
        return self._look()[0]

    def _all(self) -> list[Episode]:
        """Return the episodes there are now, begun or not."""
        with self._lock:
            self._look_around()
            return list(self._episodes.values())

    def _look(self, seconds: float = math.inf) -> tuple[list[Episode], int]:
        """Return those that have begun, the newest first, and how many logs wait to be read.

        Only what changed is read: for ``seconds``, or longer where many are known, but at least
        one log, then the rest waits.
        """
        known = self._all()
        places = {it: str(it.folder.relative_to(self.workdir)) for it in known}
        before = {it: self._summaries.known.get(place) for it, place in places.items()}
        waiting = []  # those whose logs have to be read from their beginning
        for episode in known:
            if episode.is_read:
                _is_readable(episode)
            elif not episode.recall(before[episode]):
                waiting.append(episode)
        seen = set(known) - set(waiting)
        longer = min(1 + len(seen) / _EPISODES_PER_WAIT, _LONGEST_WAIT)
        until = time.monotonic() + seconds * longer
        label = f"Reading {counted(len(known), 'episode')}"
        for episode in sorted(waiting, key=_written, reverse=True):
            self._on_progress(label, len(seen) / len(known))
            seen.add(episode)
            if _is_readable(episode) and time.monotonic() >= until:
                break
        self._on_progress(label, 1.0)
        now = {places[it]: it.remember(before[it]) for it in known}
        self._summaries.keep({place: it for place, it in now.items() if it})
        begun = [it for it in known if it in seen and it.began]
        begun.sort(key=lambda it: it.summary()["started"], reverse=True)
        return begun, len(known) - len(seen)

    def get(self, episode_id: str) -> Episode | None:
        """Return the episode with that id, as its log stands; ``latest`` is what was played last.

        A start that failed is not the latest one; one that is only coming is: None then.
        """
        episode = self._known(episode_id)
        if episode is None and episode_id == LATEST:
            return self._latest()
        return episode if episode and _is_readable(episode) else None

    def _latest(self) -> Episode | None:
        without_turns: Episode | None = None
        for episode in sorted(self._episodes.values(), key=_written, reverse=True):
            is_begun = _is_readable(episode)
            if is_being_written(episode.folder / EVENTS_FILE):
                return episode if is_begun else None
            if is_begun and episode.turn_count:
                return episode
            without_turns = without_turns or (episode if is_begun else None)
        return without_turns

    def is_coming(self, episode_id: str) -> bool:
        """Return whether that episode, or the ``latest`` one, is being started."""
        known = self._known(episode_id)
        episodes = [known] if known else self._episodes.values() if episode_id == LATEST else []
        logs = [episode.folder / EVENTS_FILE for episode in episodes if not episode.began]
        return any(map(is_being_written, logs))

    def id_of(self, folder: Path) -> str | None:
        """Return the id of the episode in ``folder``; None before there is a log."""
        for episode in self._all():
            if episode.folder.resolve() == folder:
                return episode.id
        return None

    def folder_of(self, episode_id: str) -> Path | None:
        """Return where that episode is; its log is not read."""
        episode = self._known(episode_id)
        return episode.folder if episode else None

    def _known(self, episode_id: str) -> Episode | None:
        with self._lock:
            if episode_id not in self._episodes:
                self._look_around()
            return self._episodes.get(episode_id)

    def delete(self, ids: Iterable[str]) -> dict[str, str]:
        """Delete the folders of episodes, whole; returns those that stay, and why."""
        kept = {}
        for episode_id in ids:
            folder = self.folder_of(episode_id)
            try:
                if folder is None:
                    continue
                below = self.workdir.resolve() / folder.relative_to(self.workdir)
                if folder.resolve() != below:
                    kept[episode_id] = "Its folder is reached by a link: delete it there."
                elif is_being_written(folder / EVENTS_FILE):
                    kept[episode_id] = "It is being played."
                else:
                    shutil.rmtree(folder)
            except OSError as error:
                kept[episode_id] = f"{reason(error)}."
        return kept

    def find(self, wanted: str) -> Episode:
        """Return the episode of that id or name, in that folder, or the ``latest`` one.

        Raises:
            ConfigurationError: There is none, or more than one.
        """
        if wanted != LATEST and (by_id := self.get(wanted)):
            return by_id
        folder = Path(wanted)  # of any place: for commands, not for what is served
        if (folder / EVENTS_FILE).is_file():
            episode = Episode(_UNSAFE.sub("_", folder.resolve().name), folder)
            if _is_readable(episode):
                return episode
        known = self._all()
        if wanted == LATEST and (latest := self._latest()):
            return latest
        named = [it for it in known if it.folder.name == wanted and _is_readable(it)]
        if len(named) == 1:
            return named[0]
        episodes = self.episodes()
        if not episodes:
            raise self.nothing_there()
        ids = ", ".join(it.id for it in named or episodes[:_NAMED])
        hint = "" if named else did_you_mean(wanted, [LATEST, *(it.id for it in episodes)])
        raise ConfigurationError(
            f"There is no episode '{wanted}' in {self.workdir}: "
            + (hint or f"known: {ids}. {_HOW_TO_NAME}")
        )

    def is_open_to_all(self) -> bool:
        """Return whether everybody on this machine may read every log on the disk, too."""
        home = self.workdir.resolve()
        places = {home, *home.parents}
        for episode in self._all():
            places.update(it for it in episode.folder.parents if it.is_relative_to(self.workdir))
            places |= {episode.folder, episode.folder / EVENTS_FILE}
        try:
            modes = [place.stat().st_mode for place in places]
        except OSError:
            return False
        to_enter = all(mode & stat.S_IXOTH for mode in modes if stat.S_ISDIR(mode))
        return to_enter and all(mode & stat.S_IROTH for mode in modes)

    def nothing_there(self) -> ConfigurationError:
        """Return what to say where there are no episodes."""
        return ConfigurationError(
            f"There is no episode in {self.workdir} yet: play one, or choose another --workdir."
        )

    def index(
        self, episodes: Iterable[Episode] | None = None, seconds: float = math.inf
    ) -> JSONObject:
        """Return the given episodes, or all, in rows, and the sums of their groups.

        With ``seconds``, those known after about that long; ``unread`` counts the others.
        """
        chosen, unread = self._look(seconds) if episodes is None else (episodes, 0)
        rows = [episode.summary() for episode in chosen]
        groups = defaultdict(list)
        for row in rows:
            if row["group"] is not None:
                groups[row["group"]].append(row)
        return {
            "chunk": TURNS_PER_CHUNK,
            "unread": unread,
            "workdir_name": self.workdir.resolve().name,
            "episodes": rows,
            "groups": [_group_json(name, members) for name, members in sorted(groups.items())],
        }

    def _look_around(self) -> None:
        found: dict[str, Episode] = {}
        for folder in sorted(_folders_of_episodes(self.workdir)):
            parts = folder.relative_to(self.workdir).parts
            above = parts[:-2]
            wanted = "~".join(_UNSAFE.sub("_", part) for part in (*above, parts[-1]))
            episode_id, number = wanted, 2
            while episode_id in found:
                episode_id, number = f"{wanted}-{number}", number + 1
            group = "/".join(part for part in above if not _SEED.fullmatch(part)) or None
            known = self._episodes.get(episode_id)
            same = known is not None and known.folder == folder
            found[episode_id] = known if known and same else Episode(episode_id, folder, group)
        self._episodes = found


def _folders_of_episodes(workdir: Path) -> Iterator[Path]:
    """Yield folders with an event log in an ``episodes`` folder, but no symbolic links."""
    for at, folders, _ in os.walk(workdir):
        here = Path(at)
        if here.name == _EPISODES:
            for folder in (here / name for name in folders):
                log = folder / EVENTS_FILE
                if not folder.is_symlink() and not log.is_symlink() and log.is_file():
                    yield folder
            folders.clear()
        deep = len(here.relative_to(workdir).parts) >= _DEPTH
        folders[:] = [] if deep else [name for name in folders if not name.startswith(".")]


def bytes_of(folder: Path) -> int:
    """Return how much is in a folder; links are not followed."""
    return sum(it.lstat().st_size for it in folder.rglob("*"))


def _written(episode: Episode) -> int:
    try:
        return (episode.folder / EVENTS_FILE).stat().st_mtime_ns
    except OSError:
        return 0


def _is_readable(episode: Episode) -> bool:
    try:
        episode.refresh()
    except OSError:
        return False
    return episode.began


def _group_json(name: str, rows: list[JSONObject]) -> JSONObject:
    scores = sorted(row["score"] for row in rows if row["score"] is not None)
    spread = None
    if scores:
        several = scores if len(scores) > 1 else scores * 2
        q1, median, q3 = statistics.quantiles(several, n=4, method="inclusive")
        spread = {"median": median, "q1": q1, "q3": q3, "best": scores[-1]}
    return {
        "name": name,
        "episodes": len(rows),
        "hinted": sum(row["hints"] > 0 for row in rows),
        "score": spread,
        "turns": sum(row["turns"] for row in rows),
        "cost": sum(row["cost"] for row in rows),
        "tokens": sum(row["prompt_tokens"] + row["completion_tokens"] for row in rows),
    }
