"""Turns as they are written: one watcher for each episode being watched, however many people watch.

A client is not a queue: it is woken and reads on from its last turn, so a slow one costs nothing.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from mcp_ghost.results import JSONObject
from viewer.episode import Episode
from viewer.turns import TURNS_PER_CHUNK, encoded
from viewer.web.cockpit import Cockpit

_LOOK_SECONDS = 0.05
_LOOKS_PER_CHECK = 20
"""Looks at the log between two looks for the process that writes it."""
_EPISODE_SECONDS = 1.0
"""Between two ``episode`` events at least."""
_HEARTBEAT_SECONDS = 10.0
_THOUGHT_SECONDS = 0.25
"""Between two looks at what the model thinks."""


class LogWatcher:
    """Follows one log and wakes those who wait for news."""

    def __init__(self, episode: Episode) -> None:
        self.episode = episode
        self.watchers = 0
        self.running = episode.is_running()
        self.news = asyncio.Event()
        """Set at the next news."""
        self.task = asyncio.create_task(self._look())

    def wake(self) -> None:
        """Tell those who wait now; who comes later waits for the next news."""
        news, self.news = self.news, asyncio.Event()
        news.set()

    async def _look(self) -> None:
        for looks in itertools.count():
            with suppress(OSError):  # gone for the moment; there may be another one soon
                if self.episode.has_news():
                    await asyncio.to_thread(self.episode.refresh)
                    self.wake()
            if looks % _LOOKS_PER_CHECK == 0 and self.running != self.episode.is_running():
                self.running = not self.running
                self.wake()
            await asyncio.sleep(_LOOK_SECONDS)


class LogWatchers:
    """The watchers of a server."""

    def __init__(self) -> None:
        self.closing = False
        self.all: dict[Episode, LogWatcher] = {}
        """Those at work."""

    @contextmanager
    def watch(self, episode: Episode) -> Iterator[LogWatcher]:
        """Provide a watcher, shared by all who watch the episode."""
        watcher = self.all.get(episode)
        if watcher is None:
            watcher = self.all[episode] = LogWatcher(episode)
        watcher.watchers += 1
        try:
            yield watcher
        finally:
            watcher.watchers -= 1
            if not watcher.watchers:
                del self.all[episode]
                watcher.task.cancel()

    def close(self) -> None:
        """Let every stream send what is new and end."""
        self.closing = True
        for watcher in self.all.values():
            watcher.wake()


class Stream:
    """What one client is told, as server-sent events."""

    def __init__(
        self,
        episode: Episode,
        log_watchers: LogWatchers,
        after: int | None,
        cockpit: Cockpit | None = None,
    ) -> None:
        """``after`` is the last turn that the client has; None for the present one."""
        self._episode = episode
        self._cockpit = cockpit
        self._doing: dict[str, object] = {}
        """What the client was told that the episode is doing."""
        self._watchers = log_watchers
        self._turn = episode.turn_count if after is None else after
        self._generation = episode.generation
        self._told: tuple[int, ...] | None = None
        """The state of the latest ``episode`` event; what came between page and stream is sent."""
        self._told_at = 0.0
        self._ended = False

    async def events(self) -> AsyncGenerator[bytes, None]:
        """Yield the events, until the client or the server goes."""
        yield b"retry: 1000\n\n"
        sent = time.monotonic()
        with self._watchers.watch(self._episode) as watcher:
            while True:
                news, closing = watcher.news, self._watchers.closing
                if closing:
                    with suppress(OSError):
                        await asyncio.to_thread(self._episode.refresh)
                async for event in self._new_events(watcher):
                    yield event
                    sent = time.monotonic()
                if closing:
                    return
                is_told = self._state(watcher) == self._told
                wait = _HEARTBEAT_SECONDS if is_told else _EPISODE_SECONDS
                with suppress(TimeoutError):
                    await asyncio.wait_for(
                        news.wait(), _THOUGHT_SECONDS if self._is_controlled else wait
                    )
                if time.monotonic() - sent >= _HEARTBEAT_SECONDS:
                    yield b": still here\n\n"
                    sent = time.monotonic()

    async def _new_events(self, watcher: LogWatcher) -> AsyncIterator[bytes]:
        episode = self._episode
        if episode.generation != self._generation:
            self._generation, self._turn, self._ended = episode.generation, 0, False
            yield _event("reset", {}, 0)
        end_reason = episode.end_reason  # first: the log is read on meanwhile, turn by turn
        while self._turn < episode.turn_count:
            last = min(self._turn + TURNS_PER_CHUNK, episode.turn_count)
            for turn in await asyncio.to_thread(episode.turns, self._turn + 1, last):
                yield _event("turn", turn, turn["turn"])
            self._turn = last
        ends = end_reason is not None and not self._ended
        is_due = ends or time.monotonic() - self._told_at >= _EPISODE_SECONDS
        if is_due and self._state(watcher) != self._told:
            self._told, self._told_at = self._state(watcher), time.monotonic()
            yield _event("episode", await asyncio.to_thread(episode.changing_json), self._turn)
        if (now := self._activity(watcher)) is not None:
            yield _event("now", now, self._turn)
        if ends:
            yield _event("end", {"reason": end_reason}, self._turn)
        self._ended = end_reason is not None

    def _activity(self, watcher: LogWatcher) -> JSONObject | None:
        """Return what the episode is doing, if that is news; None where it is not being played."""
        if self._episode.end_reason is not None or not watcher.running:
            return None
        controls = self._cockpit.json() if self._cockpit and self._is_controlled else {}
        now = {**self._episode.activity.json(), **controls}
        lasting = {name: it for name, it in now.items() if name != "seconds"}
        lasting["since"] = self._episode.activity.version
        idle = not (now["doing"] or self._is_controlled or self._doing)
        if idle or lasting == self._doing:
            return None
        self._doing = lasting
        return now

    @property
    def _is_controlled(self) -> bool:
        cockpit, episode = self._cockpit, self._episode
        return cockpit is not None and not episode.end_reason and cockpit.controls(episode.folder)

    def _state(self, watcher: LogWatcher) -> tuple[int, ...]:
        return *self._episode.news, watcher.running


def _event(name: str, value: object, turn: int) -> bytes:
    return b"event: %s\nid: %d\ndata: %s\n\n" % (name.encode(), turn, encoded(value))
