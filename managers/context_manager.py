"""What the model is told each turn: its turns so far, then what is known now within a budget."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from game_interface.command_guard import KEYS_TO_GIVE
from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section, shortened, without_headings
from managers.story.transcript import Transcript
from mcp_ghost.messages import Message
from session.game_configuration import GameConfiguration
from session.game_state import UNKNOWN, ExitSeen, GameState, Observation, shown

_COMPACT_CHARACTERS = 400
"""Of the game's answer, for very small models."""
_LATELY = 12
"""Messages of the story that a critic reads: six turns."""
_REMINDER = (
    "Answer with one JSON object: thinking, action, new_objective, close_objective, nav_target, "
    "plan."
)
"""The answers above show only what is told there."""
_FROM_WATCHER = 'A hint from the person watching, who is not part of the game: "{}"'
_LEAST_CHARACTERS = 100
"""Of a section's last line, which may exceed the budget rather than be cut to nothing."""


class Prompt(NamedTuple):
    """What a model is asked with, below the head."""

    story: list[Message]
    """The turns so far, from user to assistant."""
    text: str
    """What came of the latest turn, and what is known now."""

    @property
    def lately(self) -> str:
        """The end of it, from a few turns ago."""
        return "\n\n".join([*(message["content"] for message in self.story[-_LATELY:]), self.text])


class ContextManager:
    """Tells the model about the episode, including what each manager has to say."""

    def __init__(
        self, config: GameConfiguration, transcript: Transcript, managers: Sequence[Manager] = ()
    ) -> None:
        self._config = config
        self._level = config.observation_level
        self._transcript = transcript
        self._managers = managers

    def head(self, prompt: str) -> str:
        """Return the part of the prompt that stays the same for the whole episode."""
        if self._config.prompt_profile() == "compact":
            return prompt
        sections = [section for manager in self._managers for section in manager.preamble()]
        if missing := tuple(_missing(self._config)):
            sections.insert(0, Section("In this episode", missing, importance=8))
        return "\n\n".join([prompt.rstrip(), *(section.text() for section in sections)])

    def build(self, state: GameState, candidates: Iterable[str] = ()) -> Prompt:
        """Return the rest of the prompt, for the turn to come.

        The story so far comes first and, except once in many turns, only grows: so most of a prompt
        begins like the one before, and providers bill and read that part as cached.
        """
        if self._config.prompt_profile() == "compact":
            return Prompt([], "\n".join(self._compact(state, candidates)))
        told = [section for manager in self._managers for section in manager.sections(state)]
        sections = [
            *sorted(told, key=lambda section: section.importance),
            Section("Situation", tuple(self.situation(state)), importance=7),
        ]
        if state.plan:
            title = f"Your plan, made in turn {state.plan_turn}"
            sections.append(Section(title, (without_headings(state.plan),), importance=8))
        fitting = fit(sections, self._config.context_token_budget)
        now = [*(section.text() for section in fitting), *hints_of(state), _REMINDER]
        *story, latest = self._transcript.messages(state)
        return Prompt(story, "\n\n".join([latest["content"], *now]))

    def situation(self, state: GameState) -> Iterable[str]:
        """Yield the facts of this moment, as far as they are told."""
        seen, most = state.observation, self._config.max_turns_per_episode
        counts = [f"Turn {min(state.turn_count + 1, most)} of at most {most}."]
        if self._level.tells_status:
            of_maximum = f" of {seen.max_score}" if seen.max_score else ""
            counts.append(f"Score: {shown(seen.score)}{of_maximum}. Moves: {shown(seen.moves)}.")
        if self._level.tells_facts:
            counts.append(f"Deaths: {shown(state.deaths)}.")
        yield " ".join(counts)
        yield from keys_of(state)
        if seen.status_line:
            yield f"Status line: {seen.status_line}"
        if not self._level.tells_status:
            return
        room = seen.room.label if seen.room else UNKNOWN
        yield f"Room: {room}" + (", in darkness" if seen.dark else "")
        if not self._level.tells_facts:
            return
        if self._level.tells_exits and not self._config.map_enabled:  # which lists them otherwise
            exits = "; ".join(way.direction + _remark(way) for way in seen.exits)
            yield f"Exits: {exits or 'none known'}"
        yield f"Here: {', '.join(map(str, seen.visible)) or 'nothing of note'}"
        yield f"You carry: {_carried(seen)}"
        if state.turns_without_news >= max(1, self._config.max_turns_stuck // 4):
            yield (
                f"Nothing new has happened for {state.turns_without_news} turns: what you are "
                "trying does not work. Go somewhere else or do something of another kind. The "
                f"episode ends after {self._config.max_turns_stuck} turns without anything new."
            )

    def _compact(self, state: GameState, candidates: Iterable[str]) -> Iterable[str]:
        seen = state.observation
        for manager in self._managers:
            yield from manager.compact_lines(state)
        if self._level.tells_facts:
            here = ", ".join(map(str, seen.visible)) or ("darkness" if seen.dark else "nothing")
            told = f"Room: {seen.room_name}. Here: {here}."
            if self._level.tells_exits:
                exits = ", ".join(way.direction for way in seen.exits if way.kind != "blocked")
                told += f" Exits: {exits or 'unknown'}."
            yield told
            yield f"You carry: {_carried(seen)}."
        elif self._level.tells_status:
            yield f"Room: {seen.room_name}. Score: {shown(seen.score)}."
        if seen.status_line:
            yield f"Status line: {seen.status_line}"
        last = f"Last: {state.last_action}. " if state.last_action else ""
        yield f'{last}The game says: "{shortened(state.last_response, _COMPACT_CHARACTERS)}"'
        yield from keys_of(state)
        yield from hints_of(state)
        if choice := ", ".join(candidates):
            yield f"You can try: {choice}."


def hints_of(state: GameState) -> Iterable[str]:
    """Return what the person watching says, as a player reads it at the prompt's end."""
    return (_FROM_WATCHER.format(text) for text in state.hints)


def keys_of(state: GameState) -> Iterable[str]:
    """Tell why the latest answer was not played, and which keys the game waits for, if it does."""
    if state.unplayed:
        yield f"Your latest answer was not played: {state.unplayed}"
    if state.observation.waits_for == "key":
        yield f"The game waits for a key, not for a command: answer with {KEYS_TO_GIVE}."


def fit(sections: list[Section], token_budget: int) -> list[Section]:
    """Shorten the sections, the least important first, until they fit the budget."""
    excess = sum(len(section.text()) + 2 for section in sections)
    excess -= token_budget * CHARACTERS_PER_TOKEN
    kept = dict(enumerate(sections))
    for index, section in sorted(kept.items(), key=lambda item: item[1].importance):
        lines = list(section.lines)
        while excess > 0 and len(lines) > 1:
            excess -= len(lines.pop()) + 1
        if excess > 0 and lines and len(lines[0]) > excess + _LEAST_CHARACTERS:
            lines[0] = f"{lines[0][: -excess - 1]}…"
            excess = 0
        kept[index] = replace(section, lines=tuple(lines))
    return [section for section in kept.values() if section.lines]


def _missing(config: GameConfiguration) -> Iterable[str]:
    """Yield what the rules promise but this configuration does not provide."""
    if rule := _OF_LINES.get(config.rules_several_commands):
        yield rule
    if not config.map_enabled and config.observation_level.tells_status:
        yield "No map is kept: nav_target has no effect, leave it null."
    if not config.objectives_enabled:
        yield "No objectives are kept: leave new_objective and close_objective null."
    if not config.observation_level.tells_facts:
        if config.critic_enabled:
            yield "A command may be refused; you are told why, and choose another in the same turn."
    elif not (config.action_check_enabled or config.critic_enabled):
        yield "No command is checked before the game gets it."
    elif config.action_check_mode == "advise":
        yield "No command is refused: the next turn tells you what speaks against one."


_OF_LINES = {
    "refuse": "Instead of rule 6: a line with several commands costs the turn, and the game is "
    "given none of them.",
    "allow": "Instead of rule 6: a line may hold several commands, with full stops between them.",
}


def _carried(seen: Observation) -> str:
    return UNKNOWN if seen.inventory is None else ", ".join(map(str, seen.inventory)) or "nothing"


def _remark(way_out: ExitSeen) -> str:
    if way_out.kind == "blocked":
        return f' (blocked: "{way_out.note}")' if way_out.note else " (blocked)"
    return f" ({way_out.note or 'a door'})" if way_out.kind == "door" else ""
