"""Compare the protocol tales-100 with TALES' own code: its random and its walkthrough player.

    git clone https://github.com/microsoft/tale-suite
    uv venv tales-venv
    uv pip install --python tales-venv textworld gymnasium pandas tqdm termcolor requests
    uv run python workshop/compare_with_tales.py tale-suite tales-venv/bin/python zork1.z5

TALES plays 100 steps with its own loop, environment and players, in its own Python. Then we play
with the same seeds, and the commands and scores of every step are set beside each other. It takes
the story's file from here and downloads nothing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.protocols.protocol import Protocol
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, FAILED, program
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.game_state import TurnRecord
from session.record.event_log import read

DRIVER = Path(__file__).with_name("tales_driver.py")
_DICE = 12
"""Of Jericho's walkthrough of Zork I."""
_FILE, _ENVIRONMENT = "zork1.z5", "JerichoEnvZork1"


class Step(NamedTuple):
    """One step: what the game was given, and the score after it."""

    command: str
    score: int | None


class Case(NamedTuple):
    """A player of TALES, and the seed of what it draws by lot."""

    player: str
    seed: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tales", type=Path, help="a checkout of microsoft/tale-suite")
    parser.add_argument("python", type=Path, help="a Python that has what TALES' loop needs")
    parser.add_argument("story", type=Path, help="release 88 of Zork I, padded as Jericho wants it")
    flags = parser.parse_args(arguments)
    return program("compare_with_tales.py", lambda: _compare(flags))


def _compare(flags: argparse.Namespace) -> int:
    protocol, all_equal = Protocol.read("tales-100"), True
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        cases = [*(Case("random", seed) for seed in protocol.matrix.seeds), Case("walkthrough", 1)]
        for case in cases:
            theirs = _theirs(flags, case, home, protocol)
            settings = {"player_name": case.player, "player_seed": case.seed}
            if case.player == "walkthrough":
                settings["player_commands"] = tuple(step.command for step in theirs)
            ours = _ours(flags.story, protocol, home / f"{case.player}-{case.seed}", settings)
            line, equal = _verdict(theirs, ours)
            print(f"{case.player}, seed {case.seed}: {line}", flush=True)
            all_equal &= equal
    return DONE if all_equal else FAILED


def _verdict(theirs: Sequence[Step], ours: Sequence[Step]) -> tuple[str, bool]:
    pairs = list(zip(theirs, ours, strict=True))
    best = max(step.score or 0 for step in ours)
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            return f"step {number} differs: {tuple(one)} there, {tuple(other)} here", False
    return f"{len(pairs)} steps, the same command and score in each; maximum {best}", True


def _theirs(flags: argparse.Namespace, case: Case, home: Path, protocol: Protocol) -> list[Step]:
    cache = home / "cache" / "jericho"
    if not cache.exists():
        cache.mkdir(parents=True)
        for name in _files_of_suite(flags.tales):  # or it would download them
            (cache / name).touch()
        shutil.copyfile(flags.story, cache / _FILE)
    steps = protocol.settings["max_turns_per_episode"]
    words = [flags.tales.resolve(), _ENVIRONMENT, steps, case.player, case.seed]
    found = subprocess.run(
        [flags.python.absolute(), DRIVER, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TALES_CACHE_HOME": str(cache.parent)},
        check=True,
        text=True,
    )
    return [Step(*row) for row in json.loads(found.stdout.splitlines()[-1])]


def _files_of_suite(tales: Path) -> Iterator[str]:
    games = json.loads((tales / "tales" / "jericho" / "games.json").read_text(encoding="utf-8"))
    return (game["filename"] for game in games.values())


def _ours(story: Path, protocol: Protocol, home: Path, settings: dict[str, object]) -> list[Step]:
    pinned = {**protocol.settings, "without": (), "seed": _DICE}
    config = GameConfiguration.model_validate(
        {**pinned, **settings, "story": str(story), "workdir": str(home)}
    )
    with ZorkOrchestratorV2("compared", config) as orchestrator:
        orchestrator.play_episode()
    turns = [it.event for it in read(orchestrator.folder) if isinstance(it.event, TurnRecord)]
    return [Step(turn.proposed, turn.outcome.score) for turn in turns]


if __name__ == "__main__":
    sys.exit(main())
