"""The player `mcp`: somebody else, who tells us each command: a client of our MCP server."""

from game_interface import Facts
from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from players.player import Player
from session.game_state import Decision, GameState, TurnRecord
from zork_agent import RECORDED_CHARACTERS


class GuestPlayer(Player):
    """Decides what it was last told to."""

    def __init__(self, name: str) -> None:
        self.model = name
        """What the guest calls itself."""
        self.said = ""
        """For the turn to come."""
        self.turns: list[TurnRecord] = []
        """What it was told of the turns so far; without snapshots."""

    def take_in(self, record: TurnRecord) -> None:
        """Keep it for a guest who asks what has happened."""
        self.turns.append(record.model_copy(update={"snapshot": ""}))

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Return the command, or the reason why a game must not be given it."""
        said = self.said.strip("\r\n")[:RECORDED_CHARACTERS]
        try:
            return Decision(validate_command(said, facts.waits_for), "", proposed=said)
        except InvalidCommandError as error:
            return Decision(said, "", proposed=said, failure=f"{error}.")
