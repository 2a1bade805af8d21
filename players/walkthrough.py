"""The player `walkthrough`: a list of commands, and at its end the player looks around."""

from collections.abc import Sequence
from pathlib import Path

from game_interface import Facts
from game_interface.command_guard import KEY_NAMES, validate_command
from game_interface.errors import InvalidCommandError
from mcp_ghost.files import read_regular
from mcp_ghost.text import reason
from players.player import Player
from session.configuration_file import ConfigurationError
from session.game_state import Decision, GameState
from zork_agent import safe_command


class WalkthroughPlayer(Player):
    """Gives one command after the other, whatever the game says."""

    def __init__(self, commands: Sequence[str]) -> None:
        """Take the commands.

        Raises:
            ConfigurationError: There are none, or one of them must not be given to a game.
        """
        if not commands:
            raise ConfigurationError(
                "The player 'walkthrough' needs its commands: give evaluate.py --walkthrough FILE, "
                "a text file with one on each line, or set [tool.zorkgpt.player] commands."
            )
        self._commands = []
        for number, line in enumerate(commands, 1):
            try:
                is_key = line in KEY_NAMES or len(line) == 1  # for where one is asked for
                self._commands.append(line if is_key else validate_command(line))
            except InvalidCommandError as error:
                raise ConfigurationError(
                    f"Command {number} of the walkthrough, '{line}': {error}"
                ) from error

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Return the command of this turn."""
        left = self._commands[state.turn_count :]
        command = left[0] if left else safe_command(facts.waits_for)
        return Decision(command, "", proposed=command)


def read_walkthrough(path: Path) -> tuple[str, ...]:
    """Return the commands in a file, one on each line; empty lines and comments (#) are left out.

    Raises:
        ConfigurationError: It cannot be read, or holds none.
    """
    try:
        lines = [line.strip() for line in read_regular(path).decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"The walkthrough {path} cannot be read: {reason(error)}"
        ) from error
    commands = tuple(line for line in lines if line and not line.startswith("#"))
    if not commands:
        raise ConfigurationError(
            f"The walkthrough {path} holds no command: write one on each line."
        )
    return commands
