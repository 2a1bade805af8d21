"""Requests to models, of which each text is kept once.

A prompt repeats most of the one before it: its head word for word, its history shifted by a turn.
So a request is logged in lines: runs of the same role's request before it, single lines of any
request, and what is new. The hash of the whole proves that reading gives back what was sent.
"""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping
from copy import deepcopy
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from mcp_ghost.results import JSONObject

_SHORT = 12
"""Characters up to which a line is not worth its own reference."""
LONG = 2**17
"""Characters above which a line, that of an image, is known to the next request of its role only:
whoever writes or reads an episode would hold all of its images in memory otherwise."""
Part: TypeAlias = list[int] | int | str
"""[first, number] of the request before, or a line of all so far, or a new text."""


class SplitText(NamedTuple):
    """The text of a request, and its lines."""

    text: str
    lines: list[str]
    begins: list[int]
    """Where in the text each line begins."""
    shared: int
    """How many lines at the start are those of the same role's request before it."""
    hashed: Any
    """The hash of these, to continue with."""

    @property
    def begin(self) -> int:
        """Where in the text the other lines begin."""
        return self.begins[self.shared]

    @property
    def sha256(self) -> str:
        """The hash of the text, shortened."""
        whole = self.hashed.copy()
        whole.update(self.text[self.begin :].encode())
        digest: str = whole.hexdigest()
        return digest[:32]


_to_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
_NOTHING = SplitText("", [""], [0], 0, hashlib.sha256())


class RequestDeltas:
    """Knows all lines of requests so far, and the latest request of each role."""

    def __init__(self) -> None:
        self.latest: dict[str, SplitText] = {}
        """Each role's latest request, which the next may build on."""
        self._lines: dict[str, int] = {}
        self._texts: list[str] = []
        self._places: dict[str, dict[str, int]] = {}
        """Where each line comes first in the latest request of a role that is written here."""

    def split(self, role: str, text: str) -> SplitText:
        """Split the next request of ``role``; that takes the time of what is new in it."""
        return _split(text, self.latest.get(role, _NOTHING))

    def delta(self, role: str, request: SplitText) -> dict[str, Any]:
        """Return a request as the log keeps it; call ``keep`` once it does."""
        return {"sha256": request.sha256, "parts": self._parts(role, request)}

    def keep(self, role: str, request: SplitText) -> None:
        """Let the next requests build on this one."""
        if (places := self._places.get(role)) is not None:
            for line in self.latest.get(role, _NOTHING).lines[request.shared :]:
                if places.get(line, -1) >= request.shared:
                    del places[line]
            _find_places(request, places)
        self.latest[role] = request
        for line in request.lines[request.shared :]:
            if _SHORT < len(line) <= LONG and line not in self._lines:
                self._lines[line] = len(self._texts)
                self._texts.append(line)

    def taken_in(self, role: str, delta: Mapping[str, Any]) -> dict[str, Any]:
        """Return the request that ``delta`` was made of; the next ones build on it.

        Raises:
            ValueError: It builds on one that is missing.
        """
        split = self._built(role, delta)
        if split.sha256 != delta["sha256"]:
            raise ValueError("A request before this one is missing.")
        self.keep(role, split)
        request: dict[str, Any] = json.loads(split.text)
        return request

    def follow(self, role: str, delta: Mapping[str, Any]) -> None:
        """Let the next requests build on the one that ``delta`` was made of; nothing is checked."""
        self.keep(role, self._built(role, delta))

    def _built(self, role: str, delta: Mapping[str, Any]) -> SplitText:
        before = self.latest.pop(role, _NOTHING)
        self._places.pop(role, None)
        return _split("".join(self._text(part, before.lines) for part in delta["parts"]), before)

    def _text(self, part: Part, before: list[str]) -> str:
        if isinstance(part, list):
            return "".join(before[part[0] : part[0] + part[1]])
        return part if isinstance(part, str) else "".join(self._texts[part : part + 1])

    def _parts(self, role: str, request: SplitText) -> list[Part]:
        latest, shared = self.latest.get(role, _NOTHING), request.shared
        if role not in self._places:
            self._places[role] = _find_places(latest._replace(shared=0), {})
        before, places = latest.lines, self._places[role]
        parts: list[Part] = [[0, shared]] if shared else []
        following = shared
        for line in request.lines[shared:]:
            last = parts[-1] if parts else None
            if isinstance(last, list) and before[following : following + 1] == [line]:
                last[1] += 1
                following += 1
            elif (place := places.get(line)) is not None:
                parts.append([place, 1])
                following = place + 1
            elif (known := self._lines.get(line)) is not None:
                parts.append(known)
            elif isinstance(last, str):
                parts[-1] = last + line
            else:
                parts.append(line)
        return parts


def request_text(request: object) -> str:
    """Return a request or a part of it as JSON, byte for byte the same for the same one.

    Half characters are escaped.
    """
    return _to_json(request).encode("utf-8", errors="backslashreplace").decode()


class GrowingText:
    """``request_text`` of one request after another, with the messages last.

    A message that the one before has at the same place is not encoded again.
    """

    def __init__(self) -> None:
        self._messages: list[JSONObject | None] = []
        """Copies, so that one that was changed in place is encoded again."""
        self._texts: list[str] = []

    def __call__(self, request: Mapping[str, Any]) -> str:
        """The text of the next request."""
        messages = request["messages"]
        del self._messages[len(messages) :], self._texts[len(messages) :]
        for number, message in enumerate(messages):
            if self._messages[number : number + 1] != [message]:
                text = request_text(message)
                # Only of text is it certain that what equals it is written alike: 1 equals True.
                copy = deepcopy(message) if _is_text(message) else None
                here = slice(number, number + 1)
                self._messages[here], self._texts[here] = [copy], [text]
        others = {key: value for key, value in request.items() if key != "messages"}
        head = request_text({**others, "messages": None}).removesuffix("null}")
        return f"{head}[{', '.join(self._texts)}]}}"


def _is_text(value: object, depth: int = 4) -> bool:
    """Tell whether there are only texts in ``value``, which is a message or a part of one."""
    parts = [*value.values()] if isinstance(value, dict) else value
    if not isinstance(parts, list):
        return isinstance(value, str)
    return depth > 0 and all(_is_text(part, depth - 1) for part in parts)


def _split(text: str, before: SplitText) -> SplitText:
    """``text`` in lines; those at the start that ``before`` has, too, are taken from there."""
    shared = bisect_right(before.begins, _shared_beginning(text, before.text)) - 1
    begin = before.begins[shared]
    new = _lines_of(text[begin:])
    lines = before.lines[:shared] + new
    begins = accumulate(map(len, new[:-1]), initial=begin)
    known = before if before.begin <= begin else _NOTHING
    hashed = known.hashed.copy()
    hashed.update(text[known.begin : begin].encode())
    return SplitText(text, lines, [*before.begins[:shared], *begins], shared, hashed)


def _find_places(request: SplitText, places: dict[str, int]) -> dict[str, int]:
    """``places`` with those of the lines that are new in ``request``, of each the first."""
    for number, line in enumerate(request.lines[request.shared :], request.shared):
        if len(line) > _SHORT:
            places.setdefault(line, number)
    return places


def _lines_of(text: str) -> list[str]:
    """Split a request into lines, also within its texts and between the items of its lists."""
    return text.replace("\\n", "\\n\0").replace("}, ", "}, \0").split("\0")  # JSON escapes \0


def _shared_beginning(one: str, other: str) -> int:
    """Tell how many characters two texts share at the start."""
    same, most = 0, min(len(one), len(other))
    while same < most:
        middle = (same + most + 1) // 2
        if one[same:middle] == other[same:middle]:
            same = middle
        else:
            most = middle - 1
    return same
