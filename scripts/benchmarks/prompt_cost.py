"""What a model was sent in an episode: requests, tokens, and how much of it can be cached."""

from collections.abc import Iterable
from dataclasses import dataclass

from mcp_ghost.testing import ModelRequest

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class PromptCost:
    """Of an episode, reflections included; a token is four characters."""

    turns: int
    requests_per_turn: float
    tokens_per_turn: float
    repeated_share: float
    """Part of the tokens in which a request begins as the one before to the same role."""
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
        head_share=head / total,
    )


def _shared(before: str, prompt: str) -> int:
    pairs = zip(before, prompt, strict=False)
    shorter = min(len(before), len(prompt))
    return next((place for place, (old, new) in enumerate(pairs) if old != new), shorter)


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")
