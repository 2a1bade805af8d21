"""Models and tools that answer from the record of an episode, where they are asked the same."""

import base64
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

from game_interface import Facts, Game
from game_interface.engines.engine import EngineName, Reply
from game_interface.errors import EngineError
from game_interface.snapshot import earlier_memory
from llm_client import LLMClient
from managers.tools.session import GameTools
from mcp_ghost.errors import LLMError
from mcp_ghost.messages import LLMResponse, Message, ToolSchema, Usage
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.results import ToolCallResult
from mcp_ghost.toolset import Call, Kind, Outcome
from players.guest import GuestPlayer
from session.events import current_turn
from session.game_state import Decision, FailedTurn, GameState, Hint, TurnRecord
from session.record.request_deltas import request_text
from session.record.schema import (
    EpisodeEnd,
    EpisodeResumed,
    EpisodeStart,
    ModelCall,
    Step,
    fields_of_request,
)
from stories.memory import StoryImage

_EXCERPT = 80
"""Characters shown around a difference."""
_FIELDS = ("model", "tools", "known_tools", "tool_choice")
"""Of a request; the rest are options."""


class DivergenceError(Exception):
    """Raised where a replay departs from the record; the message says where and how."""

    def __init__(self, how: str) -> None:
        turn = current_turn()
        super().__init__(f"Turn {turn}: {how}" if turn else how)


class RecordEndsError(Exception):
    """Raised where the record of a run stops, even in the middle of a turn."""


@dataclass
class Recording:
    """What is still to come of one run of the program."""

    begin: EpisodeStart | EpisodeResumed
    calls: deque[ModelCall] = field(default_factory=deque)
    steps: deque[Step] = field(default_factory=deque)
    end: EpisodeEnd | None = None
    """None where the program was killed."""

    def answer(self, request: LLMRequest) -> ModelCall:
        """The recorded call, if it asked the same.

        Raises:
            DivergenceError: It did not.
            RecordEndsError: Nothing was recorded from here on.
        """
        if not self.calls:
            if self.steps:
                raise DivergenceError("a model was asked more often than recorded")
            raise RecordEndsError
        call = self.calls.popleft()
        asked, wanted = fields_of_request(request), dict(call.request)
        wanted.pop("sent", None)  # nothing is sent now
        if "extra_body" not in wanted["options"]:  # logs did not always hold it
            asked["options"].pop("extra_body", None)
        before, now = request_text(wanted), request_text(asked)
        if before != now:
            raise DivergenceError(f"the request to the {call.role} {difference(before, now)}")
        return call

    def hints(self, *_: object) -> Iterator[str]:
        """What the person watching said before the next step."""
        while self.steps and isinstance(self.steps[0], Hint):
            yield cast("Hint", self.steps.popleft()).text

    def upcoming(self) -> Mapping[str, Any]:
        """The agent's next request."""
        return next((call.request for call in self.calls if call.role == "Agent"), {})


def difference(recorded: str, now: str) -> str:
    """Where two texts diverge, and what stands there."""
    pairs = enumerate(zip(recorded, now, strict=False))
    shortest = min(len(recorded), len(now))
    at = next((number for number, (a, b) in pairs if a != b), shortest)
    window = slice(max(at - _EXCERPT // 2, 0), at + _EXCERPT)
    excerpts = f"\n  recorded: {recorded[window]!r}\n  now:      {now[window]!r}"
    return f"differs at character {at}:{excerpts}"


class RecordedClient(LLMClient):
    """A client whose model is the record."""

    def __init__(self, recording: Recording, *arguments: Any, **options: Any) -> None:  # noqa: ANN401
        self._recording = recording
        super().__init__(*arguments, **options)

    def _engine(self, *_: object) -> ProviderClient:
        return cast("ProviderClient", _RecordedModel(self._recording))


class _RecordedModel:
    """Stands in for the engine's client."""

    provider_name = "recorded"

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """There is no connection."""

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        headers: object,
        retry_empty: object = None,
        **asked: Any,  # noqa: ANN401  what the engine's client takes
    ) -> LLMResponse:
        fields = {name: asked.pop(name) for name in _FIELDS}
        call = self._recording.answer(LLMRequest(messages=messages, **fields, options=asked))
        if call.reply is None:
            error = LLMError(call.error or "")
            error.usage = sum((it.usage for it in call.tries), Usage())
            raise error
        return call.reply


class RecordedGuest(GuestPlayer):
    """Says again what the guest of an episode said."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.begin.model)
        self._recording = recording

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """What was said at the next step."""
        step = next(iter(self._recording.steps), None)
        if not isinstance(step, TurnRecord | FailedTurn):
            raise RecordEndsError
        self.said = step.proposed
        return super().decide(state, facts)


class RecordedEngine:
    """Plays the game of an episode again from its record, for an engine that is no longer there.

    The memory after each turn, from which facts are read, is in the snapshots of such episodes.
    """

    name: EngineName = "bocfel"

    def __init__(self, start: EpisodeStart, turns: Sequence[TurnRecord], image: StoryImage) -> None:
        self._turns = turns
        self._image = image
        begin = (start.opening, start.observation, start.snapshot)
        self._moments = [begin, *((it.response, it.after, it.snapshot) for it in turns)]

    def start(self, seed: int) -> Reply:
        """The recorded opening."""
        return self._reply(0)

    def step(self, state: bytes, command: str) -> Reply:
        """The recorded answer.

        Raises:
            DivergenceError: Another command was given then.
            RecordEndsError: None was.
        """
        number = int(state)
        if number >= len(self._turns):
            raise RecordEndsError
        turn = self._turns[number]
        if turn.command != command:
            raise DivergenceError(
                f"the command is {command!r}, but was {turn.command!r} when recorded"
            )
        if turn.ended:
            raise DivergenceError(
                "the game was restarted, which a record of this kind cannot repeat"
            )
        return replace(self._reply(number + 1), ended=turn.over)

    def look(self, state: bytes) -> Reply:
        """The moment after so many turns."""
        return replace(self._reply(int(state)), text="")

    def close(self) -> None:
        """Nothing is held open."""

    def _reply(self, number: int) -> Reply:
        text, after, snapshot = self._moments[number]
        shown = after.room_name if after.room_shown and after.room else ""
        memory = earlier_memory(base64.b64decode(snapshot), self._image)
        return Reply(text, str(number).encode(), memory, status_line=shown)


class RefusingGame:
    """A game whose engine fails where it did: a timeout need not happen twice."""

    def __init__(self, game: Game, recording: Recording) -> None:
        self._game = game
        self._recording = recording

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the game has
        return getattr(self._game, name)

    def step(self, command: str) -> str:
        """What the game answers, or the recorded failure.

        Raises:
            EngineError: As it was then.
        """
        steps = self._recording.steps
        turn = next((it for it in steps if isinstance(it, TurnRecord | FailedTurn)), None)
        if isinstance(turn, TurnRecord) and turn.engine_refused:
            raise EngineError(turn.engine_refused)
        return self._game.step(command)


class RecordedTools(GameTools):
    """Offers what was offered, and answers what was answered."""

    langfuse_client = None

    def __init__(self, recording: Recording, server_names: str) -> None:
        self.server_names = tuple(server_names.split(", "))
        self._request: Mapping[str, Any] = {}
        self._given: set[str] = set()
        """Ids of the calls whose answers, which that request holds, were given."""
        self._recording = recording

    @property
    def is_disabled(self) -> bool:
        """Whether tools had been given up."""
        return not self._recording.upcoming().get("tools")

    def close(self) -> None:
        """There is nothing to end."""

    async def get_tool_schemas(self) -> list[ToolSchema]:
        """What the agent's next request offers, or knows of."""
        request = self._recording.upcoming()
        return list(request.get("tools") or request.get("known_tools") or ())

    async def call(self, call: Call) -> Outcome:
        """What became of such a call then."""
        request = self._recording.upcoming()
        if request is not self._request:
            self._request, self._given = request, set()
        calls, answers = _latest_calls(request)
        for made in calls:
            function = made["function"]
            is_it = function["name"] == call.name and _same(function["arguments"], call.arguments)
            if is_it and made["id"] not in self._given:
                self._given.add(made["id"])
                tools_lost = request["messages"][-1]["role"] == "user"
                answer = answers[made["id"]]
                content = answer["content"]
                told = json.loads(content if isinstance(content, str) else content[0]["text"])
                error = told.get("error")
                in_words = _kind_in_words(error, tools_lost)
                result = ToolCallResult(told.get("content"), error is not None, error)
                return Outcome(Kind(answer.get("kind", in_words)), result)
        return Outcome.without_result(Kind.TOOL_ERROR, "This call is not in the record.")

    def retold(self, answers: list[Message]) -> list[Message]:
        """The answers to calls in the words that the model was told then, whatever ours are now."""
        _, recorded = _latest_calls(self._recording.upcoming())
        return [recorded.get(it["tool_call_id"], it) for it in answers]


def _latest_calls(request: Mapping[str, Any]) -> tuple[list[Message], dict[str, Message]]:
    """The calls that the model made last before ``request``, and their answers by id."""
    messages = request.get("messages") or []
    last = max((n for n, it in enumerate(messages) if it.get("tool_calls")), default=None)
    if last is None:
        return [], {}
    answers = {it["tool_call_id"]: it for it in messages[last:] if it["role"] == "tool"}
    return messages[last]["tool_calls"], answers


def _kind_in_words(error: str | None, tools_lost: bool) -> Kind:
    """The kind of an outcome from the words that told of it, for records that hold no more."""
    if error is None:
        return Kind.OK
    if error.startswith("Tool call timed out"):
        return Kind.TIMEOUT
    if error.startswith("Tool call failed: "):
        return Kind.DIED if tools_lost else Kind.FAILED
    return Kind.TOOL_ERROR


def _same(text: str, arguments: dict[str, Any]) -> bool:
    try:
        return bool((json.loads(text.strip() or "{}")) == arguments)
    except ValueError:
        return False
