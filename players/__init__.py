"""Who plays: the seam between an episode and whoever decides, and those who can.

Light to import, for flags: each player is loaded when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from players.player import Player
    from session.game_configuration import GameConfiguration

PLAYERS = ("model", "chat", "random", "walkthrough", "first-exit")


def player_without_model(config: GameConfiguration, game_seed: int = 0) -> Player | None:
    """Make the configured player; None if it asks a model.

    Raises:
        ConfigurationError: It lacks something.
    """
    match config.player_name:
        case "random":
            from players.random_commands import RandomPlayer

            return RandomPlayer(game_seed if config.player_seed is None else config.player_seed)
        case "walkthrough":
            from players.walkthrough import WalkthroughPlayer

            return WalkthroughPlayer(config.player_commands)
        case "first-exit":
            from players.first_exit import FirstExitPlayer

            return FirstExitPlayer()
        case "mcp":
            from session.configuration_file import ConfigurationError

            raise ConfigurationError(
                "The player 'mcp' is a client of the game server: start that with "
                "`uv run python -m game_server`, or choose another player."
            )
        case "model" | "chat":
            return None
