"""Secrets blanked out of text that goes into errors and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MASK = "***"
_SHORTEST_SECRET = 6
SENSITIVE_NAMES = r"key|token|secret|passw|credential|cookie|auth(?!or(?:s|ity)?(?![a-z]))"
"""Parts of the names of what is secret; an author is not."""
_SECRET_NAME = re.compile(SENSITIVE_NAMES, re.IGNORECASE)
_SENSITIVE_WORD = r"(?:key|token|secret|password)"
_PATTERNS = (
    re.compile(r"()\b(?:sk|pk|rk|gh[pousr]|xox[abp]|AIza)[-_][A-Za-z0-9_-]{8,}"),
    re.compile(r"(Bearer )[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(://)[^/\s@]+(?=@)"),
    # A value has a digit; without one, "missing key: SOME_NAME" would lose the name. The bound
    # and, below, the start of the word keep long lines from taking minutes.
    re.compile(
        rf"({_SENSITIVE_WORD}[\"']?\s*[=:]\s*[\"']?)(?=\S{{0,200}}\d)[^\s\"',;]{{6,}}",
        re.IGNORECASE,
    ),
    re.compile(rf"((?<![\w-])--[\w-]*{_SENSITIVE_WORD}\s+)\S{{6,}}", re.IGNORECASE),
)


def secrets_in(environment: Mapping[str, str]) -> set[str]:
    """The values of ``environment`` whose names say that they are secret."""
    return {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without ``secrets`` and without what looks like a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{MASK}", text)
    return text
