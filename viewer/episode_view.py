"""What the page needs to know about an episode as a whole: a fold of its events."""

from __future__ import annotations

import itertools
from dataclasses import asdict
from typing import TYPE_CHECKING

from mcp_ghost.text import one_line
from session.game_state import FailedTurn, TurnRecord
from session.knowledge import Reflection
from session.record.fold import EpisodeFold
from session.record.schema import EpisodeStart, KnowledgeLoaded, LoggedEvent
from viewer.learned_view import LearnedView
from viewer.map_view import MapView
from viewer.turns import observation_json

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject
    from session.record.schema import Entry

_MARK_CHARACTERS = 200


class EpisodeView:
    """Reads entries in the order of the log."""

    def __init__(self) -> None:
        self.version = 0
        """Counts the changes of what is known besides the turns themselves."""
        self.fold = EpisodeFold()
        self.map = MapView()
        self._learned = LearnedView()
        self._marks: list[JSONObject] = []
        self._items: set[str] = set()

    @property
    def end_reason(self) -> str | None:
        """Why it ended; None when it did not, or goes on."""
        return str(self.fold.end.reason) if self.fold.end else None

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        event = entry.event
        if isinstance(event, LoggedEvent):
            return
        if isinstance(event, TurnRecord):
            self._mark_turn(event)
            self.map.apply(event)
            if "objectives" not in self._parts_off():
                self._learned.apply(event)
        self.fold.take(entry)
        if isinstance(event, EpisodeStart | KnowledgeLoaded):
            self._begin()
        elif isinstance(event, Reflection):
            self._learn(event)
        elif isinstance(event, FailedTurn):
            text = f"Turn {event.turn} was not played: {event.failure}"
            self._mark(self.fold.turns, "failure", text)
        self.version += not isinstance(event, TurnRecord)

    def take_damage(self, line: int) -> None:
        """Note that a line cannot be read."""
        self._mark(self.fold.turns, "damaged", f"Line {line} of the log is damaged")
        self.version += 1

    def summary(self) -> JSONObject:
        """The episode in a row of the index, but for what its place and its process tell."""
        fold, start = self.fold, self.fold.start
        names = ("uid", "story", "title", "model", "seed", "engine")
        return {
            **{name: getattr(start, name, None) for name in names},
            "started": fold.started,
            "turns": fold.turns,
            "score": fold.score,
            "max_score": fold.max_score,
            "best_score": max((score for _, score in fold.scores), default=0),
            "end_reason": self.end_reason,
            "deaths": fold.deaths,
            "rooms": len(fold.rooms),
            "tool_calls": fold.tool_calls,
            **asdict(fold.usage),
            "reflections": len(fold.reflections),
            "parts_off": self._parts_off(),
            "scores": self._score_line(),
        }

    def json(self) -> JSONObject:
        """Everything but the summary, the opening and the turns."""
        return {
            "parts_off": self._parts_off(),
            "scores": self._score_line(),
            "marks": self._marks,
            "objectives": self._learned.objectives_json(),
            "memories": self._learned.memories_json(),
            "claims": self._learned.claims_json(),
            "reflections": self._learned.reflections_json(),
            "map": self.map.json(),
            "path": self.map.path,
        }

    def opening(self) -> JSONObject:
        """The game's first text and facts."""
        start = self.fold.start
        first = observation_json(start.observation) if start else None
        return {"opening": start.opening if start else "", "first": first}

    @property
    def news(self) -> tuple[int, ...]:
        """Changes whenever there is more to tell than the turns themselves do."""
        return self.version, self.map.version, self._learned.version

    def _begin(self) -> None:
        """Begin what is folded, whichever of the start and what was carried over came first."""
        if (start := self.fold.start) is not None:
            self._learned.begin(start, self.fold.known.carried)
            self.map.begin(start.observation, self.fold.known.carried)
            self._items.update(start.observation.inventory)

    def _learn(self, reflection: Reflection) -> None:
        self._learned.learn(reflection)
        learned = [
            f"{len(values)} {name}"
            for name, values in (
                ("memories", reflection.memories),
                ("objectives", reflection.objectives),
                ("claims", reflection.claims),
            )
            if values
        ]
        self._mark(reflection.last_turn, "reflection", ", ".join(learned) or "nothing new")

    def _mark_turn(self, record: TurnRecord) -> None:
        turn, after = record.turn, record.after
        if after.room.id not in self.fold.rooms:
            self._mark(turn, "room", after.room.name)
        for item in after.inventory:
            if item not in self._items:
                self._mark(turn, "item", item)
        self._items.update(after.inventory)
        if record.scored:
            self._mark(turn, "score", f"{record.scored:+} points, now {after.score}")
        if record.died:
            self._mark(turn, "death", "The player died")
        if record.won:
            self._mark(turn, "victory", "The game is won")
        if record.failure:
            self._mark(turn, "failure", record.failure)

    def _mark(self, turn: int, kind: str, text: str) -> None:
        self._marks.append({"turn": turn, "kind": kind, "text": one_line(text, _MARK_CHARACTERS)})

    def _score_line(self) -> list[tuple[int, int]]:
        """The beginning, every change, and the latest turn."""
        scores = self.fold.scores
        changes = [later for earlier, later in itertools.pairwise(scores) if later[1] != earlier[1]]
        return list(dict.fromkeys([*scores[:1], *changes, *scores[-1:]]))

    def _parts_off(self) -> list[str]:
        return list(self.fold.start.parts_off) if self.fold.start else []
