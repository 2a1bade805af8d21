"""The prompts: game-neutral texts, one file for each role and profile."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def load_prompt(role: str, profile: str) -> str:
    """The system prompt of ``role`` in the ``full`` or ``compact`` profile."""
    path = Path(__file__).with_name(f"{role}_{profile}.md")
    return path.read_text(encoding="utf-8").strip()


@cache
def prompt_digests() -> dict[str, str]:
    """Name -> hash of each prompt's file."""
    files = sorted(Path(__file__).parent.glob("*_*.md"))  # as load_prompt names them
    return {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
