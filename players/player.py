"""A player: told what happened, it decides what comes next."""

from game_interface import Facts
from session.game_state import Decision, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver, Reflection


class Player:
    """Decides. What it knows follows only from what it is told, in order.

    So a player that is told of the turns of an earlier run goes on as if it had played them.
    """

    model = ""
    """The model that it asks; empty where it asks none."""
    base_url = ""
    """Where that model is; empty where it asks none."""

    def begin(self, opening: str, observation: Observation, carried: CarriedOver) -> None:
        """Learn the game's first text and facts, and what earlier episodes passed on."""

    def take_in(self, record: TurnRecord) -> None:
        """Learn of a finished turn, its own or one of an earlier run of the program."""

    def learn(self, reflection: Reflection) -> None:
        """Learn what looking back yielded."""

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Decide the turn to come, or say why there is no decision."""
        raise NotImplementedError
