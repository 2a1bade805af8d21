"""Keys blanked out in the same way by everything that keeps an episode."""

from __future__ import annotations

from collections.abc import Iterable


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of the configured keys."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[redacted]")
    return text
