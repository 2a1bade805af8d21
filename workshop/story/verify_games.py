"""Play the known games and other stories as players do, and write down how well that goes.

    uv run --extra jericho python workshop/story/verify_games.py DIR

DIR holds the story files. Of the known games, the walkthroughs that Jericho ships are given to the
engine jericho, and each step is compared with Jericho itself, which recognises the game: its score,
moves, location, inventory and end. All stories are begun on the default engine, asked for help, and
given twenty commands, and what their facts say is compared with the words that they print.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface import Facts, Game, open_game
from game_interface.catalogue import KnownGame, at_hand, known_games
from game_interface.errors import EngineError, GameError, InvalidCommandError, StoryFormatError
from mcp_ghost.cli.arguments import Parser, whole_number
from mcp_ghost.cli.program import DONE, FAILED, Errors, program
from mcp_ghost.files import write_whole
from mcp_ghost.text import counted
from session.perception.printed import says, stems
from stories.memory import MachineMemory
from workshop.story.learned_profile import Rehearsal, WalkthroughStep

PAGE = Path(__file__).resolve().parents[2] / "docs" / "games.md"
COMPARED = ("score", "room", "end", "moves", "inventory")
_COMMANDS = (
    *("look", "inventory", "examine me", "take all", "north", "south", "east", "west", "up"),
    *("down", "open door", "wait", "read sign", "search room", "in", "out", "drop all", "listen"),
    *("jump", "score"),
)
_KEYS = ("space", "enter", "escape", "q")
"""Which get past a title, and out of a menu."""
_MOST_KEYS = 40
_LISTS = re.compile(r"\b(?:carrying|have|holding)\b")
"""In answers to `inventory`."""
_SHORT = 100
"""Characters of an answer that is no help."""
_SUITES = {"CZECH": (), "Praxix": ("all",), "Strict Z Test": ("n",), "Glulxercise": ("all",)}
"""Tests of interpreters, by their names, and what they are told."""
_BEHIND_QUIT = frozenset({"room", "moves", "inventory"})
"""What Jericho may change where the story has quit, for it goes on with what stands behind that."""
_SECONDS = 120.0


@dataclass
class Replay:
    """A walkthrough on the engine jericho, and how often its facts agreed with Jericho."""

    game: KnownGame
    best: int = 0
    on_bocfel: int = 0
    """The best score on the default engine."""
    steps: int = 0
    of: int = 0
    equal: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COMPARED, 0))
    different: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    """By fact and reason: the steps that differed."""
    stopped: str = ""
    """Why the rest could not be played."""
    unknown: tuple[str, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether nothing that is known differs at any step."""
        return not self.different and not self.stopped

    @property
    def is_explained(self) -> bool:
        """Whether the reason of each difference is known."""
        return not self.stopped and all(reason for _, reason in self.different)

    def compare(self, game: Game, then: WalkthroughStep, player: int) -> None:
        """Add a step."""
        facts = game.facts()
        self.steps += 1
        self.best = max(self.best, facts.score or 0)
        agrees = {
            "score": facts.score == then.score,
            "room": facts.room_id in _places(then.memory, player),
            "end": game.is_over == (then.over or then.won),
            "moves": facts.moves == then.moves,
            "inventory": _carried(facts) == _held(then.memory, player),
        }
        for name in COMPARED:
            self.equal[name] += agrees[name]
            if not agrees[name] and name not in facts.unknown:
                reason = _reason(name, facts, then, is_over=game.is_over)
                self.different.setdefault((name, reason), []).append(self.steps)


@dataclass
class Tried:
    """A story on the default engine: begun, asked for help, and given commands."""

    name: str
    file: str
    begins: bool = False
    helps: str = "-"
    """Whether play went on after `help`; "-" where the story has none."""
    played: int = 0
    ends: bool = False
    engine: str = ""
    unknown: tuple[str, ...] = ()
    wrong: list[str] = field(default_factory=list)
    """Facts that the story's own words do not bear out."""
    tests: str = ""
    """Of an interpreter's test: what it counted."""
    stopped: str = ""


def replay(game: KnownGame, path: Path) -> Replay:
    """Give the walkthrough to the engine jericho, command by command."""
    reference = Rehearsal(path)
    found = Replay(game, of=len(reference.commands))
    found.on_bocfel = best_score(path, (*game.intro, *reference.commands), game.seed)
    seed = game.jericho_seed
    with open_game(path, engine="jericho", seed=seed, turn_timeout_seconds=_SECONDS) as played:
        played.start()
        for command in game.intro:
            played.step(command)
        found.unknown = played.facts().unknown
        for command, then in zip(reference.commands, reference.steps[1:], strict=True):
            try:
                played.step(command)
            except (EngineError, InvalidCommandError) as error:  # the rest cannot be played
                found.stopped = str(error)
                break
            found.compare(played, then, reference.player)
            if played.is_over:
                break
    return found


def best_score(path: Path, commands: Sequence[str], seed: int) -> int:
    """Return the best score that commands reach on the default engine."""
    best = 0
    with open_game(path, seed=seed, turn_timeout_seconds=_SECONDS) as played:
        played.start()
        for command in commands:
            if played.is_over:
                break
            if played.facts().waits_for == "key":  # as Jericho, which reads a single character
                command = command[:1]
            try:
                played.step(command)
            except (EngineError, InvalidCommandError):  # which leave the game as it was
                continue
            best = max(best, played.facts().score or 0)
    return best


def try_out(name: str, path: Path) -> Tried:
    """Begin a story on the default engine, ask for help, and give it twenty commands."""
    tried = Tried(name, path.name)
    try:
        with open_game(path, seed=7, turn_timeout_seconds=_SECONDS) as game:
            tried.engine = game.engine_name
            printed = game.start() + _keys(game)
            if suite := next((it for it in _SUITES if it in printed), ""):
                printed += "".join(_keys(game) + game.step(it) for it in _SUITES[suite])
                tried.tests = _counted(printed)
                return tried
            tried.begins = not game.is_over and game.facts().waits_for != "key"
            if tried.begins:
                answer = game.step("help")
                is_menu = game.facts().waits_for == "key"
                answer += _keys(game)
                tried.helps = "yes" if game.facts().waits_for != "key" else "no"
                if not is_menu and len(answer) < _SHORT:
                    tried.helps = "-"
                printed += answer
            for command in _COMMANDS:
                if game.is_over or game.facts().waits_for == "key":
                    break
                answer = game.step(command) + _keys(game)
                printed += f"\n{answer}"
                tried.played += 1
                tried.wrong += _wrong(command, answer, printed, game.facts())
            tried.ends = game.is_over
            tried.unknown = game.facts().unknown
    except GameError as error:
        tried.stopped = str(error)
    return tried


def _counted(printed: str) -> str:
    """What an interpreter's test says of itself."""
    if found := re.search(r"Passed: \d+, Failed: \d+", printed):
        return found[0].lower()
    passed = len(re.findall(r"^Passed\.|\(correct\)", printed, re.MULTILINE))
    failed = re.findall(r"^(\d+) tests? failed overall", printed, re.MULTILINE)
    wrong = len(re.findall(r"\(incorrect", printed))
    return f"passed: {passed}, failed: {''.join(failed) or wrong}"


def _keys(game: Game) -> str:
    """Press keys until the story waits for a command; what it printed."""
    printed = ""
    for number in range(_MOST_KEYS):
        if game.is_over or game.facts().waits_for != "key":
            break
        printed += "\n" + game.step(_KEYS[number % len(_KEYS)])
    return printed


def _wrong(command: str, answer: str, printed: str, facts: Facts) -> Iterator[str]:
    if command == "inventory" and facts.inventory is not None:
        words = stems(answer) if _LISTS.search(answer) else set()
        for thing in facts.inventory:
            if words and thing.holder is None and not stems(thing.name) & words:
                yield f"carries {thing.name!r}, by its facts alone"
        if not facts.inventory and re.search(
            rf"{_LISTS.pattern}[^.]*:(?!\s*nothing)", answer, re.IGNORECASE
        ):
            yield "carries nothing, by its facts, and something by its words"
    if command == "score" and facts.score is not None:
        figures = re.findall(r"\d+", answer)  # the score, and the maximum or the moves
        if len(figures) > 1 and str(abs(facts.score)) not in figures:
            yield f"has {facts.score} points, by its facts alone"
    named = facts.room_name and (
        facts.room_name in facts.status_line or says(printed, facts.room_name)
    )
    if command == "look" and facts.room_name and not named:
        yield f"is in {facts.room_name!r}, which it has not printed"


def _places(memory: MachineMemory, player: int) -> list[int]:
    """Where Jericho says the player is, and what that is in: a boat, and the river it is on."""
    places = []
    while (player := memory.parent(player)) and player not in places:
        places.append(player)
    return places


def _reason(name: str, facts: Facts, then: WalkthroughStep, *, is_over: bool) -> str:
    """Why the engine may well differ in this; nothing where it should not."""
    if is_over and name in _BEHIND_QUIT:
        return "the story quits there, and Jericho continues"
    if name == "end" and then.over and not facts.dead:
        return "Jericho ends the game at certain words; the program waits until the story does"
    if name == "room" and then.memory.image.version == 3:  # whose status line the standard defines
        jerichos = then.memory.image.name(then.parent)
        return f"Jericho says {jerichos}, but the game's status line says {facts.room_name}"
    return ""


def _held(memory: MachineMemory, player: int) -> set[int]:
    return {number for number in memory.children(player) if memory.image.name(number)}


def _carried(facts: Facts) -> set[int] | None:
    if facts.inventory is None:
        return None
    return {thing.id for thing in facts.inventory if thing.holder is None}


def page_of(replays: Sequence[Replay], tried: Sequence[Tried]) -> str:
    """The results as a page."""
    by_name = {it.name: it for it in tried}
    known = [it for it in replays if it.steps and by_name[it.game.name].begins]
    others = [it for it in tried if it.name not in known_games() and it.begins]
    suites = [[it.file, it.engine, it.tests] for it in tried if it.tests]
    different = [line for it in known for line in _differences(it)]
    return _PAGE.format(
        games=len(known),
        steps=f"{sum(it.steps for it in known):,}",
        equal=sum(it.is_equal for it in known),
        explained=sum(not it.is_equal and it.is_explained for it in known),
        known=_table(_KNOWN, [_known_row(it, by_name[it.game.name]) for it in known]),
        differences="\n".join(different) or "None.",
        tried=len(tried),
        begun=sum(it.begins for it in tried),
        whole=sum(it.begins and not it.stopped for it in tried),
        others=_table(_OTHERS, [_other_row(it) for it in others]),
        suites=_table(("file", "engine", "result"), suites),
        wrong="\n".join(f"- {it.file}: {line}" for it in tried for line in it.wrong) or "None.",
    )


_KNOWN = ("game", "story", "steps", "score", "bocfel", *COMPARED, "unknown", "help", "commands")
_OTHERS = ("file", "engine", "unknown", "help", "commands")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _known_row(it: Replay, tried: Tried) -> list[str]:
    counts = ("unknown" if name in it.unknown else str(it.equal[name]) for name in COMPARED)
    steps = str(it.steps) if it.steps == it.of else f"{it.steps} of {it.of}"
    score = "unknown" if "score" in it.unknown else f"{it.best} of {it.game.max_score or '?'}"
    on_bocfel = f"{it.on_bocfel} (seed {it.game.seed})"
    if "score" in it.unknown:
        on_bocfel = "unknown"
    head = [it.game.name, it.game.title, steps, score, on_bocfel, *counts, ", ".join(it.unknown)]
    return [*head, tried.helps, _count(tried)]


def _other_row(it: Tried) -> list[str]:
    return [it.file, it.engine, ", ".join(it.unknown), it.helps, _count(it)]


def _count(it: Tried) -> str:
    return f"{it.played}, then it ends" if it.ends else str(it.played)


def _differences(it: Replay) -> Iterator[str]:
    for (name, reason), steps in it.different.items():
        at = counted(len(steps), "step") + f", first at {steps[0]} of {it.steps}"
        yield f"- {it.game.title}, {name}, {at}: {reason or 'not explained'}"
    if it.stopped:
        yield f"- {it.game.title}, after {it.steps} steps: {it.stopped}"


_PAGE = """\
# Games

This page lists the games that were tested, and how reliable their facts are. The script
`workshop/story/verify_games.py` (`poe games DIR`) writes it. It plays as players do, through
`open_game().step()`. Files that cannot be played that way are not listed.

## Games known by name

{games} games were tested in {steps} steps. {equal} games agree with Jericho in every known fact,
and {explained} differ only where [the reason](#differences) is known. The columns up to
*inventory*, but for *bocfel*, come from Jericho's walkthroughs, played on the engine `jericho` with
their own seeds. The columns *bocfel*, *help* and *commands* come from the default engine. It plays
all games to the end except two: the dictionary of Seastalker is not sorted, and Tryst of Fate reads
memory that it does not have. For these two, `auto` uses `jericho` if it is installed.

- steps: the number of steps played, and the length of the walkthrough if the game ended earlier
- score (first column): the highest score of the walkthrough, out of the maximum
- bocfel: its highest score on the default engine, and the seed. Where luck decides, as in a fight,
  the score may be lower, because the dice of the two engines differ
- the next five columns: the number of steps at which the fact equals Jericho's. Rooms are equal if
  they are Jericho's location or contain it: in a boat, Jericho names the boat and this program
  names the river
- unknown: facts that cannot be read in this game. Deaths are known if every death ends the game, or
  if the game counts them. A clock does not count as moves
- help: whether play continues after `help`; `-` if the story has no help
- commands: how many of twenty commands were played after that

{known}

## Differences

When a story quits, Jericho ignores that and continues with whatever code comes next. This may count
another move or move the player. The engine `jericho` does the same, so only the score and the end
are reliable at its last step.

{differences}

## Other stories

{tried} story files were tried, including those above. {begun} of them start on the default engine,
and {whole} of these were played to the last command or to their own end. The others have an
unsupported format, end before their first prompt (as unit tests do), or still wait for a key after
the first ones.

{others}

## The interpreters' own tests

Some interpreters have tests that are stories; this table shows the counted results. glulxe gets a
single undo, because games here need none. For this reason, Glulxercise's tests of several undos
fail.

{suites}

## Facts and words

This section lists facts that a story's text does not confirm. Some of them are names that the story
makes up while it runs, or names that differ between memory and screen.

{wrong}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play, write the page, and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the story files are")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this known game")
    parser.add_argument("--jobs", type=whole_number(), default=os.cpu_count(), metavar="N")
    parser.add_argument("-o", "--output", type=Path, default=PAGE, metavar="FILE")
    flags = parser.parse_args(arguments)
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program("verify_games.py", lambda: _verify(flags), lambda: errors)


def _verify(flags: argparse.Namespace) -> int:
    files = at_hand([flags.folder])
    names = [name for name in known_games() if name in files and name in (flags.only or files)]
    known = [(name, files[name]) for name in names]
    rest = [] if flags.only else sorted(set(flags.folder.iterdir()) - set(files.values()))
    others = [(path.name, path) for path in rest if path.is_file()]
    with ProcessPoolExecutor(flags.jobs) as pool:
        replays = []
        games = [known_games()[name] for name in names]
        for replayed in pool.map(replay, games, [path for _, path in known]):
            replays.append(replayed)
            print(f"{replayed.game.name}: {'equal' if replayed.is_equal else 'different'}")
        tried = list(pool.map(try_out, *zip(*known, *others, strict=True)))
    write_whole(flags.output, page_of(replays, tried))
    print(f"{flags.output}: {sum(it.is_equal for it in replays)} of {len(replays)} games equal")
    return DONE if replays else FAILED


if __name__ == "__main__":
    sys.exit(main())
