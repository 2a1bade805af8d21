"""Settings of an episode that a protocol may want otherwise: who plays, and by which rules."""

from typing import Final, Literal, Self, TypeAlias

from pydantic import BaseModel, NonNegativeInt, PositiveInt, model_validator

PlayerName: TypeAlias = Literal["model", "chat", "random", "walkthrough", "first-exit", "mcp"]
ASKING = frozenset({"model", "chat"})
"""Players that ask a model."""
GUEST: Final = "mcp"
"""The player who is somebody else: a client of our MCP server."""
TOLD = ASKING | {GUEST}
"""Players whom the level of observation limits."""


class PlayingSettings(BaseModel):
    """The sections ``player`` and ``rules``."""

    player_name: PlayerName = "model"
    """Who decides: ``model`` with everything below, or one to compare it with."""
    player_commands: tuple[str, ...] = ()
    """What ``walkthrough`` gives to the game, in order."""
    player_seed: NonNegativeInt | None = None
    """Seed of ``random``; unset: the game's."""
    player_history_turns: PositiveInt | None = None
    """The latest turns that ``chat`` shows to its model; unset: all of them."""

    rules_after_death: Literal["continue", "restart", "end"] = "continue"
    """``continue``: as the game has it; ``restart``: begin it anew, also after a victory that
    leaves points; ``end``: no life but the first counts."""
    rules_several_commands: Literal["cut", "refuse", "allow"] = "cut"
    """Of a line with several commands, the game is given the first (``cut``), nothing (``refuse``)
    or the whole (``allow``)."""
    rules_unusable_answer: Literal["retry", "turn"] = "retry"
    """What becomes of an answer that cannot be given to the game: the model is asked again, or
    the turn is over."""

    @model_validator(mode="after")
    def _no_repeated_refusal(self) -> Self:
        if self.rules_several_commands == "refuse" and self.rules_unusable_answer == "retry":
            raise ValueError(
                "rules: several_commands = 'refuse' needs unusable_answer = 'turn': a model that "
                "is told nothing of the refusal would answer the same again"
            )
        return self
