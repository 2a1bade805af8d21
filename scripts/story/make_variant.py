"""Make fresh variants of the bundled story: other names, another map, another solution.

    uv run python scripts/story/make_variant.py --seed 7 --out fresh
    uv run python scripts/story/make_variant.py --count 20 --out fresh

Each is written as fresh-SEED.z5 with its profile and its achievements, for `main.py --story` and
`scripts/evaluate.py --story`. The same seed gives the same bytes with the same compiler. Before a
variant is written, the walkthrough derived from its plan is played on it, and must win with every
point. --walkthroughs also writes those; keep them where no player looks.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from evaluation.achievements.achievement import SUFFIX
from game_interface import Facts, open_game
from game_interface.errors import GameError, StoryFormatError
from mcp_ghost.cli.arguments import Parser, add_flags, seed_number, whole_number
from mcp_ghost.cli.program import DONE, Errors, program
from mcp_ghost.files import write_whole
from scripts.story.make_achievements import make as make_achievements
from scripts.story.source import BuildError, TemplateError, compiled
from scripts.story.variant import Variant
from scripts.story.walkthrough import derive
from stories.profile import PROFILE_SUFFIX, read_profile

_PROGRAM = "make_variant.py"
_FLAGS = """\
--seed N             seed of the first variant (default: %(default)s)
--count N            how many variants; each has the next seed (default: %(default)s)
--out DIR            where stories and profiles go
--walkthroughs DIR   also write the solutions, here
"""


class UnwinnableError(Exception):
    """Raised when a variant cannot be won; the message says how far its player came."""


class Made(NamedTuple):
    """A variant that can be won."""

    story: bytes
    profile: bytes
    walkthrough: list[str]


def make(seed: int) -> Made:
    """Make a variant, and play its walkthrough to the end.

    Raises:
        BuildError: The tools are missing, or the compiler refused the source.
        TemplateError: The source has a mark that the lists know nothing of.
        UnwinnableError: Its walkthrough does not win it.
    """
    variant = Variant(seed)
    story, profile = compiled(variant)
    walkthrough = derive(variant.layout, variant.words)
    end, text = played(story, profile, walkthrough)
    if not (end.won and end.score == end.max_score):
        raise UnwinnableError(
            f"the walkthrough of seed {seed} ends with {end.score} points, in {end.room_name}, "
            f"at: {text.strip()}"
        )
    return Made(story, profile, walkthrough)


def played(story: bytes, profile: bytes, commands: Sequence[str]) -> tuple[Facts, str]:
    """The facts and the words at the end of the game, or after the last of these commands."""
    with tempfile.TemporaryDirectory(prefix="zorkgpt-variant-") as folder:
        Path(folder, "variant.z5").write_bytes(story)
        Path(folder, f"variant{PROFILE_SUFFIX}").write_bytes(profile)
        with open_game(Path(folder, "variant.z5"), seed=1) as game:
            text = game.start()
            for command in commands:
                if game.is_over:
                    break
                text = game.step(command)
            return game.facts(), text


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the variants and return the exit code."""
    parser = Parser(description=__doc__)
    add_flags(
        parser,
        _FLAGS,
        seed={"type": seed_number, "default": 1},
        count={"type": whole_number(), "default": 1},
        out={"type": Path, "required": True},
        walkthroughs={"type": Path},
    )
    options = parser.parse_args(arguments)
    errors = Errors(
        wrong_use=(BuildError, OSError, StoryFormatError, TemplateError),
        failed=(GameError, UnwinnableError),
    )
    return program(_PROGRAM, lambda: _make(options), lambda: errors)


def _make(options: argparse.Namespace) -> int:
    for seed in range(options.seed, options.seed + options.count):
        made = make(seed)
        name = f"fresh-{seed}"
        story, profile = options.out / f"{name}.z5", options.out / f"{name}{PROFILE_SUFFIX}"
        write_whole(story, made.story)
        write_whole(profile, made.profile)
        write_whole(options.out / f"{name}{SUFFIX}", make_achievements(story, made.walkthrough))
        if options.walkthroughs:
            solution = "\n".join(made.walkthrough) + "\n"
            write_whole(options.walkthroughs / f"{name}.txt", solution)
        print(f"{name}.z5: {read_profile(profile).title}", flush=True)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
