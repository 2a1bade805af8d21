"""What the tests of the game layer share: engines, stories, and stories that may be missing."""

import os
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from game_interface import Facts, Game, open_game
from game_interface.engines.engine import EngineName
from scripts.story.layout import CHOICES, HOMES, OPPOSITE, ORIGINAL_WAYS, Layout
from tests.support import DATA
from workshop.scripted_model import read_commands

WALKTHROUGH = (DATA / "weatherworks_walkthrough.txt").read_text().split("\n")
BUNDLED_COMMANDS = [line for line in WALKTHROUGH if line]

needs_jericho = pytest.mark.skipif(not find_spec("jericho"), reason="jericho is not installed")
ENGINES = [pytest.param("bocfel"), pytest.param("jericho", marks=needs_jericho)]

ZORK1 = os.environ.get("ZORK1_STORY", "")
ZORK1_WALKTHROUGH = os.environ.get("ZORK1_WALKTHROUGH", "")
ZORK1_SEED = 4
"""Dice by which `zork1_solution` wins: the troll is fought twice, and the thief three times."""
needs_zork1 = pytest.mark.skipif(not ZORK1, reason="ZORK1_STORY names no copy of Zork I")


def started(
    story: str | Path = "bundled", *, engine: EngineName = "bocfel", seed: int = 12
) -> Game:
    """A game at its first prompt."""
    game = open_game(story, seed=seed, engine=engine)
    game.start()
    return game


def zork1_walkthrough() -> list[str]:
    """The commands of a walkthrough of Zork I, one for each blow of a fight."""
    if ZORK1_WALKTHROUGH:
        return read_commands(Path(ZORK1_WALKTHROUGH))
    if not find_spec("jericho"):
        pytest.skip("no walkthrough of Zork I: install jericho or set ZORK1_WALKTHROUGH")
    from jericho.game_info import zork1

    return str(zork1["walkthrough"]).split("/")


@cache
def zork1_solution() -> tuple[str, ...]:
    """Zork I won on the default engine, by who repeats a blow until nobody is left to be hit."""
    played = []
    with started(ZORK1, seed=ZORK1_SEED) as game:
        for command in zork1_walkthrough():
            verb, foe, *_ = [*command.lower().split(), ""]
            if verb not in ("kill", "attack"):
                game.step(command)
                played.append(command)
                continue
            while any(foe in thing.name for thing in game.facts().visible or ()):
                game.step(command)
                played.append(command)
        assert game.facts().won
    return tuple(played)


def written(folder: Path, image: bytes, name: str = "tiny.z3") -> Path:
    """A story file of these bytes."""
    path = folder / name
    path.write_bytes(image)
    return path


@dataclass(frozen=True)
class Turn:
    """What was seen after a command of the bundled story's solution."""

    command: str
    text: str
    facts: Facts
    is_over: bool
    snapshot: bytes


@cache
def bundled_solution(engine: EngineName) -> tuple[Turn, ...]:
    """The bundled story played to its end, once for all tests of a run."""
    turns = []
    with started(engine=engine) as game:
        for command in BUNDLED_COMMANDS:
            text = game.step(command)
            turns.append(Turn(command, text, game.facts(), game.is_over, game.snapshot()))
    return tuple(turns)


def original_layout() -> Layout:
    """The bundled story's own map, in the form of its variants'."""
    ways = dict(ORIGINAL_WAYS)
    ways |= {(there, here): OPPOSITE[way] for (here, there), way in ORIGINAL_WAYS.items()}
    hosts = {room: others[0] for room, others in CHOICES.items()}
    return Layout(hosts, ways, HOMES, "kitchen_garden", "west", "east")
