"""What the providers' modules share: the seam they implement, and readings of neutral messages."""

import functools
import hashlib
import json
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from mcp_ghost.errors import LLMMalformedCallError, LLMReplyError, LLMStatusError
from mcp_ghost.messages import FunctionCall, LLMResponse, Message, ToolCall, ToolSchema, text_in
from mcp_ghost.names import ToolNames
from mcp_ghost.providers.hosted import Hosted
from mcp_ghost.providers.parameters import odd_names
from mcp_ghost.providers.schema import is_recursive
from mcp_ghost.providers.streaming import Assembler
from mcp_ghost.results import JSONObject, strict_json
from mcp_ghost.tables import patterns, table

Wire: TypeAlias = Literal["chat", "responses"]
"""OpenAI's formats: chat completions, and the Responses API."""
WireChoice: TypeAlias = Literal["auto", "chat", "responses"]
"""auto: responses at OpenAI's own address, chat elsewhere, until the server names the other."""
OPENING = "Go on."
"""Said for the user where a provider wants a first user message and the history has none."""
MOST_TOKENS = 10**9
"""Of one reply; a provider that reports more, or fewer than none, is not believed."""
MOST_DOLLARS = 10**4
"""For one reply, the same."""
DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
_COUNT = re.compile(r"tokens$|token_?count$", re.IGNORECASE)

_says = functools.partial(patterns, "mcp_ghost.providers", "phrases.toml", "reply")
_ID, _SHORT_ID = re.compile("[A-Za-z0-9_-]{1,40}"), re.compile("[A-Za-z0-9]{9}")
LONGEST_MARK = 40
"""Characters of the mark of a chat template."""
_LENIENT = json.JSONDecoder(strict=False)
_MAX_BREAKPOINTS = 4
"""Of Anthropic's cache, also behind OpenRouter."""
_MOST_WRITTEN = 1000
"""Characters that are shown of a call which cannot be read."""


@dataclass(frozen=True, kw_only=True)
class LLMRequest:
    """What a model is asked, before it has the form of a wire."""

    messages: Sequence[Message]
    model: str
    tools: Sequence[ToolSchema] | None = None
    """Those on offer."""
    known_tools: Sequence[ToolSchema] | None = None
    """Defines the tools that the history calls, for use where none is on offer."""
    tool_choice: str | JSONObject | None = None
    namespace: str = ""
    """Leads the names of tools on the wire."""
    base_url: str = ""
    api_key: str | None = field(default=None, repr=False)
    has_short_ids: bool = False
    """Whether ids of calls have nine letters or digits, as Mistral wants them."""
    wire: Wire = "chat"
    """For those that speak OpenAI's formats."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """``temperature``, ``top_p``, ``top_k``, ``max_tokens``, ``stop``, ``seed``,
    ``reasoning_effort``, ``response_format`` and ``parallel_tool_calls`` as OpenAI spells them,
    and whatever else the provider takes. ``extra_body`` goes into the payload as it stands."""

    @functools.cached_property
    def names(self) -> ToolNames:
        """The tools' names on the wire, and back: needed to read the reply, too."""
        tools = [*(self.tools or ()), *(self.known_tools or ())]
        return tool_names(self.messages, tools, self.namespace)

    @property
    def given(self) -> JSONObject:
        """The options that say something, for the encoder."""
        said = {name: value for name, value in self.options.items() if value is not None}
        return {name: value for name, value in said.items() if name != "extra_body"}

    def extended(self, payload: JSONObject) -> JSONObject:
        """``payload`` with ``extra_body``; objects are joined, one level deep."""
        whole = dict(payload)
        for key, added in (self.options.get("extra_body") or {}).items():
            if isinstance(known := whole.get(key), dict) and isinstance(added, dict):
                added = {**known, **added}
            whole[key] = added
        return whole


@dataclass(frozen=True)
class WireRequest:
    """One HTTP request, but for the address of the server."""

    path: str
    payload: JSONObject
    headers: dict[str, str] = field(repr=False)


class Provider(Protocol):
    """One wire format, and where its users keep key and address."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def key_variables(self) -> tuple[str, ...]:
        """Environment variables that may hold the key; the first is the one to recommend."""

    @property
    def base_url(self) -> str:
        """The provider's own address."""

    @property
    def base_url_variable(self) -> str:
        """The environment variable that replaces it."""

    @property
    def default_model(self) -> str:
        """Asked where the user names none."""

    def encode(self, request: LLMRequest) -> WireRequest:
        """The request for one reply."""

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        """The reply in ``body``.

        Raises:
            LLMStatusError: an error that came with HTTP status 200, in the server's words.
            LLMReplyError: nothing usable, and why.
        """


@runtime_checkable
class StreamingProvider(Provider, Protocol):
    """A provider whose replies can come piece by piece."""

    def streamed(self, wire: WireRequest) -> WireRequest:
        """The same request for a reply that comes piece by piece."""
        return replace(wire, payload={**wire.payload, "stream": True})

    def assembler(self) -> Assembler:
        """What makes the body of one reply out of its pieces."""


class HostedProvider(StreamingProvider):
    """One of the table, or one whose class says in its own attributes what the table would."""

    most_tools: int | None = None
    """In one request; None where no limit is documented."""

    def __init__(self, hosted: Hosted | None = None) -> None:
        vars(self).update(hosted._asdict() if hosted else {})


# --- readings


def at(value: object, *path: str) -> Any:  # noqa: ANN401  any JSON
    """What is at ``path`` in some JSON; None where an object on the way is none."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def arguments_in(function: object) -> Any:  # noqa: ANN401  any JSON
    """The arguments of a call, which some call parameters; None for none. False is a wrong one."""
    found = (at(function, key) for key in ("arguments", "parameters"))
    return next((it for it in found if it not in (None, "", {}, [])), None)


def dicts_in(value: object) -> list[JSONObject]:
    """The objects in a list, or the one that some servers send in the place of a list."""
    values = value if isinstance(value, list) else [value]
    return [it for it in values if isinstance(it, dict)]


def calls_of(messages: Iterable[Message]) -> Iterator[JSONObject]:
    """Every call in ``messages``."""
    return (call for message in messages for call in message.get("tool_calls") or ())


def tool_names(
    messages: Iterable[Message], tools: Iterable[ToolSchema] | None, namespace: str = ""
) -> ToolNames:
    """The table for one request: tools on offer, and whatever the history calls."""
    functions = [tool["function"] for tool in tools or ()]
    offered = [function["name"] for function in functions]
    odd = {name for each in functions for name in odd_names(each.get("parameters"))}
    called = [call["function"]["name"] for call in calls_of(messages)]
    # What never was a "server.tool" goes back as the model wrote it.
    invented = {name for name in called if "." not in name}.difference(offered)
    ours = [name for name in called if name not in invented]
    return ToolNames([*offered, *ours], namespace, sorted(invented), odd)


def minimal_tools(messages: Iterable[Message]) -> list[ToolSchema]:
    """Bare definitions of what the history calls."""
    called = dict.fromkeys(call["function"]["name"] for call in calls_of(messages))
    return [{"type": "function", "function": {"name": name}} for name in called]


def parts_of(content: object) -> list[JSONObject]:
    """A content, which is a string, a list of parts or nothing, as parts that say something."""
    text = {"type": "text", "text": str(content or "")}
    parts: list[JSONObject] = content if isinstance(content, list) else [text]
    return [part for part in parts if part.get("type") != "text" or part["text"].strip()]


def text_of(content: object) -> str:
    """The text of a content."""
    if isinstance(content, list):
        return "".join(map(text_of, content))
    if isinstance(content, dict):
        return str(content.get("text") or content.get("refusal") or "")
    return content if isinstance(content, str) else ""


def blocks_in(content: object) -> list[JSONObject]:
    """The parts of a reply, each with a text that is one if it has any."""
    is_text = isinstance(content, str)
    return [
        {**part, "text": text_of(part["text"])} if "text" in part else part
        for part in dicts_in({"type": "text", "text": content} if is_text else content)
    ]


def cleared(said: str) -> str:
    """``said`` without the marks of a chat template that some servers leave around it."""
    begun = _says()["begun"].match(said)
    said = said[begun.end() :] if begun else said
    turn = _says()["next_turn"].search(said)
    if turn and "<|" not in said[: turn.start()]:  # what follows, the model made up
        said = said[: turn.start()]
    while ended := _says()["ended"].search(said, max(0, len(said) - LONGEST_MARK)):
        if ended[0].startswith("</s>") and "<s>" in said:  # HTML's, of words that no longer hold
            break
        said = said[: ended.start()].rstrip()
    return said


def result_text(message: Message) -> str:
    """A tool's result as text, whatever it holds; images are left to :func:`images_of`."""
    content = text_in(message) if images_of(message) else message.get("content")
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


def images_of(message: Message) -> list[JSONObject]:
    """The images in a message, as parts."""
    return [part for part in dicts_in(message.get("content")) if part.get("type") == "image_url"]


def object_of(arguments: object) -> JSONObject:
    """The model's arguments as the object they should be; anything else is kept under a name."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    value = parsed_object(text)
    if value is not None:
        return value
    return {"invalid_arguments": text} if text.strip() else {}


def parsed_object(text: str) -> JSONObject | None:
    """The JSON object in ``text``, if it is one."""
    try:
        value = strict_json(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def breakpoints(
    messages: Sequence[Message], roles: Collection[str] = ("system", "user")
) -> set[int]:
    """The messages whose cache marker is honoured: the stable head, then the latest ones."""
    wanted = [
        index
        for index, message in enumerate(messages)
        if message.get("cache_control")
        and message["role"] in roles
        and text_of(message.get("content")).strip()
    ]
    head, others = wanted[:1], wanted[1:]
    return {*head, *others[1 - _MAX_BREAKPOINTS :]}


def head_and_rest(messages: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """The system messages at the start, and what follows them."""
    length = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    return messages[:length], messages[length:]


def alternating(
    turns: Iterable[tuple[str, list[JSONObject]]], key: str, opening: JSONObject
) -> list[JSONObject]:
    """(role, parts) as user and model in alternation, the user first; one role's are one turn."""
    merged: list[JSONObject] = [{"role": "user", key: []}]
    for role, parts in turns:
        if parts and merged[-1]["role"] == role:
            merged[-1][key] += parts
        elif parts:
            merged.append({"role": role, key: parts})
    merged[0][key] = merged[0][key] or [opening]
    return merged


def tool_calls(said: Iterable[tuple[object, object, object]], names: ToolNames) -> list[ToolCall]:
    """The calls of a reply from id, name and arguments, which are JSON text or what it would say.

    A call whose id is missing or that of one before it gets an id of our own.
    """
    calls: dict[str, ToolCall] = {}
    for call_id, name, arguments in said:
        known = str(call_id or "")
        if not known or known in calls:
            known = f"call_{uuid.uuid4().hex[:24]}"
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        text = names.decode_arguments(_as_object(arguments))
        called = FunctionCall(names.decode(str(name or "")), text)
        calls[known] = ToolCall(known, "function", called)
    return [*calls.values()]


def separated(calls: Iterable[ToolCall], names: ToolNames) -> list[ToolCall]:
    """``calls``, and those within one of a tool that OpenAI's models make up for several at once.

    https://community.openai.com/t/model-tries-to-call-unknown-function-multi-tool-use-parallel/490653
    """
    found: list[ToolCall] = []
    for call in calls:
        is_made_up = "multi_tool_use" in call.function.name
        uses = dicts_in(object_of(call.function.arguments).get("tool_uses")) if is_made_up else []
        said = ((None, use.get("recipient_name"), arguments_in(use)) for use in uses)
        found += separated(tool_calls(said, names), names) if uses else [call]
    return found


def grown(before: str, more: str) -> str:
    """The arguments of a call, as JSON of which ``more`` has come.

    Some servers send all that there is with each piece, the whole once more at the end, or "{}"
    for arguments that are yet to come.
    """
    if before.startswith("{") and more.startswith(before):
        # Or an object within one, under the same name: {"a": {"a": 1}}.
        return before + more if is_whole(before + more) else more
    if not is_whole(before) or not (is_whole(more) or parsed_object(before) == {}):
        return before + more
    return before if parsed_object(more or "{}") == {} else more


def is_whole(arguments: str) -> bool:
    """Whether ``arguments`` are an object to its end."""
    return arguments.rstrip().endswith("}") and parsed_object(arguments) is not None


def _as_object(written: str) -> str:
    """The object that arguments say in a way of their own; what says none stays as it is.

    No arguments may be nothing, null or, in PHP, []. Some servers write JSON into JSON, line breaks
    as they are, or the object twice and "{}" before it, where a stream was put together wrongly.
    """
    if parsed_object(written) is not None:
        return written
    values: list[object] = []
    text = cleared(written.strip().removeprefix("\ufeff"))
    try:
        while text:
            value, end = _LENIENT.raw_decode(text)
            text = text[end:].lstrip()
            if isinstance(value, str):
                inner = parsed_object(_as_object(value))
                value = value if inner is None else inner
            values += [value] if value not in (None, [], {}, *values) else []
    except (ValueError, RecursionError):
        return written
    value = values[0] if values else {}
    is_one = len(values) < 2 and isinstance(value, dict)
    return json.dumps(value, ensure_ascii=False) if is_one else written


def state_of(message: Message, provider: str) -> list[JSONObject]:
    """What ``provider`` attached to ``message``; what others attached is not its business."""
    parts = at(message, "provider_state", provider)
    return parts if isinstance(parts, list) else []


def schema_in(response_format: object) -> JSONObject | None:
    """The JSON schema of an answer that Anthropic and Gemini can enforce: strict, not recursive."""
    named = at(response_format, "json_schema")
    if at(response_format, "type") != "json_schema" or at(named, "strict") is False:
        return None
    schema = at(named, "schema")
    return schema if isinstance(schema, dict) and not is_recursive(schema) else None


def reply(said: str, calls: list[ToolCall], **fields: Any) -> LLMResponse:  # noqa: ANN401
    """A reply whose words are the answer, or stand beside its calls; ``fields`` are its others."""
    words = {"text" if calls else "content": cleared(said) or None}
    return LLMResponse(**{"content": None, **words, "tool_calls": calls or None, **fields})


def usage_of(prompt: object, completion: object, total: object, cached: object) -> dict[str, int]:
    """The usage of one reply in our terms; ``cached`` is part of ``prompt``."""
    return {
        "prompt_tokens": count(prompt),
        "completion_tokens": count(completion),
        "total_tokens": count(total) or count(prompt, completion),
        "cached_tokens": count(cached),
    }


def error_text(body: object) -> str:
    """What an error body of any provider says, or ""."""
    error = at(body, "error")
    if not error:  # vLLM, Mistral and FastAPI leave the envelope out
        told = at(body, "message") or at(body, "detail") or at(body, "msg")
        told = told or at(body, "base_resp", "status_msg")  # MiniMax's, with status 200
        error = {"message": told} if told else None
    if not isinstance(error, dict):
        return str(error or "")
    if isinstance(told := error.get("message"), list | dict):
        # Pydantic's details, as FastAPI sends them: the place of each, and what is wrong there.
        details = told.get("detail", told) if isinstance(told, dict) else told
        return "; ".join(
            f"{'.'.join(map(str, it.get('loc') or ()))}: {it.get('msg')}"
            if isinstance(it, dict)
            else str(it)
            for it in (details if isinstance(details, list) else [details])
        )
    said = str(error.get("message") or json.dumps(error))
    # Azure's own message is only "Invalid payload".
    reasons = [str(it["message"]) for it in dicts_in(error.get("details")) if "message" in it]
    said = ": ".join([said, *filter(None, ["; ".join(reasons)])])
    # OpenRouter's own message is only "Provider returned error"; the reason is what that one said.
    raw = at(error, "metadata", "raw")
    return f"{said}: {raw}" if raw else said


def without(what: str, body: object) -> LLMReplyError:
    """The error of a reply that has no ``what``, with the reason if the server gives one."""
    told = error_text(body)
    words = f"The model server sent a reply without any {what}"
    return LLMReplyError(f"{words}: {told}" if told else f"{words}.")


def wire_id(call_id: str, *, is_short: bool = False) -> str:
    """The id of a call as a provider takes it, which may come from another one.

    OpenAI takes 40 characters, Anthropic these letters, Mistral nine letters or digits.
    """
    if (_SHORT_ID if is_short else _ID).fullmatch(call_id):
        return call_id
    digest = hashlib.sha256(call_id.encode(errors="replace")).hexdigest()
    return digest[:9] if is_short else f"call_{digest[:24]}"


def error_names(body: object) -> dict[str, str]:
    """What an error body says beside its words: "type", "code", "param" and a daily "quota"."""
    error = at(body, "error")
    named = error if isinstance(error, dict) else body
    names = {key: str(it) for key in ("type", "code", "param") if (it := at(named, key))}
    # google.rpc.QuotaFailure, where one for a whole day is used up
    quotas = re.findall(r"\w+PerDay\w*", json.dumps(at(named, "details") or ""))
    return names | ({"quota": quotas[0]} if quotas else {})


def malformed_call(body: object, said: str = "") -> LLMMalformedCallError | None:
    """The error in ``body`` or ``said``, if it is that of a call which the model wrote wrongly."""
    said = said or error_text(body)
    if not _says()["malformed_call"].search(" ".join([said, *error_names(body).values()])):
        return None
    wrote = at(body, "error", "failed_generation")
    shown = f" It wrote: {str(wrote)[:_MOST_WRITTEN]}" if wrote else ""
    return LLMMalformedCallError(f"The model wrote a tool call that cannot be read: {said}{shown}")


def reported(
    body: Mapping[str, Any], otherwise: int | None = None
) -> LLMStatusError | LLMReplyError | None:
    """The error in a reply that came as a success; ``otherwise``: the status of unknown codes."""
    error = body.get("error")
    if not error:
        return None
    if malformed := malformed_call(body):
        return malformed
    said, named = error_text(body), error_names(body)
    if said.startswith("Unexpected endpoint"):  # LM Studio's
        return LLMStatusError(said, 404, named=named)
    words = table("mcp_ghost.providers", "phrases.toml")["statuses"]
    code = named.get("code", "")
    known = words.get(code, otherwise if code else None) or words.get(named.get("type", ""))
    status = int(code) if code.isdecimal() else known
    if status is not None and 400 <= status <= 599:
        return LLMStatusError(said, status, named=named)
    return LLMReplyError(f"The model server reported an error: {said}")


def count(*values: object) -> int:
    """A number of tokens, which may come in parts; one that cannot be true becomes the nearest."""
    return sum(int(_within(value, MOST_TOKENS) or 0) for value in values)


def cost_of(value: object) -> float | None:
    """US dollars as a provider reports them, the same way."""
    cost = _within(value, MOST_DOLLARS)
    return None if cost is None else float(cost)


def doubtful(body: Mapping[str, Any]) -> list[str]:
    """The figures in the usage of a reply, whatever the wire, that cannot be true."""
    usage = body.get("usage") or body.get("usageMetadata")
    figures = dict(usage) if isinstance(usage, dict) else {}
    for details in dicts_in([*figures.values()]):
        figures |= details
    odd: list[str] = []
    for name, value in figures.items():
        believed = cost_of(value) if name == "cost" else count(value)
        is_figure = value is not None and (name == "cost" or _COUNT.search(name))
        odd += [name] if is_figure and believed != value else []
    return odd


def _within(value: object, most: int) -> int | float | None:
    """A number as the nearest from 0 to ``most``; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return min(max(value, 0), most)
