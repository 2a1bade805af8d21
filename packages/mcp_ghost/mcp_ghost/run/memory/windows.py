"""How much each model can read, by its name.

From the providers' pages on their models, as of 2026-11-23. A model that is not in the table, or
whose window is another one at the address that is asked, takes ``context_limit``.
"""

from __future__ import annotations

import re

UNKNOWN_WINDOW = 128_000
"""Tokens that a model of an unknown name is taken to read."""
_WINDOWS = (
    (r"claude-(opus|sonnet)-4[-.][6-9]", 1_000_000),
    (r"claude-(opus|sonnet|fable|mythos)-5|claude-haiku-5[-.]5", 1_000_000),
    (r"claude-", 200_000),
    (r"gemini-", 1_048_576),
    (r"gpt-4\.1", 1_047_576),
    (r"gpt-6", 1_050_000),
    (r"gpt-5\S*-chat", 128_000),
    (r"gpt-5\.[4-9](?!\S*-(mini|nano|luna))", 1_050_000),
    (r"gpt-5", 400_000),
    (r"o[134](-|$)", 200_000),
    (r"gpt-4o|gpt-4-turbo|chatgpt-4o", 128_000),
    (r"gpt-oss-", 131_072),
)
"""Beginnings of names, the more particular ones first, and the tokens of prompt and reply."""
_FOR_THE_REPLY = 0.2
"""Part of a window that is left for the reply."""


def window_of(model: str) -> int:
    """Tokens that ``model`` can read, its reply included; its maker may stand before its name."""
    name = model.lower().rpartition("/")[2]
    return next((size for known, size in _WINDOWS if re.match(known, name)), UNKNOWN_WINDOW)


def limit_of(model: str, reply_tokens: int | None) -> int:
    """Tokens that a request to ``model`` may have, so that there is room for the reply."""
    window = window_of(model)
    room = reply_tokens or round(window * _FOR_THE_REPLY)
    return max(window - room, window // 2)
