"""Keys blanked out as the event log does it, so that both hold the same."""

from __future__ import annotations

from collections.abc import Iterable


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` without any of the configured keys."""
    for secret in secrets:
        text = text.replace(secret, "[redacted]")
    return text
