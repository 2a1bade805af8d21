"""Looking back: when a reflection is due, what it is asked, and what is made of its answer."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence

from llm_client import LLMClient
from managers.manager import Manager, ToSumUp
from managers.reflection.answer import ReflectionAnswer, read_reflection
from managers.reflection.evidence import EvidenceFinder
from managers.reflection.prompt import (
    PendingTurn,
    choice_format,
    choice_message,
    full_message,
    read_choice,
    worth_choosing,
)
from mcp_ghost.errors import LLMError
from mcp_ghost.messages import LLMResponse
from prompts import load_prompt
from session.events import log_event
from session.game_configuration import GameConfiguration
from session.game_state import Observation, ThingSeen, TurnRecord
from session.knowledge import CarriedOver, Reflection
from session.perception.directions import HARMLESS
from shared_utils import create_json_schema

_MOST_PENDING = 60
"""Turns that a reflection can look back at; older ones drop out."""
_BEFORE_A_DEATH = 6
"""Turns that are told of again, where fewer led up to a death since the last look back."""
SUMMARY_CHARACTERS = 6000
_RECORDED_CHARACTERS = 2000
_LISTS = {
    "memories": ("memories", "wrong_memories"),
    "objectives": ("objectives", "ended_objectives"),
    "knowledge": ("claims", "judged_claims"),
}
"""What can be switched off, and the lists that nobody reads then."""
_ALL_LISTS = sum(len(names) for names in _LISTS.values())


class ReflectionManager(Manager):
    """Collects turns and facts that make a look back worth a model call, and makes that call.

    A reflection counts when it is learned, not when it is made: one that did not reach the log
    is due again, with the same turns.
    """

    def __init__(
        self,
        config: GameConfiguration,
        client: LLMClient,
        logger: logging.Logger,
        uid: str,
        managers: Sequence[Manager],
    ) -> None:
        self._config = config
        self._client = client
        self._logger = logger
        self._uid = uid
        self._managers = managers
        self._role = config.role("reflection")
        self._compact = config.prompt_profile("reflection") == "compact"
        self._left_empty = tuple(
            name
            for part, names in _LISTS.items()
            if not getattr(config, f"{part}_enabled")
            for name in names
        )
        self._pending: deque[PendingTurn] = deque(maxlen=_MOST_PENDING)
        self._before: deque[PendingTurn] = deque(maxlen=_BEFORE_A_DEATH)
        """The latest turns that were looked back at."""
        self._number = 0
        self._looked_back_at = 0
        """The latest turn that a reflection saw, also one that failed."""
        self._rooms: set[int | None] = {None}  # a place that is not known is never new
        self._carried: tuple[ThingSeen, ...] | None = ()
        self._heard: set[int] = set()
        """Hashes of answers, where the player is not told of rooms."""
        self._answers: dict[tuple[int | None, str], str] = {}
        """The last answer to each command that left room, score and inventory as they were."""

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn the game's first facts."""
        self._rooms.add(observation.room_id)
        self._carried = observation.inventory

    def apply(self, record: TurnRecord) -> None:
        """Note the turn and what makes it worth a look back: facts, never the model's words."""
        before, after = self._carried or (), record.after.inventory or ()
        turn = PendingTurn(
            record,
            gained=tuple(thing for thing in after if thing not in before),
            lost=tuple(thing for thing in before if thing not in after),
            triggers=tuple(self._triggers(record)),
        )
        self._pending.append(turn)
        self._rooms |= {record.place_id, record.after.room_id}
        self._carried = record.after.inventory

    def learn(self, reflection: Reflection) -> None:
        """Drop the turns that were looked back at, unless that failed."""
        self._number = reflection.number
        self._looked_back_at = reflection.last_turn
        if reflection.failure is None:
            while self._pending and self._pending[0].record.turn <= reflection.last_turn:
                self._before.append(self._pending.popleft())

    def due(self, *, ending: bool = False) -> bool:
        """Tell whether to look back now; ``ending`` says that there will be no later chance."""
        if not self._config.reflection_enabled or not self._pending:
            return False
        if self._compact:
            is_wanted = self._config.memories_enabled and bool(worth_choosing([*self._pending]))
        else:
            is_wanted = len(self._left_empty) < _ALL_LISTS or self._to_sum_up() is not None
        if not is_wanted:
            return False
        since = self._pending[-1].record.turn - self._looked_back_at
        if ending or "death" in self._pending[-1].triggers:
            return since > 0
        has_reason = any(turn.triggers for turn in self._pending) or self._to_sum_up() is not None
        return since >= self._config.reflection_interval_turns and has_reason

    def reflect(self, *, ending: bool = False) -> Reflection:
        """Look back at the pending turns with one model call; a failure is in the result.

        Nothing is learned yet: that happens when the reflection has been logged.

        Raises:
            ValueError: There is no turn to look back at.
        """
        if not self._pending:
            raise ValueError("There are no turns to look back at: call due() first.")
        turns = [*self._pending]
        if self._compact:
            turns = worth_choosing(turns)
        elif any("death" in turn.triggers for turn in turns[:_BEFORE_A_DEATH]):
            turns = [*self._before, *turns]  # to a death belongs what led up to it
        finder = EvidenceFinder(self._uid, [turn.record for turn in turns])
        started = time.perf_counter()
        triggers = (trigger for turn in self._pending for trigger in turn.triggers)
        return Reflection.model_validate(
            {
                **self._look_back(turns, finder),
                "number": self._number + 1,
                "first_turn": self._pending[0].record.turn,
                "last_turn": self._pending[-1].record.turn,
                "triggers": (*dict.fromkeys(triggers), *(["end"] if ending else [])),
                "dropped": tuple(finder.dropped),
                "seconds": round(time.perf_counter() - started, 4),
            }
        )

    def _to_sum_up(self) -> ToSumUp | None:
        """Return what has to give way in the player's prompts."""
        found = (manager.to_sum_up() for manager in self._managers)
        return None if self._compact else next((it for it in found if it), None)

    def _triggers(self, record: TurnRecord) -> Iterable[str]:
        after, said = record.after, hash(record.response)
        if record.scored:
            yield "score"
        if after.inventory != self._carried:
            yield "inventory"
        if record.died:
            yield "death"
        if after.room_id not in self._rooms:
            yield "new room"
        elif not after.room and said not in self._heard:  # which is all that can be known
            self._heard.add(said)
            yield "new text"
        command = " ".join(record.command.casefold().split())
        stayed = after.room == record.place and after.inventory == self._carried
        if stayed and not record.scored and command not in HARMLESS:
            key = (record.place_id, command)
            last, self._answers[key] = self._answers.get(key), record.response
            if last == record.response:
                yield "repeated refusal"
        if record.new_objective:
            yield "objective"

    def _look_back(self, turns: Sequence[PendingTurn], finder: EvidenceFinder) -> dict[str, object]:
        """Return the fields of the reflection that the model's answer gives."""
        to_sum_up = self._to_sum_up()
        try:
            response = self._ask(turns, to_sum_up)
        except LLMError as error:
            return {"failure": f"The model could not be asked: {error}", "usage": error.usage}
        content = response.content or ""
        try:
            if self._compact:
                answer = read_choice(content, turns)
            else:
                answer = read_reflection(content, finder.dropped)
        except ValueError as error:
            failure = f"The answer cannot be read: {error}."
            if response.finish_reason == "length":
                failure += " It was cut off: raise reflection_max_tokens."
            raw = {"error": str(error), "raw_response": content[:_RECORDED_CHARACTERS]}
            log_event(self._logger, logging.WARNING, failure, "reflection_parse_error", **raw)
            return {"failure": failure, "usage": response.spent}
        fields: dict[str, object] = {"usage": response.spent}
        for manager in self._managers:
            fields |= manager.reconcile(answer, finder)
        if to_sum_up and answer.summary:
            summary = answer.summary[:SUMMARY_CHARACTERS]
            fields |= {"summary": summary, "summary_until": to_sum_up.until}
        return fields

    def _ask(self, turns: Sequence[PendingTurn], to_sum_up: ToSumUp | None) -> LLMResponse:
        if self._compact:
            profile, message, answer_format = "compact", choice_message(turns), choice_format(turns)
        else:
            records = [turn.record for turn in turns]
            known = (section for it in self._managers for section in it.to_revise(records))
            profile, message = "full", full_message(turns, known, self._left_empty, to_sum_up)
            answer_format = create_json_schema(ReflectionAnswer)
        response: LLMResponse = self._client.chat.completions.create(
            model=self._role.model,
            messages=[
                {"role": "system", "content": load_prompt("reflection", profile)},
                {"role": "user", "content": message},
            ],
            **self._role.sampling,
            response_format=answer_format,
            name="Reflection",
        )
        return response
