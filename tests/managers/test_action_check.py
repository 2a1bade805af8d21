"""The action check: what is certain is refused, and nothing else, in real games."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import ValidationError

from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from managers.action_check import ActionCheck, Checks, Verdict
from managers.attempt_manager import AttemptManager
from mcp_ghost.messages import Usage
from orchestration.turn import observation_of
from session.knowledge import CarriedOver
from stories.memory import StoryImage
from stories.vocabulary import Vocabulary
from tests.support.games import (
    BUNDLED_COMMANDS,
    ZORK1,
    ZORK1_SEED,
    needs_zork1,
    started,
    zork1_solution,
)
from tests.support.records import record
from tests.support.tiny_story import build
from tests.support.work import steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from game_interface import Facts, Game


class Play:
    """A real game under the eyes of the check."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.facts = game.facts()
        self.attempts = AttemptManager()
        self.attempts.begin(observation_of(self.facts), CarriedOver())
        self._check = ActionCheck(game.vocabulary, self.attempts)
        self._turn = 0

    def verdict(self, command: str) -> Verdict:
        facts = self.facts
        return asyncio.run(self._check.check(command, facts))

    def do(self, *commands: str) -> Play:
        for command in commands:
            place = observation_of(self.facts).room
            answer = self.game.step(command)
            self.facts = self.game.facts()
            self._turn += 1
            after = observation_of(self.facts)
            died = self.game.died_in_last_step
            self.attempts.apply(
                record(self._turn, command, 0, 0, after, place=place, response=answer, died=died)
            )
        return self


@pytest.fixture
def play() -> Iterator[Play]:
    with started() as game:
        yield Play(game)


def said(verdict: Verdict) -> tuple[str, str]:
    return verdict.kind, verdict.reason


# --- whole games


def verdicts_over(game: Game, commands: Sequence[str]) -> list[tuple[str, Verdict]]:
    """Every command of a solution and what was said of it, before it was given."""
    play = Play(game)
    verdicts = []
    for command in commands:
        if game.is_over:
            break
        verdicts.append((command, play.verdict(command)))
        play.do(command)
    assert play.facts.won
    return verdicts


@pytest.mark.slow
def test_fault_2_nothing_valid_is_refused_over_the_bundled_solution() -> None:
    with started() as game:
        verdicts = verdicts_over(game, BUNDLED_COMMANDS)
    assert [command for command, verdict in verdicts if verdict.kind != "accept"] == []


@needs_zork1
def test_fault_2_nothing_valid_is_refused_over_the_solution_of_zork_i() -> None:
    with started(ZORK1, seed=ZORK1_SEED) as game:
        verdicts = verdicts_over(game, zork1_solution())
    assert [command for command, verdict in verdicts if verdict.kind == "refuse"] == []
    assert sum(verdict.kind == "advise" for _, verdict in verdicts) <= 2


@needs_zork1
@pytest.mark.parametrize(
    ("before", "command"),
    [
        ("n.e", "open window"),
        ("n.e.open window.w", "take sack"),
        ("n.e.open window.w", "take all from table"),
        ("n.e.open window.w.open sack", "get lunch from sack"),
        ("n.e.open window.w.open sack", "get all from sack"),
        ("n.e.open window.w.w", "take lantern"),
        ("n.e.open window.w.w", "take brass lamp"),
        ("n.e.open window.w.w.move rug", "open trap door"),
        ("n.e.open window.w.w.move rug", "open trapdoor"),
    ],
)
def test_fault_2_things_are_known_by_all_their_words_wherever_they_lie(
    before: str, command: str
) -> None:
    with started(ZORK1) as game:
        assert Play(game).do(*before.split(".")).verdict(command).kind == "accept"


# --- soundness: what is refused would not have done anything

OPENINGS = ("{verb} {word}", "{verb} the {word}", "{verb} {word} with {other}", "{word}")
LINKED = ("{verb} {other} in {word}", "{verb} {word} and {other}", "{verb} {word}. north")
VERBS = "take get drop open close put wear eat drink push pull turn wave rub give throw".split()  # noqa: SIM905  a list of words
UNKNOWN = ("gazebo", "hovercraft", "inspectigate")


def made_up(facts: Facts, dictionary: frozenset[str], seed: int) -> Iterator[str]:
    """Commands of every form, with words for what is here, elsewhere, and nowhere."""
    dice = Random(seed)
    known = sorted(word for word in dictionary if word.isalpha())
    absent = sorted(facts.absent_words)
    for _ in range(20):
        word = dice.choice(dice.choice([known, absent or known, UNKNOWN]))
        verb = dice.choice([*VERBS, dice.choice(known)])
        form = dice.choice(OPENINGS + LINKED)
        command = form.format(verb=verb, word=word, other=dice.choice(known))
        with suppress(InvalidCommandError):
            yield validate_command(command)


def moment(game: Game) -> tuple[Any, ...]:
    facts = game.facts()
    carried = [thing.id for thing in facts.inventory or ()]
    return facts.world_hash, facts.room_id, carried, facts.score, game.is_over


def after(game: Game, command: str, snapshot: bytes) -> tuple[Any, ...]:
    """What would be after a command, which is then taken back."""
    game.step(command)
    result = moment(game)
    game.restore(snapshot)
    return result


def refused_but_doing_something(game: Game, commands: Sequence[str]) -> tuple[int, list[str]]:
    """How many commands were refused along a solution; and those that did more than take time."""
    check = ActionCheck(game.vocabulary)
    refused, wrong = 0, []
    for turn, step in enumerate(commands):
        if turn % 20 == 3:
            facts, snapshot, before = game.facts(), game.snapshot(), moment(game)
            idle = after(game, "look", snapshot)
            for command in made_up(facts, game.vocabulary.words, turn):
                if asyncio.run(check.check(command, facts)).kind == "refuse":
                    refused += 1
                    if after(game, command, snapshot) not in (before, idle):
                        wrong.append(command)
        game.step(step)
    return refused, wrong


@pytest.mark.slow
def test_what_is_refused_would_have_done_nothing_in_the_bundled_story() -> None:
    with started() as game:
        refused, wrong = refused_but_doing_something(game, BUNDLED_COMMANDS)
    assert wrong == []
    assert refused > 40


@pytest.mark.slow
@needs_zork1
def test_what_is_refused_would_have_done_nothing_in_zork_i() -> None:
    with started(ZORK1, seed=ZORK1_SEED) as game:
        refused, wrong = refused_but_doing_something(game, zork1_solution()[:390])
    assert wrong == []
    assert refused > 160


# --- words that the game does not know


def test_a_word_that_the_game_does_not_know_is_refused(play: Play) -> None:
    assert said(play.verdict("take gazebo")) == (
        "refuse",
        'The game does not know the word "gazebo".',
    )
    assert play.verdict("inspectigate bollard").kind == "refuse"


@pytest.mark.parametrize(
    "command",
    [
        "say gazebo",
        "ask thrupp about gazebo",
        "type gazebo on machine",
        'answer "gazebo"',
        "turn dial to gazebo",
        "look up gazebo in book",
        "open 4711",
        "take trap-door",
        "examine thrupp's desk",
        "bollard",
        "Examine BOLLARD",
    ],
)
def test_free_text_numbers_and_odd_spellings_are_let_through(play: Play, command: str) -> None:
    assert play.verdict(command).kind != "refuse"


def test_behind_a_command_that_is_carried_out_unknown_words_are_only_warned_of(play: Play) -> None:
    for command in ("north. take gazebo", "north then gazebo", "gull, gazebo"):
        warning = ("advise", 'The game does not know the word "gazebo".')
        assert said(play.verdict(command)) == warning


def test_an_open_question_may_be_answered_with_any_word(play: Play) -> None:
    play.attempts.apply(
        record(1, "hello", 1, 1, observation_of(play.facts), response="And your name is?")
    )
    assert play.verdict("gazebo").kind == "accept"


def test_without_a_dictionary_no_word_is_refused(play: Play) -> None:
    check = ActionCheck(Vocabulary.of(StoryImage(build())))
    assert asyncio.run(check.check("take gazebo", play.facts)).kind == "accept"


# --- things that are not here


def test_handling_a_thing_that_is_elsewhere_is_refused(play: Play) -> None:
    assert said(play.verdict("take kipper")) == (
        "refuse",
        'There is no "kipper" here, and you carry none.',
    )
    assert play.verdict("put the kipper on bollard").kind == "refuse"


@pytest.mark.parametrize(
    "command",
    [
        "take bollard",  # it is here, and stands fast
        "take all but kipper",
        "take letter and kipper",
        "ask gull about kipper",
        "thrupp, take kipper",
        "kipper",
        "tell gull about kipper",
        "put letter in toolbox",  # it might be picked up before anything is missed
        "take pair of boots",
    ],
)
def test_what_may_make_sense_without_the_thing_is_let_through(play: Play, command: str) -> None:
    assert play.verdict(command).kind != "refuse"


def test_a_thing_in_a_closed_container_here_may_be_handled(play: Play) -> None:
    *before, opening = BUNDLED_COMMANDS[: BUNDLED_COMMANDS.index("take kipper")]
    assert opening == "open larder"
    assert play.do(*before).verdict("take kipper").kind == "accept"
    assert "kipper" not in {thing.name for thing in play.facts.visible}


# --- tries in the same world


def test_what_did_nothing_is_advised_against_and_then_refused(play: Play) -> None:
    assert play.verdict("push bollard").kind == "accept"
    kind, reason = said(play.do("push bollard").verdict("push bollard"))
    assert kind == "advise"
    assert reason.startswith('Tried once with everything as it is now. The answer was: "')
    play.do("look", "Push bollard", "push bollard")
    kind, reason = said(play.verdict("push  bollard"))
    assert kind == "refuse"
    assert reason.startswith('Tried 3 times with everything as it is now. The answer was: "')


def test_when_the_world_has_changed_it_may_be_tried_again(play: Play) -> None:
    play.do(*["push bollard"] * 3, "read letter", "drop letter")
    assert play.verdict("push bollard").kind == "accept"


@pytest.mark.parametrize("command", ["wait", "z", "again", "g", "look", "l", "inventory", "i"])
def test_waiting_and_looking_are_never_refused(play: Play, command: str) -> None:
    assert play.do(*[command] * 4).verdict(command).kind == "accept"


def test_a_room_elsewhere_with_the_same_failures_does_not_count(play: Play) -> None:
    play.do("jump", "jump", "jump", "north")
    assert play.verdict("jump").kind == "accept"


# --- verdicts


def test_faults_1_3_and_4_a_verdict_is_a_word_and_no_number() -> None:
    for kind in (0.0, -0.16, 1, True, "perhaps"):
        with pytest.raises(ValidationError):
            Verdict.model_validate({"kind": kind})
    assert set(Verdict.model_fields) == {"kind", "reason", "usage"}


def test_fault_1_impossible_things_are_refused_whatever_was_said_before(play: Play) -> None:
    impossible = ("take kipper", "take gazebo", "open toolbox", "inspectigate letter")
    for _ in range(20):
        assert [play.verdict(command).kind for command in impossible] == ["refuse"] * 4


class Fixed:
    """A check that always says the same."""

    def __init__(self, kind: str, reason: str = "", calls: int = 0) -> None:
        self.asked: list[str] = []
        self._verdict = Verdict.model_validate(
            {"kind": kind, "reason": reason, "usage": Usage(calls=calls, prompt_tokens=7 * calls)}
        )

    async def check(self, command: str, facts: Facts, situation: str = "") -> Verdict:
        self.asked.append(situation)
        return self._verdict


def test_of_several_checks_the_first_refusal_wins_and_spares_the_rest(play: Play) -> None:
    checks = Fixed("advise", "hm"), Fixed("refuse", "no", 1), Fixed("refuse", "never", 1)
    verdict = asyncio.run(Checks(checks).check("north", play.facts, "told"))
    assert said(verdict) == ("refuse", "no")
    assert verdict.usage == Usage(calls=1, prompt_tokens=7)
    assert [check.asked for check in checks] == [["told"], ["told"], []]


def test_of_several_checks_without_refusal_the_first_advice_counts(play: Play) -> None:
    checks = Fixed("accept", calls=1), Fixed("advise", "first"), Fixed("advise", "second", calls=1)
    verdict = asyncio.run(Checks(checks).check("north", play.facts))
    assert said(verdict) == ("advise", "first")
    assert verdict.usage == Usage(calls=2, prompt_tokens=14)
    assert asyncio.run(Checks([]).check("north", play.facts)).kind == "accept"


def test_a_check_is_little_work(play: Play) -> None:
    play.verdict("look")  # the dictionary is read once
    assert steps(lambda: play.verdict("put watering can on bollard")) < 1000
