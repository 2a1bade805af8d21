"""Requests to models, of which each text is kept once.

A prompt repeats most of the one before it: its head word for word, its history shifted by a turn.
So a request is logged in lines: runs of the same role's request before it, single lines of any
request, and what is new. The hash of the whole proves that reading gives back what was sent.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

_SHORT = 12
"""Characters up to which a line is not worth its own reference."""
LONG = 2**17
"""Characters above which a line, that of an image, is known to the next request of its role only:
whoever writes or reads an episode would hold all of its images in memory otherwise."""
Part: TypeAlias = list[int] | int | str
"""[first, number] of the request before, or a line of all so far, or a new text."""


class RequestDeltas:
    """Knows all lines of requests so far, and the latest request of each role."""

    def __init__(self) -> None:
        self.latest: dict[str, list[str]] = {}
        """The lines of each role's latest request, which the next may build on."""
        self._lines: dict[str, int] = {}
        self._texts: list[str] = []

    def delta(self, role: str, lines: list[str]) -> dict[str, Any]:
        """The lines of a request as the log keeps them; call ``keep`` once it has them."""
        return {"sha256": _digest("".join(lines)), "parts": self._parts(role, lines)}

    def keep(self, role: str, lines: list[str]) -> None:
        """Let the next requests build on this one."""
        self.latest[role] = lines
        for line in lines:
            if _SHORT < len(line) <= LONG and line not in self._lines:
                self._lines[line] = len(self._texts)
                self._texts.append(line)

    def taken_in(self, role: str, delta: Mapping[str, Any]) -> dict[str, Any]:
        """The request that ``delta`` was made of; the next ones build on it.

        Raises:
            ValueError: It builds on one that is missing.
        """
        text = self._whole(role, delta)
        if _digest(text) != delta["sha256"]:
            raise ValueError("A request before this one is missing.")
        self.keep(role, lines_of(text))
        request: dict[str, Any] = json.loads(text)
        return request

    def follow(self, role: str, delta: Mapping[str, Any]) -> None:
        """Let the next requests build on the one that ``delta`` was made of; nothing is checked."""
        self.keep(role, lines_of(self._whole(role, delta)))

    def _whole(self, role: str, delta: Mapping[str, Any]) -> str:
        before = self.latest.pop(role, [])
        return "".join(self._text(part, before) for part in delta["parts"])

    def _text(self, part: Part, before: list[str]) -> str:
        if isinstance(part, list):
            return "".join(before[part[0] : part[0] + part[1]])
        return part if isinstance(part, str) else "".join(self._texts[part : part + 1])

    def _parts(self, role: str, lines: list[str]) -> list[Part]:
        before = self.latest.get(role, [])
        places = {line: number for number, line in enumerate(before) if len(line) > _SHORT}
        parts: list[Part] = []
        following = -1
        for line in lines:
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


def request_text(request: Mapping[str, Any]) -> str:
    """``request`` as one text, byte for byte the same for the same request."""
    text = json.dumps(request, ensure_ascii=False, default=str)
    return text.encode("utf-8", errors="backslashreplace").decode()  # half a character, escaped


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def lines_of(text: str) -> list[str]:
    """The lines of a request, those within its texts included; an item of a list is one, too."""
    return text.replace("\\n", "\\n\0").replace("}, ", "}, \0").split("\0")  # JSON escapes \0
