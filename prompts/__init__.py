"""The prompts: game-neutral texts, one file for each role and profile.

A line that begins with names in braces, such as ``{text, status}``, belongs to the prompt only
where one of them holds: the level of what the player is told, or whether it may use what it knows
from elsewhere (``allowed`` or ``discouraged``).
"""

import hashlib
import re
from functools import cache
from pathlib import Path

_CONDITIONS = re.compile(r"\{([a-z+, ]+)\} ?")
_MORE_THAN_A_BLANK_LINE = re.compile(r"\n{3,}")


@cache
def load_prompt(
    role: str, profile: str, level: str = "facts", prior_knowledge: str = "allowed"
) -> str:
    """Return the system prompt of ``role`` in the ``full`` or ``compact`` profile."""
    path = Path(__file__).with_name(f"{role}_{profile}.md")
    holding = {str(level), prior_knowledge}
    lines = []
    for line in path.read_text(encoding="utf-8").split("\n"):
        given = _CONDITIONS.match(line)
        if given is None or not holding.isdisjoint(given[1].split(", ")):
            lines.append(line[given.end() :] if given else line)
    return _MORE_THAN_A_BLANK_LINE.sub("\n\n", "\n".join(lines)).strip()


def with_hints(prompt: str, hints: str) -> str:
    """Return a system prompt with what is told of the game beforehand, if anything is."""
    return f"{prompt}\n\nHints for this game:\n\n{hints.strip()}" if hints.strip() else prompt


@cache
def prompt_digests() -> dict[str, str]:
    """Name -> hash of each prompt's file."""
    files = sorted(Path(__file__).parent.glob("*_*.md"))  # as load_prompt names them
    return {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
