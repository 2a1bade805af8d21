"""What the model is told each turn: sections in order of urgency, within a token budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from managers.manager import Section

if TYPE_CHECKING:
    from managers.map_manager import MapManager
    from session.game_configuration import GameConfiguration
    from session.game_state import ExitSeen, GameState, Observation, Place, TurnRecord

CHARACTERS_PER_TOKEN = 4
_RESPONSE_CHARACTERS = 400
_THINKING_CHARACTERS = 160
_MAP_ROOMS = 25
_LEAST_CHARACTERS = 100
"""Of a section's last line, which is better left out of the budget than cut to nothing."""


class ContextManager:
    """Tells the model about the episode; the latest news comes last."""

    def __init__(self, config: GameConfiguration, game_map: MapManager) -> None:
        self._config = config
        self._map = game_map

    def build(self, state: GameState, candidates: Iterable[str] = ()) -> str:
        """The volatile part of the prompt, for the turn to come."""
        observation = state.observation
        if observation is None:
            raise ValueError("The game has not been started: there is nothing to tell.")
        if self._config.prompt_profile == "compact":
            return self._compact(state, observation, candidates)
        sections = [
            Section("Known ways", tuple(self._known_ways(observation)), importance=1),
            Section("Latest turns", tuple(self._latest_turns(state)), importance=2),
            Section("Situation", tuple(self._situation(state, observation)), importance=3),
            Section("The game says", tuple(_latest_answer(state)), importance=4),
        ]
        return "\n\n".join(
            section.text() for section in fit(sections, self._config.context_token_budget)
        )

    def _situation(self, state: GameState, seen: Observation) -> Iterable[str]:
        of_maximum = f" of {seen.max_score}" if seen.max_score else ""
        yield (
            f"Turn {state.turn_count + 1} of at most {self._config.max_turns_per_episode}. "
            f"Score: {seen.score}{of_maximum}. Deaths: {state.deaths}."
        )
        yield f"Room: {seen.room.name} (#{seen.room.id})" + (", in darkness" if seen.dark else "")
        yield f"Exits: {self._exits(seen) or 'none known'}"
        yield f"Here: {', '.join(seen.visible) or 'nothing of note'}"
        yield f"You carry: {', '.join(seen.inventory) or 'nothing'}"
        if state.turns_without_news >= self._config.max_turns_stuck // 4:
            yield (
                f"Nothing new has happened for {state.turns_without_news} turns: what you are "
                "trying does not work. Go somewhere else or do something of another kind. "
                f"The episode ends after {self._config.max_turns_stuck} such turns."
            )

    def _exits(self, seen: Observation) -> str:
        ways = self._map.ways(seen.room.id)
        blocked = self._map.blocked(seen.room.id)
        texts = []
        for way_out in seen.exits:
            if way_out.direction in ways:
                texts.append(f"{way_out.direction} (to {_label(ways[way_out.direction])})")
            elif way_out.direction in blocked:
                texts.append(f'{way_out.direction} (tried: "{blocked[way_out.direction]}")')
            else:
                texts.append(way_out.direction + _remark(way_out))
        listed = {way_out.direction for way_out in seen.exits}
        texts += [f"{way} (to {_label(room)})" for way, room in ways.items() if way not in listed]
        return "; ".join(texts)

    def _known_ways(self, seen: Observation) -> Iterable[str]:
        """The rooms around, nearest last."""
        lines: list[str] = []
        reached = {seen.room.id}
        frontier = [seen.room.id]
        while frontier and len(lines) < _MAP_ROOMS:
            following: list[int] = []
            for room_id in frontier:
                ways = self._map.ways(room_id)
                if ways:
                    name = self._map.rooms[room_id]
                    to = ", ".join(f"{way} to {_label(room)}" for way, room in ways.items())
                    lines.append(f"{name} (#{room_id}): {to}")
                new = [room.id for room in ways.values() if room.id not in reached]
                following += dict.fromkeys(new)
                reached.update(new)
            frontier = following
        return reversed(lines)

    def _latest_turns(self, state: GameState) -> Iterable[str]:
        turns = list(state.history)[-self._config.context_history_turns :]
        return [_told(record) for record in turns]

    def _compact(self, state: GameState, seen: Observation, candidates: Iterable[str]) -> str:
        exits = ", ".join(way.direction for way in seen.exits if way.kind != "blocked")
        here = ", ".join(seen.visible) or ("darkness" if seen.dark else "nothing")
        parts = [
            f"Room: {seen.room.name}. Here: {here}. Exits: {exits or 'unknown'}.",
            f"You carry: {', '.join(seen.inventory) or 'nothing'}.",
        ]
        answer = _shortened(state.last_response, _RESPONSE_CHARACTERS)
        last = f"Last: {state.last_action}. " if state.last_action else ""
        parts.append(f'{last}The game says: "{answer}"')
        choice = ", ".join(candidates)
        if choice:
            parts.append(f"You can try: {choice}.")
        return "\n".join(parts)


def fit(sections: list[Section], token_budget: int) -> list[Section]:
    """Shorten the sections, the least important first, until they fit the budget."""
    excess = sum(len(section.text()) + 2 for section in sections)
    excess -= token_budget * CHARACTERS_PER_TOKEN
    kept = dict(enumerate(sections))
    for index, section in sorted(kept.items(), key=lambda item: item[1].importance):
        lines = list(section.lines)
        while excess > 0 and len(lines) > 1:
            excess -= len(lines.pop(0)) + 1
        if excess > 0 and lines and len(lines[0]) > excess + _LEAST_CHARACTERS:
            lines[0] = f"{lines[0][: -excess - 1]}…"
            excess = 0
        kept[index] = Section(section.title, tuple(lines), section.importance)
    return [section for section in kept.values() if section.lines]


def _label(room: Place) -> str:
    return f"{room.name} #{room.id}"


def _remark(way_out: ExitSeen) -> str:
    if way_out.kind == "blocked":
        return f' (blocked: "{way_out.note}")' if way_out.note else " (blocked)"
    if way_out.kind == "door":
        return f" ({way_out.note})" if way_out.note else " (a door)"
    return " (not yet taken)"


def _told(record: TurnRecord) -> str:
    change = f" [score now {record.after.score}]" if record.scored else ""
    death = " [you died]" if record.died else ""
    return (
        f"Turn {record.turn}, {record.place.name}: "
        f"({_shortened(record.thinking, _THINKING_CHARACTERS)}) > {record.command}\n"
        f"  {_shortened(record.response, _RESPONSE_CHARACTERS)}{change}{death}"
    )


def _latest_answer(state: GameState) -> Iterable[str]:
    if state.last_action:
        yield f"> {state.last_action}"
    yield state.last_response.strip()


def _shortened(text: str, length: int) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= length else flat[: length - 1] + "…"
