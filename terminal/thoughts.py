"""What the player's model thinks, while it comes: from its thinking, or from within its answer."""

import json
import re
from collections.abc import Iterable

from mcp_ghost.redact import Redactor

_IN_ANSWER = re.compile(r'"thinking"\s*:\s*"((?:[^"\\]|\\.)*)', re.DOTALL)
"""The thinking in an answer of which only the beginning may be there."""
_HALF_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{0,3}$")
_LAST_WORD = re.compile(r"\S*\Z")


class Thoughts:
    """Takes the pieces of one reply after the other; read in another thread."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        """``secrets`` are shown to nobody."""
        self._redactor = Redactor(secrets)
        self._thought: list[str] = []
        self._said: list[str] = []

    async def take(self, delta: tuple[str, str]) -> None:
        """What the model says or thinks next."""
        kind, text = delta
        if kind == "restart":
            self.begin()
        else:
            (self._thought if kind == "thinking" else self._said).append(text)

    def begin(self) -> None:
        """Another reply is waited for."""
        self._thought, self._said = [], []

    def __str__(self) -> str:
        """All so far but for the last word, of which a part may have come: it may be a key's."""
        thought, said = "".join(self._thought), "".join(self._said)
        text = "\n".join(part for part in (thought, _thinking_in(said)) if part)
        return self._redactor(_LAST_WORD.sub("", text)).strip()


def _thinking_in(said: str) -> str:
    """What an answer gives as its thinking; beside calls of tools, all that is said."""
    found = _IN_ANSWER.search(said)
    if found is None:
        return "" if said.lstrip().startswith(("{", "`")) else said
    try:
        text = json.loads(f'"{_HALF_ESCAPED.sub("", found[1])}"', strict=False)
    except ValueError:
        return ""
    # Half of a character beyond the first 65,536 is none that could be shown.
    return str(text).encode("utf-8", errors="ignore").decode("utf-8")
