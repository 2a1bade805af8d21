"""What a tool call returned, as a value and as text that a model can read."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeGuard

from mcp_ghost.media import in_words, is_media, media_in

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | int | float | bool | None"
JSONObject: TypeAlias = dict[str, Any]
"""One whose form is checked where it is read."""

DEFAULT_LIMIT = 32_000
"""Characters of one result that reach the model; about 8,000 tokens."""
_BYTES_OF_TOKEN = 3
"""Fewer than in most texts, so that the estimate is rather too high."""
_MARK = re.compile(r"\n\[cut here: \d+ of (\d+) characters left out\]\Z")
_FENCE = re.compile(r"```\w*\n(.*)```", re.DOTALL)
_MAX_DEPTH = 50
_KEPT_OF_RESOURCES = ("uri", "name", "title", "description", "mimeType")
_KNOWN_BLOCKS = ("text", "image", "audio", "resource", "resource_link")
_ABOUT_RESULTS = (
    *("content", "structuredContent", "structured_content", "toolResult"),
    *("isError", "is_error", "resultType", "_meta"),
)
_NO_MESSAGE = "The tool reported an error without a message."


@dataclass
class ToolCallResult:
    """The result of one call: ``content``, or an error with its message.

    Images and sounds in ``content`` are MCP's blocks as they came.
    """

    content: Any
    is_error: bool = False
    error_message: str | None = None

    @cached_property
    def text(self) -> str:
        """``content`` with images in words, or what went wrong; what is not text, as JSON.

        It is made once, and not anew when a field is set.
        """
        return as_text(self.error_message if self.is_error else in_words(self.content))

    def to_dict(self) -> dict[str, Any]:
        """The result as strict JSON values, whatever ``content`` is; images and sounds in words."""
        content = jsonable(in_words(self.content))
        if self.is_error:
            return {"error": jsonable(self.error_message), "content": content}
        return {"content": content}


def failure(reason: str, content: object = None) -> ToolCallResult:
    """A result that says why there is none; ``content`` is known all the same."""
    return ToolCallResult(content, is_error=True, error_message=reason)


def result_from_mcp(raw: Mapping[str, Any], limit: int = DEFAULT_LIMIT) -> ToolCallResult:
    """Read the ``result`` of ``tools/call``; content longer than ``limit`` becomes cut text.

    Blocks that only repeat the structured content, as the protocol asks servers to do for older
    clients, are left out; what else they say stands before it. Since 2026-07-28 that content may
    be any JSON value.
    """
    content, inner = raw.get("content"), raw.get("toolResult")
    if content is None and isinstance(inner, Mapping) and "content" in inner:
        return result_from_mcp(inner, limit)
    blocks = content if isinstance(content, list) else [] if content is None else [content]
    # "toolResult": of revision 2024-10-07, CompatibilityCallToolResultSchema in the TypeScript SDK.
    structured = raw.get("structuredContent", raw.get("structured_content", inner))
    if content is None and structured is None:  # some servers give nothing but the result itself
        structured = {key: it for key, it in raw.items() if key not in _ABOUT_RESULTS}
    is_error = str(raw.get("isError", raw.get("is_error"))).lower() in ("true", "1")
    if is_error or any(isinstance(it, Mapping) and it.get("type") == "error" for it in blocks):
        message = "\n".join(block["text"] for block in blocks if _is_text(block)).strip()
        # Text blocks are the message itself: repeating them as content would cost tokens twice.
        others = [block for block in blocks if not _is_text(block)]
        is_said = bool(message) and not _unsaid([message], structured)
        content = _content(others, None if is_said else structured)
        content = None if content == "" else bounded(content, limit)
        return ToolCallResult(content, True, cap(message, limit) or _NO_MESSAGE)
    return ToolCallResult(bounded(_content(blocks, structured), limit))


def format_tool_response(value: object) -> str:
    """Return ``value`` as text: text and lists of texts unchanged, the rest as JSON or ``str``.

    Images and sounds are described in words.
    """
    value = in_words(value)
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        texts: list[Any] = [it["text"] if _is_text(it) else getattr(it, "text", it) for it in value]
        if texts and all(isinstance(it, str) for it in texts):
            return "\n".join(texts)
    return as_text(jsonable(value))


def as_text(value: object) -> str:
    """Text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False)


def cap(text: str, limit: int = DEFAULT_LIMIT) -> str:
    """``text``, cut after ``limit`` characters with a mark that says how much is missing."""
    if len(text) <= limit:
        return text
    mark = _MARK.search(text)  # of what was cut before
    length = int(mark[1]) if mark else len(text)
    return f"{text[:limit]}\n[cut here: {length - limit} of {length} characters left out]"


class ResultBudget:
    """The tokens that results may still add, estimated at three bytes each; None for any number.

    Where they do not suffice, the shortest results stay whole and the others share what is left.
    """

    def __init__(self, tokens: int | None) -> None:
        self._tokens = tokens
        self._left = tokens or 0

    def take(self, tokens: int) -> bool:
        """Use up ``tokens`` for something that cannot be cut, if it leaves half of the whole."""
        if self._tokens is None:
            return True
        if self._left - tokens < self._tokens // 2:
            return False
        self._left -= tokens
        return True

    def fit(self, texts: Sequence[str]) -> list[str]:
        """``texts`` with what they may add; a cut is marked, and says why."""
        if self._tokens is None:
            return [*texts]
        fitted = [*texts]
        sizes = [len(text.encode(errors="replace")) // _BYTES_OF_TOKEN for text in texts]
        shortest_first = sorted(range(len(texts)), key=sizes.__getitem__)
        for number, index in enumerate(shortest_first):
            share = self._left // (len(texts) - number)
            if sizes[index] > share:
                kept = cap(texts[index], len(texts[index]) * share // sizes[index])
                fitted[index] = (
                    f"{kept} [what tools add in one turn is limited to about {self._tokens:,} "
                    "tokens; ask for less at a time]"
                )
            self._left -= min(sizes[index], share)
        return fitted


def jsonable(value: object, depth: int = 0) -> JSON:
    """``value`` as what strict JSON can hold: other objects become their ``str``."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        # Half a surrogate is legal in a str but not in UTF-8.
        whole = value if value.isascii() else value.encode("utf-16-le", "surrogatepass")
        return whole if isinstance(whole, str) else whole.decode("utf-16-le", "replace")
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _MAX_DEPTH:
        return "[nested too deeply]"
    if isinstance(value, Mapping):
        return {str(jsonable(key)): jsonable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(item, depth + 1) for item in value]
    if isinstance(value, bytes | bytearray):
        return f"[{len(value)} bytes]"
    if callable(dump := getattr(value, "model_dump", None)):
        return jsonable(dump(mode="json", by_alias=True, exclude_none=True), depth + 1)
    return jsonable(str(value))


def parsed(text: str | bytes, other: object = None) -> Any:  # noqa: ANN401  any JSON
    """The value that ``text`` is the JSON of, or ``other``, also where it is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return other


def strict_json(text: str) -> Any:  # noqa: ANN401  any JSON
    """The value of ``text``; raises a ValueError also for NaN and Infinity, which JSON lacks."""
    return json.loads(text, parse_constant=_refused)


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def each_text(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401  any JSON
    """A copy of ``value`` with every text in it changed, the keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [each_text(item, change) for item in value]
    if isinstance(value, Mapping):
        return {change(key): each_text(item, change) for key, item in value.items()}
    return value


def _content(blocks: list[object], structured: object) -> object:
    """What the blocks and the structured content say, each thing once."""
    rendered = [_block(block) for block in blocks]
    if structured is not None and structured != {}:
        rendered = _unsaid(rendered, structured)
        return [*rendered, structured] if rendered else structured
    if len(rendered) != 1:
        return rendered or ""
    (only,) = rendered
    if isinstance(only, str) and only.lstrip().startswith(("{", "[")):
        return parsed(only, only)
    return only


def _unsaid(rendered: list[object], structured: object) -> list[object]:
    """What of ``rendered`` does not repeat ``structured``, in one text or in pieces of one."""
    # Servers repeat it whole, one value of it, or one item of a list of any depth: the Python SDK
    # writes a text for each innermost item of a list of lists.
    known = {_comparable(structured)}
    waiting = [*structured.values()] if isinstance(structured, Mapping) else [structured]
    while waiting:
        value = waiting.pop()
        known.add(_comparable(value))
        waiting += value if isinstance(value, list) else []
    said = [it.get("text", it) if isinstance(it, Mapping) else it for it in rendered]
    left = [it for it, text in zip(rendered, said, strict=True) if not _repeats(text, known)]
    texts = [it for it in left if isinstance(it, str)]
    if len(texts) > 1 and any(_repeats(between.join(texts), known) for between in ("", "\n")):
        return [it for it in left if not isinstance(it, str)]
    return left


def _repeats(said: object, known: set[str]) -> bool:
    """Whether a value, its text, each line of that, or what it has as its result, is known."""
    value = _read(said) if isinstance(said, str) else said
    wrapped = [value["result"]] if isinstance(value, Mapping) and {*value} == {"result"} else []
    if any(_comparable(it) in known for it in (value, *wrapped)):
        return True
    lines = said.strip().splitlines() if isinstance(said, str) else []
    return len(lines) > 1 and all(_comparable(line) in known for line in lines if line.strip())


def _comparable(value: object) -> str:
    """The same for equal values, whatever the order of their keys, and for the text of them."""
    plain = _read(value) if isinstance(value, str) else value
    return plain.strip() if isinstance(plain, str) else json.dumps(jsonable(plain), sort_keys=True)


def _read(text: str) -> object:
    """The value that ``text`` is the JSON of, also in a code fence; else ``text``."""
    fenced = _FENCE.fullmatch(text.strip())
    return parsed(fenced[1] if fenced else text, text)


def _block(block: object) -> object:
    """A content block as text, an image or a sound, a resource with its text, or else a stub."""
    if not isinstance(block, Mapping) or is_media(block):
        return block
    if block.get("type") == "text" and "text" in block:
        return block["text"] if block["text"] is not None else ""
    resource = block.get("resource")
    texts = (block.get(key) for key in ("text", "data", "blob", "uri"))
    if block.get("type") not in _KNOWN_BLOCKS and not any(isinstance(it, str) for it in texts):
        return dict(block)  # of a server's own kind
    source = resource if isinstance(resource, Mapping) else block
    stub = {"type": block.get("type", "unknown")}
    stub |= {key: source[key] for key in _KEPT_OF_RESOURCES if key in source}
    if isinstance(text := source.get("text"), str):
        stub["text"] = text
    elif isinstance(data := source.get("data", source.get("blob")), str):
        stub["size"] = f"{len(data) * 3 // 4} bytes"  # base64
    return stub


def _is_text(block: object) -> TypeGuard[Mapping[str, str]]:
    return (
        isinstance(block, Mapping)
        and block.get("type") in ("text", "error")
        and isinstance(block.get("text"), str)
    )


def bounded(content: object, limit: int) -> object:
    """``content``, as cut text where it is longer than ``limit``."""
    text = as_text(in_words(content))
    if len(text) <= limit:
        return content
    capped = cap(text, limit)
    media = media_in(content)
    return [capped, *media] if media else capped
