"""The events of an episode, typed: what is written is one of these, and is read as one again."""

import codecs
import hashlib
import json
import logging
import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, Field, model_validator
from pydantic_core import from_json

from mcp_ghost.messages import LLMResponse, Usage
from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.providers.exchange import Exchange, FailedTry
from mcp_ghost.results import JSONObject, jsonable
from session.events import log_event
from session.game_state import EndReason, FailedTurn, Hint, Observation, TurnRecord, Value
from session.knowledge import CarriedOver, Edits, Reflection
from session.levels import ObservationLevel
from session.playing import USES_MODEL, PlayerName
from session.record.request_deltas import RequestDeltas

_UID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_UID_LENGTH = 6


def new_uid() -> str:
    """Draw a name for an episode that is unique across machines and short enough to repeat."""
    return "".join(secrets.choice(_UID_ALPHABET) for _ in range(_UID_LENGTH))


def uid_of(episode_id: str) -> str:
    """Make the uid of an episode that was begun before there were any from its name."""
    digest = hashlib.sha256(episode_id.encode()).digest()
    return "".join(_UID_ALPHABET[byte % len(_UID_ALPHABET)] for byte in digest[:_UID_LENGTH])


class _Named(Value):
    """An event that says whose knowledge it is."""

    episode_id: str = ""
    uid: str = ""
    """The prefix of the ids of everything learned in it."""
    story: str = ""
    story_sha256: str = ""
    model: str = ""

    @model_validator(mode="before")
    @classmethod
    def _with_uid(cls, fields: Mapping[str, object]) -> Mapping[str, object]:
        """With the uid of an episode that is older than uids."""
        named = fields.get("uid") or not fields.get("episode_id")
        return fields if named else {**fields, "uid": uid_of(str(fields["episode_id"]))}


class EpisodeStart(_Named):
    """An episode begins."""

    version: str = ""
    code: str = ""
    """A hash of the sources that play."""
    story_path: str = ""
    story_address: str = ""
    """Where the story was fetched from, if it was."""
    title: str = ""
    seed: int | None = None
    engine: str = ""
    unknown: tuple[str, ...] = ()
    """Which of the game's facts cannot be read, such as ``score``."""
    player: PlayerName = "model"
    """Who decided."""
    base_url: str = ""
    max_turns: int | None = None
    mcp: str | None = None
    """The tool server."""
    parts_off: tuple[str, ...] = ()
    objectives_stale_turns: int | None = None
    group: str | None = None
    """The evaluation that it is part of."""
    trunk: str = ""
    """The episode from which it branched off; what it learned until then has the trunk's uid."""
    forked_at: int | None = None
    """The last turn that it shares with its trunk; None where it has none."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """The whole configuration, except for secrets."""
    prompts: dict[str, str] = Field(default_factory=dict)
    """A hash of each prompt's text."""
    opening: str = ""
    observation: Observation
    snapshot: str = ""
    """The engine at the beginning, base64."""

    @property
    def asks_a_model(self) -> bool:
        """Whether its player does."""
        return self.player in USES_MODEL

    @property
    def level(self) -> ObservationLevel:
        """What the player is told; before this could be set, that was more than any level tells."""
        named = self.settings.get("observation_level")
        return next((it for it in ObservationLevel if it == named), ObservationLevel.FACTS_EXITS)


class KnowledgeLoaded(_Named):
    """What is known before the first turn, or what people wrote between episodes."""

    carried: CarriedOver = CarriedOver()
    edits: Edits = Edits()

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not {"carried", "edits"} & self.model_fields_set:
            raise ValueError("There is neither carried nor edits.")
        return self


class ModelCall(Value):
    """One call of a model: what was asked, every attempt, what came back."""

    turn: int | None = None
    role: str = ""
    """``Agent``, ``Reflection`` or ``Critic``."""
    provider: str = ""
    where: str = ""
    """The address, without secrets."""
    request: dict[str, Any]
    """``messages``, ``model``, ``tools``, ``known_tools``, ``tool_choice`` and ``options`` as they
    were given; and ``sent``: what the wire said besides messages and tools, in its own words."""
    left_out: tuple[str, ...] = ()
    """Optional fields that the model refuses, so that it was asked without them."""
    tries: tuple[FailedTry, ...] = ()
    """Those that failed."""
    reply: LLMResponse | None = None
    error: str | None = None
    """Why there is no reply."""
    milliseconds: float = 0.0
    """Of the whole call, waits between attempts included."""


class EpisodeResumed(Value):
    """An episode continues."""

    turn: int = 0
    """The latest turn."""
    model: str = ""
    base_url: str = ""
    max_turns: int | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)
    code: str = ""


class EpisodeEnd(Value):
    """An episode ends; it may be continued later."""

    reason: EndReason
    score: int | None = 0
    """None where it is not known."""
    turns: int = 0
    deaths: int | None = 0
    """None where it is not known."""
    tool_calls: int = 0
    usage: Usage = Usage()


class LoggedEvent(NamedTuple):
    """Any other event: of interest for watching, not for adding up."""

    event_type: str
    fields: Mapping[str, Any]


DOING = {
    **dict.fromkeys(("turn_start", "mcp_session_start", "mcp_iteration_start"), "thinking"),
    **dict.fromkeys(("mcp_tool_result", "mcp_tool_error", "mcp_tool_timeout"), "thinking"),
    "mcp_tool_call": "tool",
    "llm_retry": "waiting",
    "agent_action": "",
    "game_paused": "paused",
}
"""Type of a logged event -> what the episode is doing from then on."""

Event: TypeAlias = (
    EpisodeStart
    | KnowledgeLoaded
    | ModelCall
    | TurnRecord
    | FailedTurn
    | Reflection
    | Hint
    | EpisodeResumed
    | EpisodeEnd
    | LoggedEvent
)
Step: TypeAlias = TurnRecord | FailedTurn | Reflection | Hint
"""What an episode is played again from."""
KINDS: Mapping[str, type[BaseModel]] = {
    "episode_start": EpisodeStart,
    "knowledge_loaded": KnowledgeLoaded,
    "model_call": ModelCall,
    "turn": TurnRecord,
    "turn_failed": FailedTurn,
    "reflection": Reflection,
    "hint": Hint,
    "episode_resumed": EpisodeResumed,
    "episode_end": EpisodeEnd,
}
MOST_DIGITS = 18
_TOO_LONG = b"0" * (MOST_DIGITS + 1)
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
"""With every digit a zero, a number with too many of them is found in no time."""
_TYPES = {kind: name for name, kind in KINDS.items()}
STEPS = frozenset(KINDS) - {"model_call"}
"""Events that change the episode: each is on the disk before the next begins."""


class Entry(NamedTuple):
    """An event, and what else its line says."""

    event: Event
    time: str = ""
    """ISO 8601."""
    turn: int | None = None


def parse(fields: Mapping[str, Any], requests: RequestDeltas | None = None) -> Entry:
    """Return the event in a line's ``fields``; calls of models only where ``requests`` is given.

    Raises:
        ValueError: It is not what its type says.
    """
    event_type, time, turn = fields.get("event_type"), fields.get("time"), fields.get("turn")
    if not isinstance(event_type, str):
        raise ValueError("There is no event_type.")  # noqa: TRY004  of the log, not of the caller
    event: Event = LoggedEvent(event_type, fields)
    if event_type in STEPS:
        event = KINDS[event_type].model_validate(fields)  # type: ignore[assignment]  # one of Event
    elif event_type == "model_call" and requests is not None:
        with suppress(ValueError, KeyError, TypeError):  # no reason to stop the game
            request = requests.taken_in(fields["role"], fields["request"])
            event = ModelCall.model_validate({**fields, "request": request})
    return Entry(event, str(time or ""), turn if isinstance(turn, int) else None)


def fields_of(line: bytes) -> dict[str, Any]:
    """Return the fields in a line of the log.

    Raises:
        ValueError: It is not an event.
    """
    try:
        fields = from_json(line) if _TOO_LONG not in line.translate(_ZEROS) else _decoded(line)
    except ValueError:  # of a byte order mark or half a character, which older logs may hold, too
        fields = _decoded(line)
    if not isinstance(fields, dict) or "event_type" not in fields:
        raise ValueError("The line is not an event.")
    return fields


def _decoded(line: bytes) -> object:
    try:
        text = line.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogatepass")
        read = _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("The line is nested too deeply.") from error
    # Neither pages nor pydantic models accept half a character.
    return jsonable(read) if b"\\ud" in line.lower() else read


def _integer(digits: str) -> int:
    """No count and no id has more digits; and neither databases nor pages could hold it."""
    if len(digits) > MOST_DIGITS:
        raise ValueError("The line contains a number with too many digits.")
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_integer)
"""One for all lines: it takes longer to make than most lines take to read."""


def write(
    logger: logging.Logger, message: str, event: BaseModel, level: int = logging.INFO
) -> None:
    """Log a typed event; the log's own context adds episode and turn."""
    call = event if isinstance(event, ModelCall) else None
    whole = isinstance(event, TurnRecord | FailedTurn | Reflection | Hint)
    fields = event.model_dump(
        mode="json",
        exclude={"request"} if call else None,
        exclude_unset=not whole,
        exclude_defaults=call is not None,
    )
    if call:
        fields["request"] = call.request  # long, so not copied: the log writes it at once
    log_event(logger, level, message, _TYPES[type(event)], **fields)


def log_call(logger: logging.Logger, exchange: Exchange) -> None:
    """Log what a client reports of a call; turn and role come from the context."""
    call = ModelCall(
        provider=exchange.provider,
        where=exchange.where,
        request=fields_of_request(exchange.request, exchange.sent),
        left_out=exchange.left_out,
        tries=exchange.tries,
        reply=exchange.reply,
        error=exchange.error,
        milliseconds=round(exchange.seconds * 1000, 3),
    )
    message = f"Model asked ({exchange.seconds:.1f} s): {exchange.error or 'answered'}"
    write(logger, message, call, logging.DEBUG)


def fields_of_request(request: LLMRequest, sent: JSONObject | None = None) -> dict[str, Any]:
    """Return what was asked, in neutral form: our names of tools, no key, no header.

    ``sent`` is what became of it on the wire besides messages and tools.
    """
    extra = request.options.get("extra_body")
    options = {**request.given, **({"extra_body": extra} if extra else {})}
    return {
        "model": request.model,
        "options": dict(sorted(options.items())),
        **({"sent": sent} if sent else {}),
        "tool_choice": request.tool_choice,
        "tools": request.tools,
        "known_tools": request.known_tools,
        "messages": list(request.messages),
    }
