"""When an episode ends: by the game, by a limit, or because nobody answers."""

from typing import NamedTuple

from session.game_configuration import GameConfiguration
from session.game_state import EndReason, FailedTurn, GameState, TurnRecord
from session.playing import GUEST

TO_LOOK_BACK_AT = {
    EndReason.VICTORY,
    EndReason.FINAL_DEATH,
    EndReason.GAME_OVER,
    EndReason.STALLED,
    EndReason.ENGINE_REFUSED,
    EndReason.MAX_TURNS,
}
"""Ends of an episode at which the model may be asked once more."""

MOST_REFUSED = 3
"""Commands in a row that the engine could not carry out."""
_BLIND = "cannot end the episode as long as the model's replies report"


class Endings(NamedTuple):
    """Why an episode ends, if it does."""

    config: GameConfiguration
    state: GameState

    def after(self, record: TurnRecord) -> EndReason | None:
        """Once this turn was taken in."""
        if record.won and not record.ended:
            return EndReason.VICTORY
        if record.died and (record.over or self.config.rules_after_death == "end"):
            return EndReason.FINAL_DEATH
        if record.over:
            return EndReason.GAME_OVER
        if reached := self.limit_reached():
            return reached
        if self.state.refused_in_a_row >= MOST_REFUSED:
            return EndReason.ENGINE_REFUSED
        if self.state.turns_without_news >= self.config.max_turns_stuck:
            return EndReason.STALLED
        if self.state.turns_with_one_answer >= self.config.max_turns_one_answer:
            return EndReason.STALLED
        return None

    def given_up(self, failed: FailedTurn, *, has_answered: bool) -> EndReason | None:
        """Once this turn has failed; None where it is tried again."""
        if failed.of_the_game:
            return EndReason.ENGINE_FAILED
        if self.config.player_name == GUEST:  # who is told, and says something else
            return None
        tries_left = self.config.max_failed_turns - self.state.failed_turns
        if failed.incurable or not has_answered or tries_left <= 0:
            return EndReason.STALLED if failed.unplayable else EndReason.LLM_UNAVAILABLE
        return self.limit_reached()

    @property
    def unenforceable_budget(self) -> str:
        """A warning that replies lack what a budget is measured in; empty otherwise."""
        config, usage = self.config, self.state.usage
        if config.max_cost_per_episode and not usage.cost:
            return f"max_cost_per_episode {_BLIND} no cost; max_tokens_per_episode can."
        if config.max_tokens_per_episode and not usage.total_tokens:
            return f"max_tokens_per_episode {_BLIND} no tokens."
        return ""

    def limit_reached(self) -> EndReason | None:
        """Tell which of the limits for the whole episode is used up."""
        state, config = self.state, self.config
        tokens = state.usage.prompt_tokens + state.usage.completion_tokens
        if config.max_cost_per_episode and state.usage.cost >= config.max_cost_per_episode:
            return EndReason.BUDGET
        if config.max_tokens_per_episode and tokens >= config.max_tokens_per_episode:
            return EndReason.BUDGET
        if state.turn_count >= config.max_turns_per_episode:
            return EndReason.MAX_TURNS
        return None
