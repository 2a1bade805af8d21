"""Two episodes beside each other, aligned again after they have differed.

Turns belong together in which the same command led from the same room to the same room; between
those, turns that led to the same room; what is left stands side by side in its order.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from typing import TypeAlias

from mcp_ghost.results import JSONObject
from mcp_ghost.text import one_line
from session.game_state import TurnRecord
from viewer.episode import Episode

_SHOWN = 300
"""Characters of an answer of the game."""
_LEAST_SHARED = 0.3
"""Of two texts; where less is shared, marks would cover nearly everything."""
Turns: TypeAlias = Sequence[TurnRecord]
Marked: TypeAlias = list[tuple[str, bool]]
"""A text in parts, and whether the other text has something else there."""


def aligned(one: Episode, other: Episode) -> JSONObject:
    """Return the turns of both in rows, each with the kind of its difference: empty for none."""
    turns = one.records(), other.records()
    moves = [[(it.place_id, it.command, it.after.room_id) for it in each] for each in turns]
    # The longest run in common may lie elsewhere, but what begins alike belongs together.
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*moves, strict=False)))
    rows = [_row(*pair) for pair in zip(*(it[:alike] for it in turns), strict=True)]
    for left, right in _stretches(*(it[alike:] for it in turns), *(it[alike:] for it in moves)):
        rooms = ([it.after.room_id for it in part] for part in (left, right))
        for stretch in _stretches(left, right, *rooms):
            rows += [_row(*pair) for pair in zip_longest(*stretch)]
    return {"rows": rows}


def _stretches(
    one: Turns, other: Turns, keys: Sequence[Hashable], other_keys: Sequence[Hashable]
) -> Iterator[tuple[Turns, Turns]]:
    """Yield what stands beside each other: runs with the same keys, and what is between them."""
    matcher = SequenceMatcher(None, keys, other_keys, autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        yield one[a:b], other[c:d]


def _row(one: TurnRecord | None, other: TurnRecord | None) -> JSONObject:
    if one is None or other is None:
        cells = [it and _cell(it, _whole(it.command), _whole(it.response)) for it in (one, other)]
        return {"kind": "one", "cells": cells}
    kind = ""
    if one.command != other.command:
        kind = "command"
    elif one.after.room_id != other.after.room_id:
        kind = "room"
    elif one.response != other.response:
        kind = "answer"
    commands = _marked(one.command, other.command)
    answers = _marked(one.response, other.response)
    return {"kind": kind, "cells": [*map(_cell, (one, other), commands, answers)]}


def _cell(turn: TurnRecord, command: Marked, answer: Marked) -> JSONObject:
    after = {"room": turn.after.room_name, "score": turn.after.score}
    return {"turn": turn.turn, "command": command, **after, "answer": answer}


def _whole(text: str) -> Marked:
    return [(one_line(text, _SHOWN), False)]


def _marked(one: str, other: str) -> tuple[Marked, Marked]:
    """Mark the words that differ, unless hardly any is the same."""
    texts = [one_line(it, _SHOWN) for it in (one, other)]
    words = [re.findall(r"\S+\s*", it) for it in texts]
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    if one == other or matcher.ratio() < _LEAST_SHARED:
        return _whole(one), _whole(other)
    marked: tuple[Marked, Marked] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        for parts, part in zip(marked, (words[0][a:b], words[1][c:d]), strict=True):
            if part:
                parts.append(("".join(part), tag != "equal"))
    return marked
