"""What a model was sent in an episode: requests, tokens, and how much of it can be cached."""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_ghost.testing import ModelRequest

CHARACTERS_PER_TOKEN = 4
CACHED_PRICE = 0.1
"""Of a token that the provider has in its cache, as most of them charge."""


@dataclass(frozen=True)
class PromptCost:
    """Of an episode, reflections included; a token is four characters."""

    turns: int
    requests_per_turn: float
    tokens_per_turn: float
    repeated_share: float
    """Part of the tokens in which a request begins as the one before to the same role."""
    cached_price_per_turn: float
    """Tokens a turn at the price of new ones, where repeated ones cost a tenth."""
    head_share: float
    """Part of the tokens that are system prompts, the same for the whole episode."""


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
    return PromptCost(
        turns,
        requests_per_turn=count / turns,
        tokens_per_turn=total / CHARACTERS_PER_TOKEN / turns,
        repeated_share=repeated / total,
        cached_price_per_turn=(total - (1 - CACHED_PRICE) * repeated)
        / CHARACTERS_PER_TOKEN
        / turns,
        head_share=head / total,
    )


def _shared(before: str, prompt: str) -> int:
    same, different = 0, min(len(before), len(prompt)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if before[:middle] == prompt[:middle]:
            same = middle
        else:
            different = middle
    return same


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")
