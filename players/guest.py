"""The player `mcp`: somebody else, who tells us each command: a client of our MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from zork_agent import RECORDED_CHARACTERS, Decision

if TYPE_CHECKING:
    from game_interface import Facts
    from session.game_state import GameState, Observation, TurnRecord


class GuestPlayer:
    """Decides what it was last told to."""

    base_url = ""

    def __init__(self, name: str) -> None:
        self.model = name
        """What the guest calls itself."""
        self.said = ""
        """For the turn to come."""
        self.turns: list[TurnRecord] = []
        """What it was told of the turns so far; without snapshots."""

    def begin(self, opening: str, observation: Observation) -> None:
        """The guest reads what we answer."""

    def take_in(self, record: TurnRecord) -> None:
        """Keep it for a guest who asks what has happened."""
        self.turns.append(record.model_copy(update={"snapshot": ""}))

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """The command, or why no game may be given it."""
        said = self.said.strip("\r\n")[:RECORDED_CHARACTERS]
        try:
            return Decision(validate_command(said, facts.waits_for), "", proposed=said)
        except InvalidCommandError as error:
            return Decision(said, "", proposed=said, failure=f"{error}.")
