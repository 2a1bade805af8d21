"""Which calls a call depends on: those whose results its arguments came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from mcp_ghost.results import JSON
from mcp_ghost.run.report.account import ToolRecord

_LEAST = 3
"""Characters of a value that says where it came from; shorter ones are everywhere."""
_TOKEN = re.compile(r"[\w./:@+-]*\w")


def with_dependencies(chain: Sequence[ToolRecord], known: Iterable[str]) -> list[ToolRecord]:
    """``chain`` with ``depends_on`` filled in.

    An argument came from the first earlier result in which it stands, whole: as a value, a line or
    a word. Not so where it stands in ``known``, what the model was told by the user.
    """
    told = set[str]()
    for text in known:
        told |= {*_places(text)}
    came_from: dict[str, int] = {}
    linked: list[ToolRecord] = []
    waiting: list[tuple[int, ToolRecord]] = []
    for position, record in enumerate(chain):
        if waiting and waiting[0][1].iteration < record.iteration:
            for earlier, done in waiting:  # the results of one reply are seen by the next
                for leaf in _leaves(done.result):
                    for value in _places(leaf):
                        came_from.setdefault(value, earlier)
            waiting = []
        waiting.append((position, record))
        leaves = {leaf for leaf in _leaves(record.arguments) if leaf not in told}
        sources = {came_from[leaf] for leaf in leaves if leaf in came_from}
        linked.append(replace(record, depends_on=sorted(sources)))
    return linked


def _leaves(value: JSON) -> Iterator[str]:
    """The texts and numbers in ``value`` that are long enough to say something."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool) and len(str(value).strip()) >= _LEAST:
        yield str(value).strip()


def _places(text: str) -> Iterator[str]:
    """All that an argument may have been taken from."""
    yield text.strip()
    for line in text.splitlines():
        yield line.strip()
        yield from (word for word in _TOKEN.findall(line) if len(word) >= _LEAST)
