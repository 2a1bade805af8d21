"""Replay the walkthroughs that Jericho ships on both engines, and compare every step with Jericho.

    uv run --extra jericho python scripts/story/verify_games.py DIR      # writes docs/games.md

DIR holds the story files. Jericho itself, recognising the game, is the reference: its score, moves,
location, inventory and end at each step. fernz needs minutes for some games; --jobs plays several.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface.catalogue import KnownGame, at_hand, known_games
from game_interface.child.messages import Moment
from game_interface.child.play import Play
from game_interface.engines.engine import EngineName
from game_interface.errors import EngineError, StoryFormatError
from game_interface.machine.facts import Facts
from game_interface.machine.memory import MachineMemory
from game_interface.story import load_story
from mcp_ghost.cli.arguments import Parser, whole_number
from mcp_ghost.cli.program import DONE, FAILED, Errors, program
from mcp_ghost.files import write_whole
from mcp_ghost.text import counted
from scripts.story.learned_profile import Moment as Reference
from scripts.story.learned_profile import Rehearsal

PAGE = Path(__file__).resolve().parents[2] / "docs" / "games.md"
ENGINES: tuple[EngineName, ...] = ("jericho", "fernz")
COMPARED = ("score", "room", "end", "moves", "inventory")
_BEHIND_QUIT = frozenset({"room", "moves", "inventory"})
"""What Jericho may change where the story has quit, for it goes on with what stands behind that."""


@dataclass
class Replay:
    """How often one engine agreed with Jericho."""

    steps: int = 0
    equal: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COMPARED, 0))
    different: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """By fact and reason: the steps that differed."""
    stopped: str = ""
    """Why the rest could not be played."""
    unknown: tuple[str, ...] = ()
    score: int | None = None
    texts: list[str] = field(default_factory=list)

    @property
    def explained(self) -> bool:
        """Whether the reason of each difference is known."""
        return not self.stopped and all(reason for _, reason in self.different)

    def compare(self, now: Moment, then: Reference, player: int, *, has_quit: bool) -> None:
        """Add a step."""
        self.steps += 1
        self.score = now.facts.score
        agrees = _agreement(now, then, player)
        for name in COMPARED:
            self.equal[name] += agrees[name]
            if not agrees[name] and name not in self.unknown:
                reason = _reason(name, now, then, has_quit=has_quit)
                self.different.setdefault((name, reason), []).append(self.steps)


@dataclass
class Verified:
    """A game on both engines."""

    game: KnownGame
    steps: int
    best_score: int
    replays: dict[EngineName, Replay]

    @property
    def is_equal(self) -> bool:
        """Whether nothing that is known differs at any step on either engine."""
        return not any(it.different or it.stopped for it in self.replays.values())

    @property
    def is_explained(self) -> bool:
        """Whether the reason of each difference is known."""
        return all(it.explained for it in self.replays.values())

    @property
    def same_texts(self) -> int | None:
        """The steps at which both engines print the same; None where only one of them played."""
        if len(self.replays) < len(ENGINES):
            return None
        one, other = (replay.texts for replay in self.replays.values())
        return sum(text == again for text, again in zip(one, other, strict=False))


def verify(game: KnownGame, path: Path, engines: Sequence[EngineName] = ENGINES) -> Verified:
    """Replay the walkthrough of a game."""
    reference = Rehearsal(path)
    commands = reference.commands
    replays = {engine: _replay(engine, game, path, reference) for engine in engines}
    best = max(moment.score for moment in reference.moments)
    return Verified(game, len(commands), best, replays)


def _replay(engine: EngineName, game: KnownGame, path: Path, reference: Rehearsal) -> Replay:
    story = load_story(path)
    play = Play(story.image, story.profile, engine, game.seed)
    try:
        now = play.start()
        for command in game.intro:
            now = play.step(command)
        replay = Replay(unknown=now.facts.unknown)
        for command, then in zip(reference.commands, reference.moments[1:], strict=True):
            try:
                now = play.step(command)
            except EngineError as error:  # the rest cannot be played
                replay.stopped = str(error)
                break
            replay.texts.append(" ".join(now.text.split()))
            has_quit = play._engine.done  # noqa: SLF001  jericho never says so
            replay.compare(now, then, reference.player, has_quit=has_quit)
            if now.ending:
                break
        return replay
    finally:
        play.close()


def _agreement(now: Moment, then: Reference, player: int) -> dict[str, bool]:
    facts = now.facts
    return {
        "score": facts.score == then.score,
        "room": facts.room_id in _places(then.memory, player),
        "end": (now.ending is not None) == (then.over or then.won),
        "moves": facts.moves == then.moves,
        "inventory": _carried(facts) == _held(then.memory, player),
    }


def _places(memory: MachineMemory, player: int) -> list[int]:
    """Where Jericho says the player is, and what that is in: a boat, and the river it is on."""
    places = []
    while (player := memory.parent(player)) and player not in places:
        places.append(player)
    return places


def _reason(name: str, now: Moment, then: Reference, *, has_quit: bool) -> str:
    """Why the engines may well differ in this; nothing where they should not."""
    if has_quit and name in _BEHIND_QUIT:
        return "the story quits there, and Jericho continues"
    if name == "room" and then.memory.image.version == 3:  # whose status line the standard defines
        jerichos = then.memory.image.name(then.parent)
        return f"Jericho says {jerichos}, but the game's status line says {now.facts.room_name}"
    return ""


def _held(memory: MachineMemory, player: int) -> set[int]:
    return {number for number in memory.children(player) if memory.image.name(number)}


def _carried(facts: Facts) -> set[int] | None:
    if facts.inventory is None:
        return None
    return {thing.id for thing in facts.inventory if thing.holder is None}


def page_of(results: Sequence[Verified]) -> str:
    """The results as a page."""
    header = ["game", "story", "steps", "score", *COMPARED, "same text", "unknown"]
    lines = [header, ["---", "---", *["--:"] * 8, "---"], *map(_row, results)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    different = [line for it in results for line in _differences(it)]
    return _PAGE.format(
        games=len(results),
        engines=" and ".join(results[0].replays),
        equal=sum(it.is_equal for it in results),
        explained=sum(not it.is_equal and it.is_explained for it in results),
        steps=f"{sum(it.steps for it in results):,}",
        table=table,
        differences="\n".join(different) or "None.",
    )


def _row(it: Verified) -> list[str]:
    replays = list(it.replays.values())
    counts = [
        _both("unknown" if name in one.unknown else str(one.equal[name]) for one in replays)
        for name in COMPARED
    ]
    played = _both(str(one.steps) for one in replays)
    steps = played if played == str(it.steps) else f"{played} of {it.steps}"
    score = f"{it.best_score} of {it.game.max_score or '?'}"
    unknown = ", ".join(replays[-1].unknown)
    same = "-" if it.same_texts is None else str(it.same_texts)
    return [it.game.name, it.game.title, steps, score, *counts, same, unknown]


def _both(values: Iterator[str]) -> str:
    """One value, or those of jericho and fernz where they differ."""
    return " / ".join(dict.fromkeys(values))


def _differences(it: Verified) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for engine, replay in it.replays.items():
        for (name, reason), steps in replay.different.items():
            at = counted(len(steps), "step") + f", first at {steps[0]} of {replay.steps}"
            found.setdefault(f"{name}, {at}: {reason or 'not explained'}", []).append(engine)
        if replay.stopped:
            found.setdefault(f"after {replay.steps} steps: {replay.stopped}", []).append(engine)
    for difference, engines in found.items():
        yield f"- {it.game.title} ({', '.join(engines)}), {difference}"


_PAGE = """\
# Games

The games that are known by name, and how well their facts agree with Jericho's. This page is
written by `scripts/story/verify_games.py` (`poe games DIR`), which replays the walkthrough that
Jericho ships for each game on both engines, and compares every step with Jericho itself.

{games} games, {steps} steps, engines {engines}: {equal} games agree in all that is known, and
{explained} differ only where [the reason](#differences) is known.

- steps: how many were played; if the game ended earlier, out of how many
- score: the highest score that the walkthrough reaches, out of the maximum that Jericho names
- the next five columns: at how many steps the fact is the one that Jericho reports (jericho / fernz
  if the engines differ). A room counts as equal if it is Jericho's location or contains it: Jericho
  names the boat, and the program names the river that the boat is on
- same text: at how many steps both engines print the same. From version 4 on, jericho mixes
  prompts, status lines and boxed quotations into the text of some games, which is why the engine
  `auto` plays these with fernz. It also prints the last word of a question too late if the question
  has no line break
- unknown: what neither engine reports for this game. Deaths are known if every death ends the game
  or is counted by it; a clock is not taken for a count of moves

{table}

## Differences

When a story quits, Jericho takes no notice and continues with whatever code comes next, which may
count another move or put the player somewhere else. So does the engine jericho, so only the score
and the end of its last step are reliable. fernz stops there.

{differences}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Replay, write the page, and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the story files are")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this game")
    parser.add_argument("--engine", action="append", choices=ENGINES, help="only this engine")
    parser.add_argument("--jobs", type=whole_number(), default=os.cpu_count(), metavar="N")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, metavar="FILE")
    flags = parser.parse_args(arguments)
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program("verify_games.py", lambda _: _verify(flags), lambda: errors)


def _verify(flags: argparse.Namespace) -> int:
    files = at_hand([flags.folder])
    names = [name for name in known_games() if name in files and name in (flags.only or files)]
    with ProcessPoolExecutor(flags.jobs) as pool:
        waiting = [
            pool.submit(verify, known_games()[name], files[name], flags.engine or ENGINES)
            for name in names
        ]
        results = []
        for name, future in zip(names, waiting, strict=True):
            results.append(future.result())
            print(f"{name}: {'equal' if results[-1].is_equal else 'different'}", flush=True)
    write_whole(flags.output, page_of(results))
    print(f"{flags.output}: {sum(it.is_equal for it in results)} of {len(results)} games equal")
    return DONE if results else FAILED


if __name__ == "__main__":
    sys.exit(main())
