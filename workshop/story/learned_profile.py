"""Learn a story's profile by playing Jericho's walkthrough of it.

    uv run --extra jericho python workshop/story/learned_profile.py detective.z5

Writes detective.profile.json beside the story. Jericho knows, for the games that it supports, who
the player is, what the score and the moves are, and by which words the game is won or lost. What it
reads them from is found by changing the memory byte by byte and asking again; what ends the game,
by setting a variable and playing on. Everything found must then hold at every step of the
walkthrough: what does not is left out of the profile.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface.errors import StoryFormatError
from game_interface.machine.facts import score_in
from game_interface.machine.outcome import announces_death, announces_victory, line_digest
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, Errors, program
from scripts.story.make_profile import as_json
from stories.memory import MachineMemory, StoryImage
from stories.profile import PROFILE_SUFFIX, EndingGlobal, Globals, Profile, ScoreForm

_GLOBALS = 240
_HEADER_BYTES = 64
_OTHER_BITS = 0x41
_ENDINGS = range(1, 6)
"""Values of the variable that says how a game ended, as far as they are tried."""
_WAITING = ("z", "wait", "look")
_TELLING = 4
"""Different values that a variable must have had in common with a figure to be taken for it."""


@dataclass(frozen=True)
class WalkthroughStep:
    """The game after a step of the walkthrough, as Jericho sees it."""

    memory: MachineMemory
    text: str
    score: int
    moves: int
    parent: int
    """The object that the player is in or on."""
    over: bool
    won: bool


class Rehearsal:
    """A walkthrough as it went, in an environment of Jericho that can be asked what if."""

    def __init__(self, path: Path) -> None:
        """Play the walkthrough that Jericho has for this file.

        Raises: StoryFormatError when it knows no such file, or is not installed.
        """
        try:
            from jericho import FrotzEnv
        except ImportError as error:
            raise StoryFormatError(
                "learning needs jericho, which is not installed: run `uv sync --extra jericho`"
            ) from error
        self.image = StoryImage(path.read_bytes())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it does not know the game, as is said below
            self.env: Any = FrotzEnv(str(path))
        if not self.env.is_fully_supported or not self.env.bindings:
            raise StoryFormatError(
                f"Jericho does not support {path}: there is nothing to learn from. "
                "It knows certain files only, byte for byte"
            )
        opening, _ = self.env.reset()
        self.start = self.env.get_state()
        self.steps = [self._step(opening)]
        self.commands: list[str] = self.env.get_walkthrough()
        for command in self.commands:
            text, *_ = self.env.step(command)
            self.steps.append(self._step(text))

    @property
    def player(self) -> int:
        """Jericho's object for the player."""
        return int(self.env.player_obj_num)

    def _step(self, text: str) -> WalkthroughStep:
        ram = self.env.get_state()[0].tobytes()[: self.image.dynamic_size]
        return WalkthroughStep(
            MachineMemory(self.image, ram),
            text,
            self.env.get_score(),
            self.env.get_moves(),
            self.env.get_player_object().parent,
            self.env.game_over(),
            self.env.victory(),
        )

    def read_from(self, figure: Callable[[], int]) -> list[int]:
        """The addresses on which a figure of Jericho's depends."""
        ram, *rest = self.start
        self.env.set_state((ram, *rest))
        before, found = figure(), []
        for address in range(_HEADER_BYTES, len(ram)):
            ram[address] ^= _OTHER_BITS
            self.env.set_state((ram, *rest))
            if figure() != before:
                found.append(address)
            ram[address] ^= _OTHER_BITS
        self.env.set_state((ram, *rest))
        return found

    def with_global(self, index: int, value: int, command: str) -> tuple[str, bool]:
        """What the game would answer early on if a variable had a value, and whether it is won."""
        ram, *rest = self.start
        changed = ram.copy()
        address = self.image.globals_table + 2 * index
        changed[address : address + 2] = divmod(value, 256)
        self.env.set_state((changed, *rest))
        text, *_ = self.env.step(command)
        return text, self.env.victory()

    def wins_by(self, line: str) -> bool:
        """Whether Jericho takes a line of text for a victory."""
        self.env.frotz_lib.set_narrative_text(line.encode("cp1252", "replace"))
        return bool(self.env.victory())


def learned_profile(path: Path, title: str) -> Profile:
    """What can be learned with certainty of a story that Jericho supports.

    Raises: StoryFormatError when it does not support it.
    """
    played = Rehearsal(path)
    lib, steps = played.env.frotz_lib, played.steps
    score = _score(played)
    moves = _index(played, lib.get_moves, [it.moves for it in steps])
    if any(later.moves < sooner.moves for sooner, later in pairwise(steps)):
        moves = None  # a clock
    by_winning = score.score is None and all(it.score == it.won for it in steps)
    ending = _ending(played)
    known = score.score is not None or by_winning
    return Profile(
        sha256=played.image.sha256,
        title=title,
        max_score=played.env.get_max_score() if known else None,
        score_is_victory=by_winning,
        player=played.player,
        rooms=_rooms(played) if played.image.version > 3 else None,  # which fixes a variable
        globals=replace(score, moves=moves),
        ending=ending,
        ending_lines={} if ending else _winning_line(played),
        deaths_are_final=False,
    )


def _score(played: Rehearsal) -> Globals:
    """The variable of the score, and its form."""
    figure, seen = played.env.frotz_lib.get_score, [it.score for it in played.steps]
    for form in get_args(ScoreForm):
        index = _index(played, figure, seen, partial(score_in, form=form))
        if index is not None:
            return Globals(score=index, score_form=form)
    return Globals()


def _index(
    played: Rehearsal,
    figure: Callable[[], int],
    seen: Sequence[int],
    value_of: Callable[[MachineMemory, int], int] = MachineMemory.signed_global,
) -> int | None:
    """The variable that holds a figure of Jericho's at every step, the first if it has copies."""
    read = played.read_from(figure)
    if read:
        low = read[-1] - played.image.globals_table
        candidates = [low // 2] if len(read) <= 2 and low % 2 and 0 < low < 2 * _GLOBALS else []
    else:  # it goes by the game's words
        candidates = list(range(_GLOBALS)) if len(set(seen)) >= _TELLING else []
    memories = [step.memory for step in played.steps]
    agreeing = [
        index
        for index in candidates
        if all(value_of(it, index) == value for it, value in zip(memories, seen, strict=True))
    ]
    return agreeing[0] if agreeing else None


def _rooms(played: Rehearsal) -> int | None:
    """The object that all rooms are in, as Infocom's stories have one; None: they are in nothing.

    A story of a single room, and the one of which it is the only one, look alike but for this: the
    player is never directly in what holds the rooms.
    """
    paths = [list(_holders(step.memory, played.player)) for step in played.steps]
    tops = {path[-1] for path in paths if path}
    rooms = {path[-2] for path in paths if len(path) > 1}
    directly = any(len(path) == 1 for path in paths)
    return tops.pop() if len(tops) == 1 and len(rooms) > 1 and not directly else None


def _holders(memory: MachineMemory, number: int) -> Iterator[int]:
    for _ in range(memory.image.object_count):
        number = memory.parent(number)
        if not number:
            return
        yield number


def _ending(played: Rehearsal) -> EndingGlobal | None:
    """The variable that ends the game when it is set, in the Inform library `deadflag`."""
    steps = played.steps
    end = next((at for at, step in enumerate(steps) if step.won), len(steps) - 1)
    *earlier, last = [step.memory for step in steps[: end + 1]]
    candidates = [
        index
        for index in range(_GLOBALS)
        if last.global_value(index) in _ENDINGS
        and not any(memory.global_value(index) for memory in earlier)
    ]
    found = [ending for index in candidates if (ending := _ending_by(played, index))]
    return found[0] if len(found) == 1 else None


def _ending_by(played: Rehearsal, index: int) -> EndingGlobal | None:
    """What each value of a variable brings about; None where it ends nothing."""
    for command in _WAITING:
        death, victory = [], []
        for value in _ENDINGS:
            text, won = played.with_global(index, value, command)
            if won or announces_victory(text):
                victory.append(value)
            elif announces_death(text):
                death.append(value)
        if death or victory:
            return EndingGlobal(index=index, death=tuple(death), victory=tuple(victory))
    return None


def _winning_line(played: Rehearsal) -> dict[str, Any]:
    text = next((step.text for step in played.steps if step.won), "")
    lines = [line for line in text.splitlines() if line.strip() and played.wins_by(line)]
    return {line_digest(line): "victory" for line in lines[:1]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the profile and return the exit code."""
    parser = Parser(description=__doc__)
    parser.add_argument("story", type=Path, help="a story file that Jericho supports")
    parser.add_argument("-o", "--output", type=Path, help="default: next to the story file")
    flags = parser.parse_args(arguments)
    errors = Errors(wrong_use=(OSError, StoryFormatError))
    return program("learned_profile.py", lambda: _write(flags), lambda: errors)


def _write(flags: argparse.Namespace) -> int:
    profile = learned_profile(flags.story, flags.story.stem)
    output = flags.output or flags.story.with_name(flags.story.stem + PROFILE_SUFFIX)
    output.write_bytes(as_json(profile))
    print(f"{output}: {profile.title}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
