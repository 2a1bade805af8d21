"""An episode to look at: its log's index and the fold of it, for any number of threads."""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import RLock

from mcp_ghost.results import JSONObject
from session.game_state import Hint, TurnRecord
from session.record.event_log import EVENTS_FILE
from session.record.index import Line, LogIndex, LogReplacedError, Span, is_being_written
from session.record.schema import DOING, Entry, EpisodeStart, LoggedEvent, ModelCall
from session.record.summary import next_steps
from viewer.episode_view import EpisodeView, Spent, Took
from viewer.experiments.notes import Notes
from viewer.map.map_view import MapView
from viewer.model_calls import ModelCalls
from viewer.summaries import Remembered
from viewer.turns import TURNS_PER_CHUNK, Timeline, turn_json


class Episode:
    """The episode in a folder, known as far as its log went at the last `refresh`."""

    def __init__(self, episode_id: str, folder: Path, group: str | None = None) -> None:
        self.id = episode_id
        self.folder = folder
        self.group = group
        self.generation = 0
        """Counts how often the log was replaced by another one."""
        self.notes = Notes(folder)
        self._lock = RLock()
        self._recalled: Remembered | None = None
        """Stands for the log until it is read."""
        self._start_over()

    def _start_over(self) -> None:
        self._log = LogIndex(self.folder / EVENTS_FILE)
        self._view = EpisodeView()
        self._spans: dict[int, Span] = {}
        self._began_at: Span | None = None
        self._timeline = Timeline()
        self._calls = ModelCalls()
        self.activity = Activity()
        """What it is doing."""

    def has_news(self) -> bool:
        """Return whether `refresh` would find anything; an OSError where the log is gone."""
        return self._log.has_news()

    def refresh(self) -> None:
        """Read what was appended to the log.

        Raises:
            OSError: The log cannot be read.
        """
        with self._lock:
            self._recalled = None
            try:
                self._take_in(self._log.read_new())
            except LogReplacedError:
                self.generation += 1
                self._start_over()
                self._take_in(self._log.read_new())

    def _take_in(self, lines: Iterator[Line]) -> None:
        for line in lines:
            if line.entry is None:
                self._view.take_damage(line.number)
                continue
            self._view.take(line.entry)
            self.activity.take(line.entry)
            self._timeline.take(line.entry)
            match line.entry.event:
                case EpisodeStart():
                    self._began_at = line.span
                case TurnRecord(turn=turn):
                    self._spans[turn] = line.span
                case LoggedEvent("model_call"):
                    self._calls.add(line.entry.turn or 0, line.span)

    @property
    def is_read(self) -> bool:
        """Whether the log was read; else only what was recalled is known."""
        return bool(self._log.state)

    def recall(self, remembered: Remembered | None) -> bool:
        """Know the summary without reading, if the log is still as it was remembered."""
        with self._lock:
            self._recalled = None
            with suppress(OSError):
                if remembered and self._log.present_state() == remembered.state:
                    self._recalled = remembered
            return self._recalled is not None

    def remember(self, before: Remembered | None) -> Remembered | None:
        """Return what to recall the next time, which is what was ``before`` if nothing changed.

        None of what is being played, and so soon differs.
        """
        with self._lock:
            if before and before.state == (self._recalled or self._log).state:
                return before
            if not (self.is_read and self.began) or self.is_running():
                return None
            return Remembered(self._log.state, self._own_summary())

    @property
    def began(self) -> bool:
        """Whether there is anything to see."""
        return self._recalled is not None or self._view.start is not None

    @property
    def turn_count(self) -> int:
        """The number of the latest turn."""
        return self._view.turns

    @property
    def end_reason(self) -> str | None:
        """Why it ended; None when it did not."""
        return self._view.end_reason

    @property
    def news(self) -> tuple[int, ...]:
        """Changes whenever there is more to tell than the turns themselves do."""
        return self.generation, *self._view.news

    def state(self) -> tuple[int, ...]:
        """Return a value that changes whenever anything said about the episode may have."""
        return *self._log.state, self.is_running(), *self.notes.state()

    def is_running(self) -> bool:
        """Return whether a process is playing it."""
        with self._lock:
            recalled = self._recalled
        reason = recalled.summary["end_reason"] if recalled else self.end_reason
        return reason is None and is_being_written(self.folder / EVENTS_FILE)

    def summary(self) -> JSONObject:
        """Return a row of the index."""
        running = self.is_running()
        with self._lock:
            summary = dict(self._recalled.summary if self._recalled else self._own_summary())
        del summary["spent"]
        group = summary["group"] or self.group
        named = {"id": self.id, "group": group, "running": running}
        return {**summary, **named, **self.notes.row()}

    def _own_summary(self) -> JSONObject:
        """Return what the log alone says."""
        group = self._view.start and self._view.start.group
        return {"group": group, **self._view.summary(), "spent": self._view.spent_line()}

    def spent(self) -> list[Spent]:
        """Return what was used until after some of the turns."""
        with self._lock:
            return self._recalled.summary["spent"] if self._recalled else self._view.spent_line()

    def spent_by_turn(self) -> list[Spent]:
        """Return what was used until after every turn, of an episode that was read."""
        with self._lock:
            return list(self._view.spent)

    def took_by_turn(self) -> list[Took]:
        """Return what each turn took, of an episode that was read."""
        with self._lock:
            return list(self._view.took)

    def changing_json(self) -> JSONObject:
        """Return what changes while it is played, but for the turns."""
        summary = self.summary()
        with self._lock:
            return {"summary": summary, **self._view.json()}

    def next_steps(self, to_resume: str = "") -> list[JSONObject]:
        """Return what can be done with the episode on this machine, once it is not being played."""
        if self.is_running():
            return []
        with self._lock:
            return [it._asdict() for it in next_steps(self._view, self.folder, to_resume)]

    def json(self) -> JSONObject:
        """Return everything but the turns."""
        chunk = {"chunk": TURNS_PER_CHUNK}
        return {**chunk, **self.changing_json(), **self._view.opening()}

    @property
    def map(self) -> MapView:
        """The map alone."""
        return self._view.map

    def settings_json(self) -> JSONObject | None:
        """Return how it was set; None while it has not begun."""
        with self._lock:
            view, log, span = self._view, self._log, self._began_at
        return view.settings_json(log.text(span)) if span else None

    def chunks(self) -> list[int]:
        """Return the numbers of the chunks that there are turns in."""
        with self._lock:
            return sorted({(turn - 1) // TURNS_PER_CHUNK for turn in self._spans})

    def chunk(self, number: int) -> list[JSONObject]:
        """Return the turns of one chunk."""
        first = number * TURNS_PER_CHUNK + 1
        return self.turns(first, first + TURNS_PER_CHUNK - 1)

    def turns(self, first: int, last: int) -> list[JSONObject]:
        """Return the turns from ``first`` to ``last``, as far as there are any."""
        steps, logged = self._timeline.steps, self._logged(range(first, last + 1))
        return [turn_json(it, time, steps.get(it.turn, ())) for it, time in logged]

    def records(self) -> list[TurnRecord]:
        """Return every turn as it was logged."""
        return [record for record, _ in self._logged(self._spans)]

    def _logged(self, turns: Iterable[int]) -> Iterator[tuple[TurnRecord, str]]:
        """Yield each of these turns with its time, unless it is gone."""
        with self._lock:
            log, spans = self._log, [self._spans[it] for it in turns if it in self._spans]
        for span in spans:
            entry = log.read(span)
            if entry and isinstance(entry.event, TurnRecord):
                yield entry.event, entry.time

    def model_calls(self, turn: int) -> list[JSONObject]:
        """Return what models were sent in a turn, and what came back."""
        with self._lock:
            return self._calls.of_turn(turn, self._log.read)

    def tool_result(self, turn: int, number: int) -> str | None:
        """Return the whole result of a turn's tool call, counted from 0."""
        tools = [tool for record, _ in self._logged([turn]) for tool in record.tools]
        return tools[number].result if 0 <= number < len(tools) else None


class Activity:
    """What an episode is doing, by its latest event; takes events in the order of the log."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes."""
        self._doing = self._tool = self._since = ""
        self._turn: int | None = None

    def take(self, entry: Entry) -> None:
        """Learn from one line."""
        match entry.event:
            case LoggedEvent(event_type, fields):
                if event_type not in DOING:
                    return
                self._doing = DOING[event_type]
                self._tool = str(fields.get("tool_name", "")) if self._doing == "tool" else ""
            case ModelCall() | Hint():
                return
            case _:
                self._doing = self._tool = ""
        self._turn, self._since = entry.turn, entry.time
        self.version += 1

    def json(self) -> JSONObject:
        """Return it as the page gets it; the time is in seconds, as clocks may differ."""
        age = 0.0
        with suppress(ValueError):
            age = time.time() - datetime.fromisoformat(self._since).timestamp()
        doing = {"doing": self._doing, "tool": self._tool, "turn": self._turn}
        return {**doing, "seconds": max(0.0, round(age, 1))}
