"""What is secret, and how it is blanked out of text: the one place that knows.

A ``Redactor`` is made once for a run and used where text from outside comes in: results of tools,
errors, what servers write to stderr. It takes out the values that it was told, also as they are
written in JSON and in URLs, and what has the form of a known kind of key. ``words`` also takes out
what only its place makes look like a key ("--token X", "key: X"): right for errors, but wrong for
results, where ``"key": "item-1234567"`` is data.
"""

import functools
import json
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from mcp_ghost.results import each_text
from mcp_ghost.tables import patterns, table
from mcp_ghost.text import harmless

MASK = "***"
_STEP = 65_536
"""Characters that are searched at once: the interpreter does nothing else meanwhile."""
_MARGIN = 16_384
"""Characters beyond a step, so that what begins in it is seen whole; keys go into headers, which
are no longer."""
SHORTEST_SECRET = 8
"""Characters; blanking out shorter values would tear holes in ordinary words."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_table = functools.partial(table, "mcp_ghost", "redact.toml")
_patterns = functools.partial(patterns, "mcp_ghost", "redact.toml")


@functools.cache
def _by_form() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """What is known by its form alone, and the signs without which nothing has such a form."""
    tokens, others = ([*_table()[it].values()] for it in ("tokens", "others"))
    begun, anywhere = ("|".join("".join(it["form"]) for it in them) for them in (tokens, others))
    signs = tuple(chain.from_iterable(it["signs"] for it in tokens + others))
    return re.compile(rf"(?<![A-Za-z0-9_-])(?:{begun})|{anywhere}"), signs


class Redactor:
    """Text without ``secrets`` and without what has the form of a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        written = set(known)
        for secret in known:  # as it stands in JSON, in JSON within JSON, and in URLs
            in_json = {json.dumps(secret, ensure_ascii=it)[1:-1] for it in (True, False)}
            written |= in_json | {json.dumps(it)[1:-1] for it in in_json}
            written |= {quote(secret, safe=""), quote(secret), quote_plus(secret)}
        self._written = sorted(written, key=lambda it: (-len(it), it))
        """Longest first."""
        self._formats, self._signs = _by_form()
        self._longest = max(map(len, [*self._written, *self._signs]))
        self._known = re.compile("|".join(map(re.escape, self._written)))

    def __call__(self, text: str) -> str:
        """``text``, cleaned; what is JSON stays JSON."""
        if len(text) < SHORTEST_SECRET:
            return text
        if _has_any(text, self._written):
            text = _replaced(self._known, MASK, text, len(self._written[0]))
        return _replaced(self._formats, MASK, text) if _has_any(text, self._signs) else text

    def finds_nothing(self, text: str, known: int = 0) -> bool:
        """Whether ``text`` has no secret and no sign of one, so that it stays as it is.

        ``known`` is the number of characters at its start that were searched in vain before.
        """
        rest = text[max(0, known - self._longest) :]
        return not _has_any(rest, self._written) and not _has_any(rest, self._signs)

    def each(self, value: Any) -> Any:  # noqa: ANN401  any JSON
        """A copy of ``value`` with every text in it cleaned, the keys included."""
        return each_text(value, self)

    def words(self, text: str) -> str:
        """What an error says, or a server's log: also harmless, and ``strictly`` cleaned."""
        return self.strictly(harmless(text))

    def strictly(self, text: str) -> str:
        """``text``, also without what only looks like a key because of its place."""
        text = self(text)
        for pattern in _patterns("by_place").values():
            text = _replaced(pattern, rf"\1{MASK}", text)
        return text


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The ``words`` of an error, without ``secrets``."""
    return Redactor(secrets).words(text)


def _has_any(text: str, parts: Iterable[str]) -> bool:
    """Whether ``text`` has any of ``parts``: found out much faster than a pattern."""
    return any(map(text.__contains__, parts))


def _replaced(pattern: re.Pattern[str], replacement: str, text: str, margin: int = _MARGIN) -> str:
    """``pattern.sub(replacement, text)``, in steps between which other threads get their turn."""
    if len(text) <= _STEP:
        return pattern.sub(replacement, text)
    pieces, copied, start = [], 0, 0
    while start < len(text):
        stop = start + _STEP
        found = pattern.search(text, start, stop + margin)
        if found is None or found.start() >= stop:
            start = stop
            continue
        begin = found.start()
        if found.end() > stop:  # it may go on beyond what was looked at
            found = pattern.match(text, begin)
        if found is None or found.end() == begin:
            start = begin + 1
            continue
        pieces += [text[copied:begin], found.expand(replacement)]
        copied = start = found.end()
    return "".join([*pieces, text[copied:]])


def secrets_in(fields: Mapping[str, Any]) -> set[str]:
    """The texts in ``fields``, such as an environment, whose names say that they are secret."""
    found: set[str] = set()
    for name, value in fields.items():
        if isinstance(value, str) and names_a_secret(name) and may_be_secret(value):
            found.add(value)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Mapping):
                found |= secrets_in(item)
    return found


@functools.lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Whether a variable, header, flag or parameter of this name holds a secret.

    Decided by whole words: ``KEYBOARD``, ``MONKEY`` and ``AUTHOR`` hold none.
    """
    secret = _patterns("word")["secret"]
    return any(secret.fullmatch(word.lower()) for word in _WORD.findall(name))


def may_be_secret(value: str) -> bool:
    """Whether ``value`` is long enough, and neither a placeholder nor a file of this machine."""
    if len(value) < SHORTEST_SECRET or value.lower() in _table()["placeholders"]:
        return False
    if not value.startswith(("/", "~/", "./", "../")):
        return True
    try:
        path = Path(value).expanduser()
        could_be_made = path.parent.is_dir() and len(path.parts) > 2
        return not (path.exists() or could_be_made)
    except (OSError, ValueError, RuntimeError):
        return True
