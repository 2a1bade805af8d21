"""What the page needs to know about an episode as a whole: a fold of its events."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import TypeAlias

from pydantic_core import to_jsonable_python

from evaluation.achievements.achievement import Achievement, Achievements, earned_by, shipped
from mcp_ghost.messages import Usage
from mcp_ghost.results import JSONObject
from mcp_ghost.text import one_line
from session.game_configuration import GameConfiguration
from session.game_state import FailedTurn, Hint, TurnRecord
from session.knowledge import Reflection
from session.playing import LIMITED_BY_LEVEL
from session.record.fold import EpisodeFold
from session.record.schema import Entry, EpisodeStart, KnowledgeLoaded, LoggedEvent
from session.record.summary import where
from viewer.learned_view import LearnedView, reflection_json
from viewer.map.map_view import MapView
from viewer.turns import observation_json

_MARK_CHARACTERS = 200
_SPENT_POINTS = 60
_TOOLS_FAILED = frozenset({"mcp_disabled_fallback", "mcp_no_tools"})
_STOPS = ("score", "death", "refusal", "failure", "tool")
"""What readers jump to."""
_OF_START = (
    *("uid", "story", "title", "player", "asks_a_model", "model", "seed", "engine"),
    *("trunk", "forked_at"),
)
_OF_FOLD = ("started", "turns", "score", "max_score", "end_reason", "deaths", "tool_calls", "hints")
"""What a row of the index says, as it is."""
Spent: TypeAlias = tuple[int, int, float, float]
"""(turn, tokens, dollars, seconds)."""
Took: TypeAlias = tuple[int, int | None, int | None, float | None, float]
"""(turn, tokens of prompts, tokens of answers, dollars, seconds); None where nobody said."""


class EpisodeView(EpisodeFold):
    """Reads entries in the order of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.version = 0
        """Counts the changes of what is known besides the turns themselves."""
        self.map = MapView()
        self._learned = LearnedView()
        self._marks: list[JSONObject] = []
        self._stops: dict[str, list[int]] = {kind: [] for kind in _STOPS}
        """Turns, by what happened in them."""
        self._items: set[str] = set()
        self._achievements = 0
        self._unearned: list[Achievement] = []
        self._progress: list[tuple[int, float]] = []
        """(turn, percent of the story's achievements), wherever there were more."""
        self._hints: list[JSONObject] = []
        self._failures: list[JSONObject] = []
        """What went wrong and why, counting repetitions."""
        self.spent: list[Spent] = []
        """What was used until after each turn, what came between turns included."""
        self.took: list[Took] = []
        """What each turn took, failed attempts at it included."""
        self._failed = (Usage(), 0.0)
        """What the failed attempts at the turn to come have taken."""

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        event = entry.event
        if isinstance(event, LoggedEvent):
            if event.event_type in _TOOLS_FAILED:
                why = str(event.fields.get("message", ""))
                self._note_failure(entry.turn or 0, "Tools failed", why)
                self.version += 1
            return
        if isinstance(event, TurnRecord):
            self._mark_turn(event)
            self.map.apply(event)
            if "objectives" not in self._parts_off():
                self._learned.apply(event)
        super().take(entry)
        if isinstance(event, TurnRecord):
            tokens = self.usage.prompt_tokens + self.usage.completion_tokens
            seconds = round(self.turn_seconds + self.reflection_seconds, 3)
            self.spent.append((event.turn, tokens, round(self.usage.cost, 6), seconds))
            usage, taken = self._failed[0] + event.usage, self._failed[1] + event.seconds
            self._failed = (Usage(), 0.0)
            # 0 stands for what nobody reported, too: a provider that reports no cost is not free.
            asked = usage.total_tokens > 0
            used = (usage.prompt_tokens, usage.completion_tokens) if asked else (None, None)
            cost = round(usage.cost, 6) if usage.cost else None
            self.took.append((event.turn, *used, cost, round(taken, 3)))
        if isinstance(event, EpisodeStart | KnowledgeLoaded):
            # Whichever of the start and what was carried over came first.
            if (start := self.start) is not None:
                self._learned.begin(start, self.known.carried)
                self.map.begin(start.observation, self.known.carried)
                self._items.update(it.name for it in start.observation.inventory or ())
                if (file := shipped().get(start.story_sha256)) and not self._progress:
                    self._unearned = [*Achievements.read(file).all]
                    self._achievements = len(self._unearned)
                    self._progress = [(0, 0.0)]
        elif isinstance(event, Reflection):
            self._learned.learn(event)
            learned = ", ".join(event.counts()) or "nothing new"
            self._mark(event.last_turn, "reflection", learned)
        elif isinstance(event, FailedTurn):
            text = f"Turn {event.turn} was not played: {event.failure}"
            self._mark(self.turns, "failure", text)
            self._stops["failure"].append(self.turns)
            self._note_failure(self.turns, f"Turn {event.turn} was not played", event.failure)
            self._failed = (self._failed[0] + event.usage, self._failed[1] + event.seconds)
        elif isinstance(event, Hint):
            self._hints.append(event.model_dump(mode="json"))
        self.version += not isinstance(event, TurnRecord)

    def take_damage(self, line: int) -> None:
        """Note that a line cannot be read."""
        self._mark(self.turns, "damaged", f"Line {line} of the log is damaged")
        self.version += 1

    def summary(self) -> JSONObject:
        """Return the episode in a row of the index, but for what its place and its process tell."""
        return {
            **{name: getattr(self.start, name, None) for name in _OF_START},
            **{name: getattr(self, name) for name in _OF_FOLD},
            "best_score": max((score for _, score in self._known_scores()), default=None),
            "rooms": len(self.rooms) or None,
            **asdict(self.usage),
            "seconds": round(self.turn_seconds + self.reflection_seconds, 1),
            "reflections": len(self.reflections),
            # A player that asks no model never has our parts: nothing to report.
            "parts_off": self._parts_off() if self.start and self.start.asks_a_model else [],
            "scores": self._score_line(),
            "progress": self._progress,
        }

    def spent_line(self) -> list[Spent]:
        """Return a part of `spent`, spread evenly, the last turn included."""
        every = math.ceil(len(self.spent) / _SPENT_POINTS) or 1
        return list(dict.fromkeys([*self.spent[every - 1 :: every], *self.spent[-1:]]))

    def json(self) -> JSONObject:
        """Return everything but the summary, the opening and the turns."""
        start, begun = self.start, self.resumed or self.start
        return {
            "parts_off": self._parts_off(),
            "told": start.level if start and start.player in LIMITED_BY_LEVEL else None,
            "max_turns": begun.max_turns if begun else None,
            "hints": self._hints,
            "failures": self._failures,
            "scores": self._score_line(),
            "marks": self._marks,
            "stops": self._stops,
            **self._learned.json(),
            "reflections": [reflection_json(it) for it in self.reflections],
            "map": self.map.json(),
            "path": self.map.path,
            "carried": sorted(self._items),
        }

    def opening(self) -> JSONObject:
        """Return the game's first text and facts."""
        if (start := self.start) is None:
            return {"opening": "", "first": None}
        return {"opening": start.opening, "first": observation_json(start.observation)}

    def settings_json(self, line: str) -> JSONObject | None:
        """Return who played, all settings and their defaults, prompts, and the log's ``line``."""
        if (start := self.start) is None:
            return None
        latest = self.resumed or start
        model, base_url = latest.model or start.model, latest.base_url or start.base_url
        facts = {
            "Story": start.title or start.story,
            "Story file": start.story_address or start.story_path,
            "Its SHA-256": start.story_sha256,
            "Engine": start.engine,
            "Seed": "" if start.seed is None else str(start.seed),
            "Not readable": ", ".join(start.unknown),
            "Player": start.player,
            "Model": f"{model} {where(base_url)}" if start.asks_a_model and base_url else model,
            "Tool server": start.mcp,
            "Branched from": f"{start.trunk}, turn {start.forked_at or 0}" if start.trunk else "",
            "ZorkGPT": start.version,
            "Code": latest.code or start.code,
        }
        defaults = {  # of today; what is gone has none
            name: to_jsonable_python(field.get_default(call_default_factory=True))
            for name, field in GameConfiguration.model_fields.items()
        }
        return {
            "facts": [[name, value] for name, value in facts.items() if value],
            "settings": [
                {
                    "name": name,
                    "value": value,
                    "default": defaults.get(name),
                    "before": start.settings.get(name) if self.resumed else value,
                }
                for name, value in {**start.settings, **latest.settings}.items()
            ],
            "prompts": latest.prompts or start.prompts,
            "line": line,
        }

    @property
    def news(self) -> tuple[int, ...]:
        """Changes whenever there is more to tell than the turns themselves do."""
        return self.version, self.map.version, self._learned.version

    def _mark_turn(self, record: TurnRecord) -> None:
        turn, after = record.turn, record.after
        if after.room and after.room.id not in self.rooms:
            self._mark(turn, "room", after.room.name)
        carried = [it.name for it in after.inventory or ()]
        for item in carried:
            if item not in self._items:
                self._mark(turn, "item", item)
        self._items.update(carried)
        if earned := earned_by(record, self._unearned):
            self._unearned = [it for it in self._unearned if it not in earned]
            share = 100 * (self._achievements - len(self._unearned)) / self._achievements
            self._progress.append((turn, round(share, 1)))
        if record.scored:
            self._mark(turn, "score", record.score_change)
        if record.died:
            self._mark(turn, "death", "The player died")
        if record.won:
            self._mark(turn, "victory", "The game is won")
        if record.failure:
            self._mark(turn, "failure", record.failure)
        happened = {
            "score": record.scored,
            "death": record.died,
            "refusal": record.refused,
            "failure": record.failure or any(tool.is_error for tool in record.tools),
            "tool": record.tools,
        }
        for kind in _STOPS:
            if happened[kind]:
                self._stops[kind].append(turn)

    def _note_failure(self, after: int, what: str, why: str) -> None:
        failure = {"after": after, "what": what, "why": why}
        if self._failures and self._failures[-1].items() >= failure.items():
            self._failures[-1]["times"] += 1
        else:
            self._failures.append({**failure, "times": 1})

    def _mark(self, turn: int, kind: str, text: str) -> None:
        self._marks.append({"turn": turn, "kind": kind, "text": one_line(text, _MARK_CHARACTERS)})

    def _score_line(self) -> list[tuple[int, int]]:
        """Return the beginning, every change, and the latest turn."""
        scores = list(self._known_scores())
        changes = [later for earlier, later in itertools.pairwise(scores) if later[1] != earlier[1]]
        return list(dict.fromkeys([*scores[:1], *changes, *scores[-1:]]))

    def _known_scores(self) -> Iterator[tuple[int, int]]:
        return ((turn, score) for turn, score in self.scores if score is not None)

    def _parts_off(self) -> list[str]:
        return list(self.start.parts_off) if self.start else []
