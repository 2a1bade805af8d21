"""The prompts: game-neutral texts, one file for each role and profile."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def load_prompt(role: str, profile: str) -> str:
    """The system prompt of ``role`` in the ``full`` or ``compact`` profile."""
    path = Path(__file__).with_name(f"{role}_{profile}.md")
    return path.read_text(encoding="utf-8").strip()
