"""The player `random`: what the dice say, with words that the game has just used.

It throws the dice as the random player of TALES does: with the same seed, and the same words of the
game, it gives the same commands.
"""

import re
from collections.abc import Sequence
from random import Random

from game_interface import Facts
from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from players.player import Player
from session.game_state import Decision, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver

_COMMANDS = (
    *("north", "south", "east", "west", "up", "down", "look", "inventory"),
    *("drop", "take", "take all", "eat", "attack", "wait", "YES"),
)
_WITH_A_WORD = frozenset({"drop", "take", "eat", "attack"})
_WORD = re.compile(r"\b[a-zA-Z]{4,}\b")
_WORDS_OF_STATE = 624


class RandomPlayer(Player):
    """Throws for the coming turn as soon as it hears what the game said."""

    def __init__(self, seed: int) -> None:
        self._dice = _dice(seed)
        self._next = "look"

    def begin(self, opening: str, observation: Observation, carried: CarriedOver) -> None:
        """Throw for the first turn."""
        self._next = self._throw(opening)

    def take_in(self, record: TurnRecord) -> None:
        """Throw for the next one."""
        self._next = self._throw(record.response)

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Return what was thrown; without its word where that is an order to the interpreter.

        The word is left out, too, where it is asked again, because the game did not take it. Where
        a key is waited for, it presses one that means no choice.
        """
        thrown, self._next = self._next, self._next.partition(" ")[0]
        if facts.waits_for == "key":
            return Decision("space", "", proposed=thrown)
        try:
            return Decision(validate_command(thrown), "", proposed=thrown)
        except InvalidCommandError:
            return Decision(self._next, "", proposed=thrown)

    def _throw(self, text: str) -> str:
        command = self._one_of(_COMMANDS)
        words = _WORD.findall(text) if command in _WITH_A_WORD else []
        return f"{command} {self._one_of(words)}" if words else command

    def _one_of(self, choices: Sequence[str]) -> str:
        """As numpy's ``RandomState`` chooses: the first throw that is not too high."""
        last = len(choices) - 1
        mask = (1 << last.bit_length()) - 1
        while last and (thrown := self._dice.getrandbits(32) & mask) > last:
            pass
        return choices[thrown if last else 0]


def _dice(seed: int) -> Random:
    """Return the Mersenne Twister as its authors seed it with one number, and numpy after them."""
    state = [seed & 0xFFFFFFFF]
    for number in range(1, _WORDS_OF_STATE):
        last = state[-1]
        state.append((1812433253 * (last ^ (last >> 30)) + number) & 0xFFFFFFFF)
    dice = Random()  # noqa: S311  a game
    dice.setstate((3, (*state, _WORDS_OF_STATE), None))
    return dice
