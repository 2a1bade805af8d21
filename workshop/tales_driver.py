"""Play with TALES' own loop, in the Python of TALES, and print what it wrote of each step.

TALES' loop imports what it needs for models and for reports; what is missing of that is replaced by
nothing, because the players that are compared ask no model.

    python tales_driver.py FOLDER ENVIRONMENT STEPS random|walkthrough SEED
"""

import importlib
import json
import logging
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

NOT_NEEDED = ("wandb", "llm", "tiktoken", "transformers", "tenacity", "tales.token")

_AGENTS = {"random": "RandomAgent", "walkthrough": "WalkthroughAgent"}
_TOKENS = ("nb_tokens", "nb_tokens_prompt", "nb_tokens_response")


def main() -> None:
    """Play, and print a list of ``[command, score]`` as JSON."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("folder", "environment", "steps"):
        parser.add_argument(name)
    parser.add_argument("player", choices=_AGENTS)
    parser.add_argument("seed")
    folder, environment, steps, player, seed = vars(parser.parse_args()).values()
    for name in NOT_NEEDED:
        sys.modules[name] = MagicMock()
    run = sys.modules["wandb"].init.return_value
    run.id = run.url = ""  # which are written to a file
    sys.path.insert(0, folder)
    _only_jericho(folder, environment)
    benchmark: Any = importlib.import_module("benchmark")
    module: Any = importlib.import_module(f"agents.{player}")
    make = partial(_counting(getattr(module, _AGENTS[player])), seed=int(seed))
    one = make()
    one.new = make
    with tempfile.TemporaryDirectory() as logs:
        flags = Namespace(
            admissible_commands=False,
            game_seed=None,
            nb_steps=int(steps),
            log_dir=logs,
            force_all=True,
            force_failed=False,
            wandb=False,
            debug=False,
            logging_level=logging.CRITICAL,
        )
        importlib.import_module("tales.logger").setup_logging(flags)
        benchmark.evaluate(one, environment, flags)
        (rollout,) = Path(logs).rglob("*.jsonl")
        rows = [json.loads(line) for line in rollout.read_text().splitlines()]
    print(json.dumps([[row["Action"], row["Score"]] for row in rows]))


def _counting(agent: type) -> type:
    """With the counts of tokens that TALES' loop asks of every player, and not all of them have."""

    class Counting(agent):  # type: ignore[misc]  # TALES has no types
        def act(self, *told: object) -> tuple[str, dict[str, object]]:
            action, counts = super().act(*told)
            return action, {**counts, **dict.fromkeys(_TOKENS, 0)}

    return Counting


def _only_jericho(folder: str, environment: str) -> None:
    """TALES' package without the environments of other games, which have needs of their own."""
    home = Path(folder, "tales")
    spec = spec_from_file_location(
        "tales", home / "__init__.py", submodule_search_locations=[str(home)]
    )
    if spec is None:
        raise SystemExit(f"There is no package in {home}.")
    package: Any = module_from_spec(spec)  # not executed, or it would import them all
    package.__version__, package.env2task = "as found", {environment: "jericho"}
    sys.modules["tales"] = package
    package.Agent = importlib.import_module("tales.agent").Agent
    package.agent = sys.modules["tales.agent"]
    importlib.import_module("tales.jericho")


if __name__ == "__main__":
    main()
