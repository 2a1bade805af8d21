"""Server-sent events as model servers send them, and what is made of them."""

import codecs
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Literal, Protocol, TypeAlias

from mcp_ghost.results import JSONObject, parsed

Delta: TypeAlias = tuple[Literal["text", "thinking", "restart"], str]
"""What the model says or thinks next; "restart": what came of this reply so far is void."""
OnDelta: TypeAlias = Callable[[Delta], Awaitable[None]]
_END = "[DONE]"
_OF_REPLIES = ("choices", "output", "content", "candidates", "error")
_LINE_END = re.compile("\r\n|\r|\n")


class Assembler(Protocol):
    """Takes the pieces of one reply."""

    @property
    def is_complete(self) -> bool:
        """Whether the reply has come to its end, or to an error."""

    def add(self, piece: JSONObject) -> Iterable[Delta]:
        """What a piece adds."""

    def body(self) -> JSONObject:
        """The reply as it would have come at once."""


class EventReader:
    """Takes a stream of events, also one whose server leaves out the blank lines between them.

    Lines end in CR, LF or both, and a byte order mark may come first:
    https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
    """

    def __init__(self) -> None:
        self.is_done = False
        """Whether the mark of the end came, with which servers may still hold the connection."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._rest = ""
        self._follows_cr = False
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes, *, is_last: bool = False) -> Iterator[JSONObject]:
        """The objects that are complete with ``chunk``."""
        text = self._decoder.decode(chunk, is_last)
        text = text.removeprefix("\n") if self._follows_cr else text
        self._follows_cr = text.endswith("\r")
        *lines, self._rest = _LINE_END.split(self._rest + text + ("\n\n" if is_last else ""))
        for line in lines:
            field, _, value = line.partition(":")
            if field == "event":
                self._name = value.strip()
            elif field == "data" and value.strip().removeprefix("data: ") == _END:
                self.is_done = True
            elif field == "data":
                self._data.append(value.removeprefix(" ").removeprefix("data: "))
            elif not line:
                yield from self._event()

    def _event(self) -> Iterator[JSONObject]:
        """What the lines of one event say: one object, or one on each where no blank line came."""
        name, data, self._name, self._data = self._name, self._data, "", []
        said = "\n".join(data)
        whole = parsed(said)
        for value in map(parsed, data) if whole is None else [whole]:
            if name == "error" and not (isinstance(value, dict) and value.get("error")):
                yield {"type": name, "error": value or said}
            elif isinstance(value, dict):
                value = _unwrapped(value)
                yield {"type": name, **value} if name else value


def objects_in(content: bytes) -> list[JSONObject]:
    """The objects in a whole body: one, a list of them, one on each line, or those of events."""
    text = content.decode("utf-8-sig", errors="replace").strip()
    value = parsed(text)
    if value is None and not text.startswith("{"):
        return [*EventReader().feed(content, is_last=True)]
    values = map(parsed, text.splitlines()) if value is None else [value]
    listed = [each for it in values for each in (it if isinstance(it, list) else [it])]
    return [_unwrapped(it) for it in listed if isinstance(it, dict)]


def _unwrapped(value: JSONObject) -> JSONObject:
    """``value`` without the object in which some gateways wrap all that they send."""
    inner = [it for key in ("data", "result") if isinstance(it := value.get(key), dict)]
    if any(map(value.get, _OF_REPLIES)) or not any(map(inner[0].get, _OF_REPLIES) if inner else ()):
        return value
    return inner[0]
