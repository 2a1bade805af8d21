"""What the page needs to know of an episode as a whole: a fold of its events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_ghost.text import one_line
from session.game_state import Observation, Usage
from session.learned import CarriedOver, Reflection
from session.uids import uid_of
from viewer.learned_view import LearnedView
from viewer.map_view import MapView
from viewer.turns import observation_json, read_turn

if TYPE_CHECKING:
    from session.game_state import TurnRecord
    from viewer.log_index import Event
    from viewer.turns import JSONObject

_MARK_CHARACTERS = 200


class EpisodeView:
    """Takes in events in the order of the log."""

    def __init__(self) -> None:
        self.turns = 0
        """The number of the latest turn."""
        self.began = False
        self.end_reason: str | None = None
        self.version = 0
        """Counts the changes of what is known besides the turns themselves."""
        self._start: Event = {}
        self._first: Observation | None = None
        self._carried = CarriedOver()
        self.map = MapView()
        self._learned = LearnedView()
        self._usage = Usage()
        self._scores: list[tuple[int, int]] = []
        self._marks: list[JSONObject] = []
        self._score = self._best_score = self._deaths = self._tool_calls = 0
        self._max_score: int | None = None
        self._rooms: set[int] = set()
        self._items: set[str] = set()

    def take(self, event: Event) -> None:
        """Take in one event.

        Raises:
            ValueError: It is not what its type says.
            KeyError: The same.
        """
        match event["event_type"]:
            case "episode_start":
                self._begin(event)
            case "episode_resumed":
                self.end_reason = None
            case "knowledge_loaded":
                self._carried = CarriedOver.model_validate(event["carried"])
                self._begin_knowledge()
            case "turn":
                self._apply(read_turn(event))
            case "reflection":
                self._learn(event)
            case "episode_end":
                self.end_reason = str(event["reason"])
            case _:
                return
        self.version += event["event_type"] != "turn"

    def take_damage(self, line: int) -> None:
        """Take in that a line cannot be read."""
        self._mark(self.turns, "damaged", f"Line {line} of the log is damaged")
        self.version += 1

    def summary(self) -> JSONObject:
        """The episode in a row of the index, but for what its place and its process tell."""
        start = self._start
        names = ("story", "title", "model", "seed", "engine")
        return {
            "uid": uid_of(start) if start else None,
            **{name: start.get(name) for name in names},
            "started": self.started,
            "turns": self.turns,
            "score": self._score,
            "max_score": self._max_score,
            "best_score": self._best_score,
            "end_reason": self.end_reason,
            "deaths": self._deaths,
            "rooms": len(self._rooms),
            "tool_calls": self._tool_calls,
            **self._usage.model_dump(),
            "reflections": len(self._learned.reflections),
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
        first = observation_json(self._first) if self._first else None
        return {"opening": self._start.get("opening", ""), "first": first}

    @property
    def news(self) -> tuple[int, ...]:
        """Changes whenever there is more to tell than the turns themselves do."""
        return self.version, self.map.version, self._learned.version

    @property
    def group(self) -> str | None:
        """The evaluation that it says to be part of."""
        group = self._start.get("group")
        return str(group) if group else None

    @property
    def started(self) -> str:
        """When, as ISO 8601."""
        return str(self._start.get("time", ""))

    def _begin(self, event: Event) -> None:
        first = Observation.model_validate(event["observation"])
        self._start = {key: value for key, value in event.items() if key != "snapshot"}
        self.began = True
        self._first = first
        self._begin_knowledge()
        self._scores = [(0, first.score)]
        self._observe(first)

    def _begin_knowledge(self) -> None:
        """Begin what is folded, whichever of the start and what was carried over came first."""
        if self._first is not None:
            self._learned.begin(self._start, self._first, self._carried)
            self.map.begin(self._first, self._carried)

    def _apply(self, record: TurnRecord) -> None:
        self._mark_turn(record)
        self.turns = max(self.turns, record.turn)
        self._deaths += record.died
        self._tool_calls += len(record.tools)
        self._spend(record.usage)
        if record.after.score != self._score:
            self._scores.append((record.turn, record.after.score))
        self.map.apply(record)
        if "objectives" not in self._parts_off():
            self._learned.apply(record)
        self._observe(record.after)

    def _learn(self, event: Event) -> None:
        fields = Reflection.model_fields.keys() & event.keys()
        reflection = Reflection.model_validate({key: event[key] for key in fields})
        self._learned.learn(reflection)
        self._spend(reflection.usage)
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

    def _observe(self, observation: Observation) -> None:
        self._score = observation.score
        self._best_score = max(self._best_score, observation.score)
        self._max_score = observation.max_score
        self._rooms.add(observation.room.id)
        self._items.update(observation.inventory)

    def _spend(self, usage: Usage) -> None:
        names = Usage.model_fields
        self._usage = Usage(**{n: getattr(self._usage, n) + getattr(usage, n) for n in names})

    def _mark_turn(self, record: TurnRecord) -> None:
        turn, after = record.turn, record.after
        if after.room.id not in self._rooms:
            self._mark(turn, "room", after.room.name)
        for item in after.inventory:
            if item not in self._items:
                self._mark(turn, "item", item)
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
        if not self._scores or self._scores[-1][0] == self.turns:
            return list(self._scores)
        return [*self._scores, (self.turns, self._score)]

    def _parts_off(self) -> list[str]:
        parts = self._start.get("parts_off")
        return [str(part) for part in parts] if isinstance(parts, list) else []
