"""Make a story's achievements from a walkthrough of it.

    uv run python scripts/story/make_achievements.py x.z5 --walkthrough x.txt
    uv run python scripts/story/make_achievements.py zork1.z5 --jericho

The second way needs `uv sync --extra jericho`.

Writes x.achievements.tsv beside the story, where evaluations find it. The walkthrough is played
as a player would play it. Its achievements are points, rooms entered for the first time and things
carried for the first time, or, where none of that is known, hashes of sentences printed for the
first time. Those that are written are spread over the solution, random players do not earn them,
and the walkthrough earns all of them. Of the game's text, only names are written.
"""

import argparse
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from evaluation.achievements.achievement import (
    SUFFIX,
    Achievement,
    Achievements,
    normalised,
    sentence_hashes,
)
from evaluation.figures import EpisodeFigures
from game_interface.catalogue import game_of
from game_interface.errors import GameError, StoryFormatError
from game_interface.story import load_story
from mcp_ghost.cli.arguments import Parser, add_flags, whole_number
from mcp_ghost.cli.program import DONE, Errors, program
from mcp_ghost.files import write_whole
from mcp_ghost.text import counted
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from players.walkthrough import read_walkthrough
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.game_state import TurnRecord
from session.record.event_log import read
from session.record.schema import EpisodeStart

_PROGRAM = "make_achievements.py"
_FLAGS = """\
--walkthrough FILE   commands that solve the story, one per line
--jericho            take the walkthrough that Jericho has for this file, and its engine
--seed N             the game's dice (default: that of Jericho, or 1)
--most N             at most N achievements (default: %(default)s)
--out FILE           where they go (default: beside the story)
"""
_RANDOM_SEEDS = (1, 2, 3)
_RANDOM_TURNS = 100
_MOST_WORDS = 6
"""Of a name that is written down."""
_LEAST_WORDS = 5
"""Of a sentence that is hashed: shorter ones are said by many games at many times."""
_FEWEST = 5
_KINDS = ("score", "carrying", "room", "sentence")


Candidate: TypeAlias = tuple[int, Achievement]
"""When the walkthrough earns what could be an achievement."""


def candidates(folder: Path) -> Iterator[Candidate]:
    """List what the turns of an episode led to for the first time."""
    rooms, things, said, best = set[str](), set[str](), set[str](), 0
    for event in (it.event for it in read(folder)):
        if isinstance(event, EpisodeStart):
            seen = event.observation
            rooms.add(seen.room_name.casefold())
            things |= {it.name.casefold() for it in seen.inventory or ()}
            said |= sentence_hashes(event.opening)
        elif isinstance(event, TurnRecord):
            seen, found = event.outcome, list[Achievement]()
            if seen.score is not None and seen.score > best:
                best = seen.score
                found.append(Achievement(f"score-{best}", "score", str(best)))
            if seen.room and seen.room.name.casefold() not in rooms:
                rooms.add(seen.room.name.casefold())
                found += _named("reach", "room", seen.room.name)
            for name in (it.name for it in seen.inventory or ()):
                if name.casefold() not in things:
                    things.add(name.casefold())
                    found += _named("take", "carrying", name)
            if seen.room is None and seen.score is None:
                found += _sentences(event, said)
            yield from ((event.turn, it) for it in found)


def _named(verb: str, fact: str, name: str) -> list[Achievement]:
    words = normalised(name).split()
    if not 0 < len(words) <= _MOST_WORDS:
        return []
    return [Achievement(f"{verb}-{'-'.join(words)}", fact, name.casefold())]


def _sentences(turn: TurnRecord, said: set[str]) -> list[Achievement]:
    """The first new sentence of a turn."""
    for sentence in re.split(r"(?<=[.!?])\s+", turn.response):
        hashes = sentence_hashes(sentence) - said
        if len(normalised(sentence).split()) >= _LEAST_WORDS and len(hashes) == 1:
            said |= sentence_hashes(turn.response)
            return [Achievement(f"sentence-{turn.turn}", "sentence", next(iter(hashes)))]
    return []


def chosen(found: Sequence[Candidate], by_chance: set[str], most: int) -> list[Achievement]:
    """Choose at most ``most``, spread over the solution, none of them earned by chance."""
    left = {it.name: (turn, it) for turn, it in found if it.name not in by_chance}
    turns = max((turn for turn, _ in left.values()), default=1)
    parts: dict[int, list[Candidate]] = {}
    for turn, it in left.values():
        parts.setdefault((turn - 1) * most // turns, []).append((turn, it))
    best: list[Candidate] = []
    used = dict.fromkeys(_KINDS, 0)
    for _, part in sorted(parts.items()):
        turn, it = min(part, key=lambda each: (used[each[1].fact], -each[0]))
        used[it.fact] += 1
        best.append((turn, it))
    return [it for _, it in sorted(best)]


def played(story: Path, player: str, seed: int, turns: int, **settings: object) -> Iterator[Path]:
    """Play an episode, and keep its folder until the caller is done with it."""
    with tempfile.TemporaryDirectory(prefix="zorkgpt-achievements-") as home:
        config = GameConfiguration.model_validate(
            {
                "story": str(story.resolve()),
                "workdir": home,
                "seed": seed,
                "player_name": player,
                "player_seed": seed,
                "max_turns_per_episode": turns,
                "storage_enabled": False,
                "mcp_enabled": False,
                "rules_several_commands": "allow",
                "max_turns_stuck": turns + 1,
                "max_turns_one_answer": turns + 1,
                **settings,
            }
        )
        with ZorkOrchestratorV2("played", config) as orchestrator:
            orchestrator.play_episode()
        yield orchestrator.folder


def make(
    story: Path, commands: Sequence[str], *, seed: int = 1, engine: str = "auto", most: int = 20
) -> str:
    """Make the text of a story's achievements.

    Raises:
        ConfigurationError: The walkthrough achieves too little that chance does not.
    """
    commands = tuple(commands)
    walk = {"player_commands": commands, "engine": engine}
    (found,) = (
        list(candidates(folder))
        for folder in played(story, "walkthrough", seed, len(commands), **walk)
    )
    by_name = {it.name: it for _, it in found}
    everything = Achievements(tuple(by_name.values()), sha256="")
    by_chance = set[str]()
    for chance in _RANDOM_SEEDS:
        for folder in played(story, "random", chance, _RANDOM_TURNS, engine=engine):
            by_chance |= EpisodeFigures.read(folder, everything).earned.keys()
    achievements = chosen(found, by_chance, most)
    if len(achievements) < _FEWEST:
        raise ConfigurationError(
            f"The walkthrough of {story} earns only {len(achievements)} achievements that random "
            f"players do not; at least {_FEWEST} are needed."
        )
    for folder in played(story, "walkthrough", seed, len(commands), **walk):
        again = EpisodeFigures.read(folder, everything).earned
        if missed := [it.name for it in achievements if it.name not in again]:
            raise ConfigurationError(f"The walkthrough does not earn {', '.join(missed)} again.")
    info = load_story(story).info
    head = (
        f"# {info.title}, SHA-256 {info.sha256}\n# From a walkthrough of "
        f"{counted(len(commands), 'command')}, which earns all; {len(_RANDOM_SEEDS)} random "
        f"players earned none in {_RANDOM_TURNS} turns each.\n"
    )
    return head + "".join(
        f"{it.name}\t{it.fact}{'>=' if it.fact == 'score' else '='}{it.value}\n"
        for it in achievements
    )


def _of_jericho(story: Path) -> tuple[int, tuple[str, ...]]:
    """Return the dice and the commands that Jericho has for this file."""
    try:
        from jericho import FrotzEnv
    except ImportError as error:
        raise StoryFormatError(
            "--jericho needs jericho, which is not installed: run `uv sync --extra jericho`"
        ) from error
    image = load_story(story).info.sha256
    game = game_of(image)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it does not know the game, as is said below
        walkthrough = FrotzEnv(str(story)).get_walkthrough()
    if not walkthrough:
        raise StoryFormatError(f"Jericho has no walkthrough of {story}")
    typed = (*(game.intro if game else ()), *walkthrough)
    return game.jericho_seed if game else 0, tuple(line.strip() or "enter" for line in typed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the achievements and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("story", metavar="STORY", type=Path, help="a story file")
    add_flags(
        parser,
        _FLAGS,
        walkthrough={"type": Path},
        seed={"type": whole_number(0)},
        most={"type": whole_number(), "default": 20},
        out={"type": Path},
    )
    flags = parser.parse_args(arguments)
    if (flags.walkthrough is None) != flags.jericho:
        parser.error("give either --walkthrough FILE or --jericho")
    errors = Errors(wrong_use=(ConfigurationError, GameError, StoryFormatError, OSError))
    return program(_PROGRAM, lambda: _make(flags), lambda: errors)


def _make(flags: argparse.Namespace) -> int:
    seed, engine = 1, "auto"
    if flags.jericho:
        (seed, commands), engine = _of_jericho(flags.story), "jericho"
    else:
        commands = read_walkthrough(flags.walkthrough)
    seed = seed if flags.seed is None else flags.seed
    text = make(flags.story, commands, seed=seed, engine=engine, most=flags.most)
    out: Path = flags.out or flags.story.with_name(f"{flags.story.stem}{SUFFIX}")
    write_whole(out, text)
    print(f"{out}: {counted(len(text.splitlines()) - 2, 'achievement')}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
