"""A player: told what happened, it decides what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from game_interface import Facts
    from session.game_state import GameState, Observation, TurnRecord
    from zork_agent import Decision


class Player(Protocol):
    """Whoever decides. What it knows follows only from what it is told, in order.

    So a player that is told of the turns of an earlier run goes on as if it had played them.
    """

    model: str
    """The model that it asks; empty where it asks none."""
    base_url: str
    """Where that model is; empty where it asks none."""

    def begin(self, opening: str, observation: Observation) -> None:
        """Learn the game's first text and facts."""

    def take_in(self, record: TurnRecord) -> None:
        """Learn of a finished turn, its own or one of an earlier run of the program."""

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """The decision for the turn to come, or why there is none."""
