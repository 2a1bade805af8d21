"""OpenAI's chat completions: neutral messages into a payload, a reply body into an LLMResponse.

Pure functions. The format is shared by OpenAI, OpenRouter, llama.cpp, vLLM, Ollama and many
others, which differ in what they refuse; a ``Dialect`` says how.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from mcp_ghost.errors import LLMReplyError
from mcp_ghost.messages import LLMResponse, Message, ToolSchema, text_in
from mcp_ghost.names import ToolNames
from mcp_ghost.providers import common
from mcp_ghost.providers.common import at
from mcp_ghost.providers.hosted import OPENAI, OPENROUTER, hosted_at
from mcp_ghost.providers.parameters import FOR_GRAMMARS, FOR_OPENAI, parameters
from mcp_ghost.providers.streaming import Assembler, Delta
from mcp_ghost.results import JSONObject

_BLOCK = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
# https://cookbook.openai.com/articles/openai-harmony; the second without its marks.
_CHANNEL = re.compile(
    r"<\|channel\|>\s*(\w{1,20})\b([^<]{0,200})(?:<\|constrain\|>\w{0,20})?<\|message\|>"
    r"(.*?)(?=<\|(?:end|start|return|call|channel)\|>|\Z)",
    re.DOTALL,
)
_UNMARKED = re.compile(r"analysis(?P<thought>.+?)assistantfinal(?P<answer>.+)", re.DOTALL)

Dialect: TypeAlias = Literal["generic", "openai", "openrouter"]
"""generic: what all take; openai: OpenAI itself, which refuses every parameter that it does not
know; openrouter: hands the request on to one of several providers, wants tool definitions beside a
history with tool calls, and takes cache markers in parts."""

# OpenAI's reasoning models; they refuse sampling parameters and `stop`.
REASONING_MODEL = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d)(?!.*-chat))", re.IGNORECASE)
SAMPLING = frozenset({"temperature", "top_p", "stop"})
_EXTRA_SAMPLING = frozenset({"top_k", "min_p"})
# Thinking that its provider wants back with the calls: DeepSeek and Kimi, OpenRouter.
_ECHOED = ("reasoning_content", "reasoning_details")
# Mistral, wherever it runs: https://docs.mistral.ai/capabilities/function_calling
_SHORT_IDS = re.compile(r"[mp]i[sx]tral|ministral|magistral|voxtral|codestral|devstral", re.I)
RESPONSES_PATH = "/responses"
_MAX_DESCRIPTION = 1024


def dialect_of(base_url: str) -> Dialect:
    """The dialect spoken at ``base_url``."""
    hosted = hosted_at(base_url)
    return "openrouter" if hosted is OPENROUTER else "openai" if hosted is OPENAI else "generic"


class OpenAI(common.HostedProvider):
    """OpenAI, and at another address whatever speaks its format."""

    name, key_variables, base_url, base_url_variable, default_model = OPENAI[:5]
    # https://learn.microsoft.com/en-us/azure/ai-services/openai/quotas-limits; Groq takes as many.
    most_tools = 128

    def encode(self, request: common.LLMRequest) -> common.WireRequest:
        messages, model, names = request.messages, request.model, request.names
        dialect, options = dialect_of(request.base_url), request.given
        response_format = options.pop("response_format", None)
        payload: JSONObject = {"model": model, "messages": _messages(request, dialect)}
        tools, choice = request.tools, request.tool_choice
        if not tools and dialect == "openrouter" and any(common.calls_of(messages)):
            tools, choice = request.known_tools or common.minimal_tools(messages), "none"
        if tools:
            payload["tools"] = [tool_of(tool, names, dialect, model) for tool in tools]
            if isinstance(choice, dict):
                named = {"name": names.encode(choice["function"]["name"])}
                choice = {"type": "function", "function": named}
            payload |= {"tool_choice": choice} if choice is not None else {}
        if response_format is not None:
            payload["response_format"] = response_format
        if "claude" in model.lower() and "temperature" in options:  # it refuses both together
            options.pop("top_p", None)
        payload |= options_of(options, dialect, model, constrained=response_format is not None)
        return common.WireRequest("/chat/completions", payload, authorization(request))

    def streamed(self, wire: common.WireRequest) -> common.WireRequest:
        wire = super().streamed(wire)
        more = {} if wire.path == RESPONSES_PATH else {"stream_options": {"include_usage": True}}
        return replace(wire, payload={**wire.payload, **more})

    def assembler(self) -> Assembler:
        return OpenAIAssembler()

    def decode(self, body: Mapping[str, Any], names: ToolNames, *, model: str) -> LLMResponse:
        choice = _choice(body)
        if error := common.reported(body) or common.reported(choice):
            raise error
        if not choice:
            raise common.without("choices", body)
        message = choice.get("message")
        message = message if isinstance(message, dict) else {"content": choice.get("text")}
        raw = message.get("tool_calls") or message.get("function_call")  # the older form
        raw = raw if isinstance(raw, list) else common.dicts_in(raw)
        content = message.get("content")
        said, thinking = split_thinking(common.text_of(content))
        said = said if said.strip() else common.text_of(message.get("refusal"))
        told = (message.get(key) for key in ("reasoning", "reasoning_content"))
        thought = next((text for text in told if isinstance(text, str) and text), "")
        # Mistral's way: parts of type "thinking" that hold text parts.
        parts = common.text_of([part.get("thinking") for part in common.dicts_in(content)])
        calls = common.tool_calls(map(_said, raw), names)
        finish_reason = choice.get("finish_reason")
        native = f"{finish_reason} {choice.get('native_finish_reason')}"  # OpenRouter's
        if not calls and (malformed := common.malformed_call(None, native)):
            raise malformed
        if finish_reason == "error":  # OpenRouter's, of a provider that broke off
            raise LLMReplyError("The model server ended the reply with an error.")
        # What is sent back with the calls; Gemini signs each of them in a field of its own.
        fields = {key: message[key] for key in _ECHOED if message.get(key)}
        signed = {
            call.id: {"extra_content": entry["extra_content"]}
            for call, entry in zip(calls, raw, strict=True)
            if isinstance(entry, dict) and entry.get("extra_content")
        }
        state = {"openai": [{"message": fields, "calls": signed}]}
        usage = body.get("usage")
        return common.reply(
            said,
            calls,
            model=str(body.get("model") or model),
            usage=usage_in(usage) if usage else None,
            finish_reason=str(finish_reason) if finish_reason else None,
            reasoning="\n".join(filter(None, (thought, parts, thinking))) or None,
            cost=common.cost_of(at(usage, "cost")),
            provider_state=state if calls and (fields or signed) else None,
        )


# --- encoding


def _messages(request: common.LLMRequest, dialect: Dialect) -> list[JSONObject]:
    messages, model = request.messages, request.model
    is_short = request.has_short_ids or bool(_SHORT_IDS.search(f"{request.base_url} {model}"))
    marked = common.breakpoints(messages) if dialect == "openrouter" else set()
    encoded: list[JSONObject] = []
    seen: list[JSONObject] = []
    for index, message in enumerate(messages):
        if seen and message["role"] != "tool":
            encoded.append({"role": "user", "content": seen})
            seen = []
        if message["role"] == "assistant":
            encoded.append(_assistant(message, request, is_short=is_short))
        elif message["role"] == "tool":
            content = common.result_text(message)
            answered = common.wire_id(message["tool_call_id"], is_short=is_short)
            encoded.append({"role": "tool", "tool_call_id": answered, "content": content})
            if images := common.images_of(message):  # results are text, so the user shows them
                said = f"From the result of call {message['tool_call_id']}:"
                seen += [{"type": "text", "text": said}, *images]
        else:
            entry = {"role": message["role"], "content": _content(message, index in marked)}
            is_developer = dialect == "openai" and REASONING_MODEL.search(model)
            if is_developer and entry["role"] == "system":
                entry["role"] = "developer"
            if entry["role"] == "user" and encoded and encoded[-1]["role"] == "user":
                # Several chat templates refuse two in a row.
                entry["content"] = joined(encoded.pop()["content"], entry["content"])
            encoded.append(entry)
    return [*encoded, {"role": "user", "content": seen}] if seen else encoded


def joined(one: str | list[JSONObject], other: str | list[JSONObject]) -> str | list[JSONObject]:
    """The contents of two messages as that of one."""
    if isinstance(one, str) and isinstance(other, str):
        return "\n\n".join(text for text in (one, other) if text.strip())
    return [*common.parts_of(one), *common.parts_of(other)]


def _content(message: Message, marked: bool) -> str | list[JSONObject]:
    """Plain text where that says it all, since not every server takes parts."""
    content = message.get("content")
    listed = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    if not marked and all(part.get("type") == "text" for part in listed):
        return text_in(message)
    parts = [{key: part[key] for key in part if key != "cache_control"} for part in listed]
    if marked:
        last = max(index for index, part in enumerate(parts) if (part.get("text") or "").strip())
        parts[last]["cache_control"] = message["cache_control"]
    return parts


def _assistant(message: Message, request: common.LLMRequest, *, is_short: bool) -> JSONObject:
    content = common.text_of(message.get("content"))
    calls = message.get("tool_calls")
    if not calls:
        return {"role": "assistant", "content": content}
    # What another server of this format attached, OpenAI would refuse.
    takes_state = dialect_of(request.base_url) != "openai"
    state = next(iter(common.state_of(message, "openai")), {}) if takes_state else {}
    encoded = [
        {
            "id": common.wire_id(call["id"], is_short=is_short),
            "type": "function",
            "function": {
                "name": request.names.encode(call["function"]["name"]),
                "arguments": arguments_of(call["function"].get("arguments"), request.names),
            },
            **state.get("calls", {}).get(call["id"], {}),
        }
        for call in calls
    ]
    said = content if content.strip() else None  # blank text beside calls is refused by some
    whole = {"role": "assistant", "content": said, "tool_calls": encoded}
    return {**whole, **state.get("message", {})}


def arguments_of(arguments: object, names: ToolNames) -> str:
    """The model's own text, if it can be; many servers parse it and fail on what is no object."""
    written = common.parsed_object(arguments) if isinstance(arguments, str) else None
    given = common.object_of(arguments) if written is None else written
    encoded = names.encode_arguments(given, FOR_OPENAI.names)
    if isinstance(arguments, str) and encoded is written:
        return arguments
    return json.dumps(encoded, ensure_ascii=False)


def tool_of(tool: ToolSchema, names: ToolNames, dialect: Dialect, model: str) -> JSONObject:
    """Define ``tool`` as chat completions do."""
    function = tool["function"]
    encoded: JSONObject = {"name": names.encode(function["name"])}
    if description := function.get("description"):
        is_openai = dialect == "openai" or (dialect == "openrouter" and model.startswith("openai/"))
        if is_openai and len(description) > _MAX_DESCRIPTION:
            description = description[: _MAX_DESCRIPTION - 4].rstrip() + " ..."
        encoded["description"] = description
    taken = FOR_OPENAI if dialect == "openai" else FOR_GRAMMARS
    encoded["parameters"] = parameters(function.get("parameters"), taken, function["name"])
    if function.get("strict") is not None:
        encoded["strict"] = function["strict"]
    return {"type": "function", "function": encoded}


def authorization(request: common.LLMRequest) -> dict[str, str]:
    """The header with the key; Azure has one of its own, but for tokens of Entra ID."""
    if not request.api_key:
        return {}
    host = urlsplit(request.base_url).hostname or ""
    if host.endswith(".azure.com") and not request.api_key.startswith("eyJ"):
        return {"api-key": request.api_key}  # openai.lib.azure.AzureOpenAI
    return {"Authorization": f"Bearer {request.api_key}"}


def options_of(
    options: Mapping[str, object], dialect: Dialect, model: str, *, constrained: bool
) -> JSONObject:
    """Leave out of ``options`` what is refused, and name the others as the dialect does."""
    reasoning, refused = REASONING_MODEL.search(model), frozenset[str]()
    if reasoning and dialect != "generic":
        refused |= SAMPLING
    if dialect == "openai" or (dialect == "openrouter" and constrained):
        # With `require_parameters`, OpenRouter finds no provider for what few of them know.
        refused |= _EXTRA_SAMPLING
    kept = {key: value for key, value in options.items() if key not in refused}
    if dialect == "openai" and reasoning and "max_tokens" in kept:
        kept["max_completion_tokens"] = kept.pop("max_tokens")
    if dialect == "openrouter":
        if effort := kept.pop("reasoning_effort", None):
            kept["reasoning"] = {"effort": effort}
        kept["usage"] = {"include": True}
        if constrained:
            provider = kept.get("provider")
            given = provider if isinstance(provider, dict) else {}
            kept["provider"] = {"require_parameters": True, **given}
    return kept


# --- decoding


def _choice(body: Mapping[str, Any]) -> JSONObject:
    """The only choice; or, as GitHub Copilot sends them for Claude, text and calls in two."""
    choices = common.dicts_in(body.get("choices"))
    first = next(iter(choices), {})
    calling = next((it for it in choices if at(it, "message", "tool_calls")), first)
    if calling is first:
        return first
    message = calling["message"]
    content = message.get("content") or at(first, "message", "content")
    return {**calling, "message": {**message, "content": content}}


def _said(call: object) -> tuple[object, object, object]:
    """Id, name and arguments of a call; some servers leave the inner object out."""
    function = at(call, "function")
    function = function if isinstance(function, dict) else call
    return at(call, "id"), at(function, "name"), common.arguments_in(function)


def usage_in(
    usage: object, prompt: str = "prompt_tokens", completion: str = "completion_tokens"
) -> dict[str, int] | None:
    """The usage of a reply on either of OpenAI's wires, which name its counts differently."""
    if not isinstance(usage, dict):
        return None
    cached = common.count(at(usage, f"{prompt}_details", "cached_tokens"))
    asked, said, total = map(usage.get, (prompt, completion, "total_tokens"))
    return common.usage_of(asked, said, total, cached or usage.get("prompt_cache_hit_tokens"))


def split_thinking(text: str) -> tuple[str, str]:
    """(answer, thinking); an answer in JSON is left as it stands."""
    text = common.cleared(text)
    if found := _UNMARKED.fullmatch(text):
        return found["answer"].strip(), found["thought"].strip()
    if "<|channel|>" in text:  # of gpt-oss, whose template may swallow the first mark
        said, calls = {"analysis": text.partition("<|")[0].strip()}, False
        for channel, to, words in _CHANNEL.findall(text):
            calls |= "to=" in to
            said[channel] = "\n".join(filter(None, [said.get(channel), words.strip()]))
        if "final" in said or not calls:
            return said.get("final") or said.get("commentary", ""), said["analysis"]
        return text, ""  # which only writes a call
    if text.lstrip()[:1] in ("{", "["):
        return text, ""
    end = max((found.end() for found in _END.finditer(text)), default=0)
    # Beyond it, the search for an end would run to the last character from every start.
    thoughts = _BLOCK.findall(text[:end])
    answer = _BLOCK.sub("", text[:end]) + text[end:]
    if ends := list(_END.finditer(answer)):  # chat templates may swallow the opening tag
        thoughts.append(answer[: ends[-1].start()])
        answer = answer[ends[-1].end() :]
    if start := _START.match(answer):  # cut off before the closing tag
        thoughts.append(answer[start.end() :])
        answer = ""
    if not thoughts:
        return text, ""
    return answer.strip(), "\n".join(thought.strip() for thought in thoughts).strip()


# --- streaming

_OPEN, _CLOSE = "<think>", "</think>"
_MARK = re.compile(r"(?:<\|\w{1,20}\|>\s*)*<(?:\|\w{0,20}\|?>?)?\s*\Z")
"""Text that may be a mark of a chat template, several of them, or the beginning of one."""
_NOTHING = {"role": "assistant", "content": None}
_TEXTS = ("refusal", "reasoning", "reasoning_content")


class OpenAIAssembler(Assembler):
    """Takes the pieces of one chat completion."""

    def __init__(self) -> None:
        self._body: JSONObject = {}
        self._message: JSONObject = dict(_NOTHING)
        self._calls: list[JSONObject] = []
        self._at: dict[str | None, JSONObject] = {}
        """The call that grows at each index."""
        self._choice: object = None
        """The index of the choice that is read; of others, nothing is."""
        self._finish_reason: object = None
        self._tags = _Tags()

    @property
    def is_complete(self) -> bool:
        return self._finish_reason is not None or bool(self._body.get("error"))

    def add(self, piece: JSONObject) -> Iterator[Delta]:
        said = {key: it for key, it in piece.items() if key != "choices" and it is not None}
        self._body |= said
        if "error" in (piece.get("object"), piece.get("type")):  # vLLM's, and of events so named
            self._body["error"] = piece.get("error") or piece
        choices = common.dicts_in(piece.get("choices"))
        if self._choice is None and choices:
            self._choice = choices[0].get("index") or 0
        choice = next((it for it in choices if (it.get("index") or 0) == self._choice), None)
        if choice is None:
            return
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        if choice.get("error"):
            self._body["error"] = choice["error"]
        delta = choice.get("delta")
        if not delta and not self._calls and self._message == _NOTHING:
            delta = choice.get("message")  # all at once
        if isinstance(delta, dict):
            yield from self._grow(delta)

    def body(self) -> JSONObject:
        if self._body.get("error"):
            return self._body
        message = {**self._message, **({"tool_calls": self._calls} if self._calls else {})}
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason}
        return {**self._body, "choices": [choice]}

    def _grow(self, delta: JSONObject) -> Iterator[Delta]:
        for key in _TEXTS:
            if isinstance(more := delta.get(key), str) and more:
                self._message[key] = str(self._message.get(key) or "") + more
                yield "text" if key == "refusal" else "thinking", more
        content, known = delta.get("content"), self._message["content"]
        if isinstance(content, str) and content:
            yield from self._tags.split(content)
        for part in common.dicts_in(content):  # Mistral's; those of thinking hold parts of text
            if thought := common.text_of(part.get("thinking")):
                yield "thinking", thought
            elif isinstance(part.get("text"), str) and part["text"]:
                yield "text", part["text"]
        if content and known is None:
            self._message["content"] = content
        elif isinstance(content, str) and isinstance(known, str):
            self._message["content"] = known + content
        elif content:
            self._message["content"] = [*common.blocks_in(known), *common.blocks_in(content)]
        for detail in common.dicts_in(delta.get("reasoning_details")):
            # OpenRouter's pieces of one detail have its index; their texts follow each other.
            details = self._message.setdefault("reasoning_details", [])
            same = [it for it in details if it.get("index") == detail.get("index") is not None]
            if not same or same[-1].get("type") != detail.get("type"):
                details.append(dict(detail))
                continue
            for key, value in detail.items():
                is_text = key in ("text", "summary", "data") and isinstance(value, str)
                if value is not None:
                    same[-1][key] = str(same[-1].get(key) or "") + value if is_text else value
        calls = common.dicts_in(delta.get("tool_calls"))
        if not calls and (older := delta.get("function_call")):  # OpenAI's form before tools
            calls = [{"index": 0, "function": older}]
        for call in calls:
            self._grow_call(call)

    def _grow_call(self, more: JSONObject) -> None:
        """Add to the call that ``more`` belongs to, or begin another one.

        OpenAI numbers its calls, and gives id and name only with the first piece of each. Others
        repeat them with every piece, use one index for all calls or a new one for each piece, or
        send what they have sent already.
        """
        call_id, called, said = _said(more)
        name = str(called or "")
        arguments = said if isinstance(said, str) else "" if said is None else json.dumps(said)
        index = None if more.get("index") is None else str(more["index"])
        # The call with that id or, of a piece without a new one, at that index.
        same = [it for it in self._calls if call_id and it["id"] == call_id]
        if index is None and not call_id:
            same = self._calls
        call = same[-1] if same else self._at.get(index)
        if call is None or self._is_another(call, call_id, name, arguments, index):
            call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
            self._calls.append(call)
        if index is not None:
            self._at[index] = call
        known = call["function"]
        call["id"] = call["id"] or call_id or ""
        if more.get("extra_content"):
            call["extra_content"] = more["extra_content"]
        if name != known["name"]:
            known["name"] += name
        known["arguments"] = common.grown(known["arguments"], arguments)

    def _is_another(
        self, call: JSONObject, call_id: object, name: str, arguments: str, index: str | None
    ) -> bool:
        """Whether a piece that names a tool begins a call beside ``call``."""
        known = call["function"]
        if not name or not known["name"]:
            return False
        is_whole = common.is_whole(known["arguments"])
        has_other_id = call_id and call["id"] != call_id
        if name != known["name"]:
            return is_whole or index is None or bool(has_other_id and call["id"])
        if has_other_id and call["id"]:  # unless each piece has an id of its own
            return is_whole or not (known["arguments"] or arguments)
        if call_id and call["id"] == call_id and self._at.get(str(index)) is call:
            return False
        other = common.parsed_object(arguments) if is_whole and known["arguments"] != "{}" else None
        return other is not None and other != common.parsed_object(known["arguments"])


class _Tags:
    """Tells thinking that stands between tags at the start from the answer after it."""

    def __init__(self) -> None:
        self._held = ""
        self._where = "start"

    def split(self, more: str) -> Iterator[Delta]:
        """What is new; what may be a part of a tag is held back."""
        self._held += more
        if self._where == "start":
            start = self._held.lstrip()
            if start != _OPEN and (_OPEN.startswith(start) or start == "<|"):
                return
            # A reply that begins with another mark is reported once it is whole.
            self._where = "hidden" if start.startswith("<|") else "outside"
            if start.startswith(_OPEN):
                self._held, self._where = start.removeprefix(_OPEN), "inside"
        if self._where == "inside":
            thought, close, after = self._held.partition(_CLOSE)
            if close:
                self._held, self._where = after.lstrip(), "outside"
            else:  # the last characters may begin the tag
                ends = (n for n in range(len(_CLOSE), 0, -1) if thought.endswith(_CLOSE[:n]))
                place = len(thought) - next(ends, 0)
                thought, self._held = thought[:place], thought[place:]
            if thought:
                yield "thinking", thought
        if self._where == "outside":
            mark = _MARK.search(self._held, max(0, len(self._held) - common.LONGEST_MARK))
            end = mark.start() if mark else len(self._held)
            said, self._held = self._held[:end], self._held[end:]
            if said:
                yield "text", said
