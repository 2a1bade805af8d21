"""Settings that make a player: who decides, by which rules, and with which parts of the mind."""

from typing import Final, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, NonNegativeInt, PositiveInt, model_validator

from session.objectives import STALE_TURNS

PlayerName: TypeAlias = Literal["model", "chat", "random", "walkthrough", "first-exit", "mcp"]
USES_MODEL = frozenset({"model", "chat"})
"""Players that ask a model."""
REPEATS_ITSELF = frozenset({"random", "walkthrough", "first-exit"})
"""Players that give the same commands for the same seed and the same words of the game."""
GUEST: Final = "mcp"
"""The player who is somebody else: a client of our MCP server."""
LIMITED_BY_LEVEL = USES_MODEL | {GUEST}
"""Players whom the level of observation limits."""


class PlayingSettings(BaseModel):
    """The sections ``player`` and ``rules``."""

    player_name: PlayerName = "model"
    """Who plays: ``model``, or [another player](evaluation.md#players) to compare it with."""
    player_commands: tuple[str, ...] = ()
    """The commands that ``walkthrough`` plays, in order."""
    player_seed: NonNegativeInt | None = None
    """Seed of ``random``; unset: the game's."""
    player_hints: str = ""
    """What ``model`` and ``chat`` are told about the game beforehand, such as a booklet of hints;
    ``evaluate.py --hints`` sets it."""
    player_history_turns: PositiveInt | None = None
    """How many of the latest turns ``chat`` shows its model; unset: all of them."""

    rules_after_death: Literal["continue", "restart", "end"] = "continue"
    """``continue``: play on as the game allows; ``restart``: start the game over, also after a
    victory that leaves points to win; ``end``: end the episode."""
    rules_several_commands: Literal["cut", "refuse", "allow"] = "cut"
    """Of a line with several commands, the game gets the first (``cut``), nothing (``refuse``,
    which needs ``unusable_answer = "turn"``) or all of them (``allow``)."""
    rules_unusable_answer: Literal["retry", "turn"] = "retry"
    """If an answer cannot be given to the game, ask the model again (``retry``) or end the turn
    (``turn``)."""
    rules_restore: bool = False
    """Let ``chat`` take the game back: ``restore N`` to before its turn N, and ``restart`` to its
    beginning. Either costs a turn."""

    @model_validator(mode="after")
    def _no_repeated_refusal(self) -> Self:
        if self.rules_several_commands == "refuse" and self.rules_unusable_answer == "retry":
            raise ValueError(
                "rules: several_commands = 'refuse' needs unusable_answer = 'turn': a model that "
                "is not told of the refusal would give the same answer again"
            )
        return self


class MindSettings(BaseModel):
    """The parts of the mind of the player ``model``."""

    without: tuple[str, ...] = ()
    """Parts of the mind to leave out; the same as ``enabled = false`` in their sections."""
    map_enabled: bool = True
    """Tell the model what it has found out about rooms and passages."""
    map_rooms_shown: PositiveInt = 12
    """How many rooms around the current one the model is told about."""
    memories_enabled: bool = True
    """Attach memories to rooms, and recall them there and nearby."""
    memories_token_budget: PositiveInt = 500
    """Approximate tokens of memories in a prompt."""
    memories_max_distance: NonNegativeInt = 2
    """How many steps away a room may be for its memories to be shown."""
    objectives_enabled: bool = True
    """Keep track of what the model wants to achieve."""
    objectives_stale_turns: PositiveInt = STALE_TURNS
    """Turns without progress after which an objective is dropped."""
    objectives_shown: PositiveInt = 8
    """How many objectives the model is shown."""
    knowledge_enabled: bool = True
    """Keep claims about how the game's world works."""
    knowledge_token_budget: PositiveInt = 800
    """Approximate tokens of claims in a prompt."""
    ledger_enabled: bool = True
    """Tell the model what scored in earlier episodes."""
    condition_enabled: bool = True
    """Tell the model what the game last said about attacks, wounds, light and load, and what is
    gone."""
    storage_enabled: bool = True
    """Pass on what is learned to later episodes."""
    storage_carry_over: bool = True
    """Start with what earlier episodes of the same story learned."""
    storage_database_url: str | None = Field(default=None, repr=False)
    """The database, as an SQLAlchemy URL; unset: ``knowledge.db`` in ``workdir``."""
    reflection_enabled: bool = True
    """Ask the model to look back every few turns; without it, only what code can see is learned."""
    reflection_interval_turns: PositiveInt = 8
    """Fewest turns between two reflections."""
    action_check_enabled: bool = True
    """Check commands against the facts before the game gets them."""
    action_check_mode: Literal["refuse", "advise"] = "refuse"
    """``refuse``: the model is asked again; ``advise``: it is only told."""
    action_check_max_refusals: PositiveInt = 2
    """Most proposals questioned in a turn; the next one is played as it is."""
    critic_enabled: bool = False
    """Have a model judge commands, too, in one more request per turn."""
