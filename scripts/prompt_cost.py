"""What a model was sent in an episode: requests, tokens, and how much of it a cache can hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class PromptCost:
    """Sums over an episode; tokens are characters by four."""

    turns: int
    requests: int
    tokens: float
    repeated: float
    """Tokens in which a request begins as the one before to the same role."""
    head: float
    """Tokens of system prompts, the same for the whole episode."""

    @property
    def requests_per_turn(self) -> float:
        """Model calls, those of reflections included."""
        return self.requests / self.turns

    @property
    def tokens_per_turn(self) -> float:
        """Prompt tokens, those of reflections included."""
        return self.tokens / self.turns

    @property
    def repeated_share(self) -> float:
        """Part of the tokens that a provider's cache can hold."""
        return self.repeated / self.tokens


def prompt_cost(requests: Iterable[ModelRequest], turns: int) -> PromptCost:
    """The cost of ``requests``, which were all that an episode of so many turns took."""
    before: dict[str, str] = {}
    count = total = repeated = head = 0
    for request in requests:
        system = _text(request.messages[0]["content"])
        prompt = "\n".join(_text(message.get("content")) for message in request.messages)
        count += 1
        total += len(prompt)
        head += len(system)
        repeated += _shared(before.get(system, ""), prompt)
        before[system] = prompt
    tokens = [number / CHARACTERS_PER_TOKEN for number in (total, repeated, head)]
    return PromptCost(turns, count, *tokens)


def _shared(before: str, prompt: str) -> int:
    pairs = zip(before, prompt, strict=False)
    shorter = min(len(before), len(prompt))
    return next((place for place, (old, new) in enumerate(pairs) if old != new), shorter)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")
