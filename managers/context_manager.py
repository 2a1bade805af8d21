"""What the model is told each turn: sections within a token budget, what changes least first."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section
from managers.map.text import shortened
from session.game_configuration import GameConfiguration
from session.game_state import UNKNOWN, ExitSeen, GameState, Observation, TurnRecord, shown

_RESPONSE_CHARACTERS = 400
_THINKING_CHARACTERS = 160
_HEADING = re.compile(r"^[^\S\n]*(?=#)", re.MULTILINE)
"""In the game's words, where it would pose as a part of the prompt."""
_LEAST_CHARACTERS = 100
"""Of a section's last line, which may exceed the budget rather than be cut to nothing."""


class ContextManager:
    """Tells the model about the episode, including what each manager has to say."""

    def __init__(self, config: GameConfiguration, managers: Sequence[Manager] = ()) -> None:
        self._config = config
        self._level = config.observation_level
        self._managers = managers

    def head(self, prompt: str) -> str:
        """The part of the prompt that stays the same for the whole episode."""
        if self._config.prompt_profile() == "compact":
            return prompt
        sections = [section for manager in self._managers for section in manager.preamble()]
        if missing := tuple(_missing(self._config)):
            sections.insert(0, Section("In this episode", missing, importance=8))
        return "\n\n".join([prompt.rstrip(), *(section.text() for section in sections)])

    def build(self, state: GameState, candidates: Iterable[str] = ()) -> str:
        """The rest of the prompt, for the turn to come.

        The story so far comes first and, except every few turns, only grows: so most of a prompt
        begins like the one before, and providers bill and read that part as cached.
        """
        observation = state.observation
        if observation is None:
            raise ValueError("The game has not been started: there is nothing to tell.")
        if self._config.prompt_profile() == "compact":
            return self._compact(state, observation, candidates)
        told = [section for manager in self._managers for section in manager.sections(state)]
        sections = [
            Section("Story so far", tuple(self._story_so_far(state)), 2, is_story=True),
            *sorted(told, key=lambda section: section.importance),
            Section("Situation", tuple(self._situation(state, observation)), importance=7),
            Section("The game says", tuple(_latest_answer(state)), importance=8, is_story=True),
        ]
        return "\n\n".join(
            section.text() for section in fit(sections, self._config.context_token_budget)
        )

    def situation(self, state: GameState) -> str:
        """The facts of this moment, as far as they are told."""
        observation = state.observation
        return "\n".join(self._situation(state, observation)) if observation else ""

    def _story_so_far(self, state: GameState) -> Iterable[str]:
        """The turns before the latest: at least as many as configured, less than twice that."""
        step = self._config.context_history_turns
        first = max(0, (state.turn_count - step) // step * step)
        turns = [record for record in state.history if first < record.turn < state.turn_count]
        return [_told(record) for record in turns]

    def _situation(self, state: GameState, seen: Observation) -> Iterable[str]:
        yield " ".join(self._counts(state, seen))
        if not self._level.tells_status:
            return
        if state.milestones:
            yield f"Progress: {'; '.join(_milestone(record) for record in state.milestones)}"
        room = seen.room.label if seen.room else UNKNOWN
        yield f"Room: {room}" + (", in darkness" if seen.dark else "")
        if not self._level.tells_facts:
            return
        if self._level.tells_exits and not self._config.map_enabled:  # which lists them otherwise
            exits = "; ".join(way.direction + _remark(way) for way in seen.exits)
            yield f"Exits: {exits or 'none known'}"
        yield f"Here: {', '.join(seen.visible) or 'nothing of note'}"
        yield f"You carry: {_carried(seen)}"
        if state.turns_without_news >= max(1, self._config.max_turns_stuck // 4):
            yield (
                f"Nothing new has happened for {state.turns_without_news} turns: what you are "
                "trying does not work. Go somewhere else or do something of another kind. "
                f"After {self._config.max_turns_stuck} turns without anything new, an episode ends."
            )

    def _counts(self, state: GameState, seen: Observation) -> Iterable[str]:
        yield f"Turn {state.turn_count + 1} of at most {self._config.max_turns_per_episode}."
        if self._level.tells_status:
            of_maximum = f" of {seen.max_score}" if seen.max_score else ""
            yield f"Score: {shown(seen.score)}{of_maximum}. Moves: {shown(seen.moves)}."
        if self._level.tells_facts:
            yield f"Deaths: {shown(state.deaths)}."

    def _compact(self, state: GameState, seen: Observation, candidates: Iterable[str]) -> str:
        answer = shortened(state.last_response, _RESPONSE_CHARACTERS)
        last = f"Last: {state.last_action}. " if state.last_action else ""
        choice = ", ".join(candidates)
        lines = [
            *(line for manager in self._managers for line in manager.compact_lines(state)),
            *self._compact_facts(seen),
            f'{last}The game says: "{answer}"',
        ]
        return "\n".join([*lines, f"You can try: {choice}."] if choice else lines)

    def _compact_facts(self, seen: Observation) -> Iterable[str]:
        if not self._level.tells_facts:
            if self._level.tells_status:
                yield f"Room: {seen.room_name}. Score: {shown(seen.score)}."
            return
        told = [f"Room: {seen.room_name}."]
        told.append(f"Here: {', '.join(seen.visible) or ('darkness' if seen.dark else 'nothing')}.")
        if self._level.tells_exits:
            exits = ", ".join(way.direction for way in seen.exits if way.kind != "blocked")
            told.append(f"Exits: {exits or 'unknown'}.")
        yield " ".join(told)
        yield f"You carry: {_carried(seen)}."


def fit(sections: list[Section], token_budget: int) -> list[Section]:
    """Shorten the sections, the least important first, until they fit the budget."""
    excess = sum(len(section.text()) + 2 for section in sections)
    excess -= token_budget * CHARACTERS_PER_TOKEN
    kept = dict(enumerate(sections))
    for index, section in sorted(kept.items(), key=lambda item: item[1].importance):
        lines = list(section.lines)
        while excess > 0 and len(lines) > 1:
            excess -= len(lines.pop(0 if section.is_story else -1)) + 1
        if excess > 0 and lines and len(lines[0]) > excess + _LEAST_CHARACTERS:
            lines[0] = f"{lines[0][: -excess - 1]}…"
            excess = 0
        kept[index] = replace(section, lines=tuple(lines))
    return [section for section in kept.values() if section.lines]


def _missing(config: GameConfiguration) -> Iterable[str]:
    """What the rules promise but this configuration does not provide."""
    if not config.map_enabled:
        yield "No map is kept: nav_target has no effect, leave it null."
    if not config.objectives_enabled:
        yield "No objectives are kept: leave new_objective null."
    if not config.observation_level.tells_facts:
        if config.critic_enabled:
            yield "A command may be refused; you are told why, and choose another in the same turn."
    elif not (config.action_check_enabled or config.critic_enabled):
        yield "No command is checked before the game gets it."
    elif config.action_check_mode == "advise":
        yield "No command is refused: what speaks against one is told in the next turn."


def _carried(seen: Observation) -> str:
    return UNKNOWN if seen.inventory is None else ", ".join(seen.inventory) or "nothing"


def _remark(way_out: ExitSeen) -> str:
    if way_out.kind == "blocked":
        return f' (blocked: "{way_out.note}")' if way_out.note else " (blocked)"
    if way_out.kind == "door":
        return f" ({way_out.note})" if way_out.note else " (a door)"
    return ""


def _milestone(record: TurnRecord) -> str:
    what = "you died" if record.died else f"{record.scored:+d}"
    return f"turn {record.turn} {what} ({_where(record)}{record.command})"


def _told(record: TurnRecord) -> str:
    change = f" [score now {record.after.score}]" if record.scored else ""
    death = " [you died]" if record.died else ""
    return (
        f"Turn {record.turn}, {_where(record)}"
        f"({shortened(record.thinking, _THINKING_CHARACTERS)}) > {record.command}\n"
        f"  {shortened(record.response, _RESPONSE_CHARACTERS)}{change}{death}"
    )


def _where(record: TurnRecord) -> str:
    return f"{record.place.name}: " if record.place else ""


def _latest_answer(state: GameState) -> Iterable[str]:
    if state.history:
        latest = state.history[-1]
        yield from (
            f'"{it.command}" was not given to the game: {it.reason}' for it in latest.refused
        )
        if latest.advice:
            yield f'A remark on "{latest.command}": {latest.advice}'
    if state.last_action:
        yield f"> {state.last_action}"
    yield _HEADING.sub(r"\g<0>\\", state.last_response.strip())
