"""The action check: what the game's own facts say against a command, before it is given.

A verdict is one of three words. Only what is certain is refused: a word that the parser does not
have, a thing that the player knows and that is not here, an attempt that failed before with all as
it is now. An objection rests on what the player was told; what only the game's memory has can take
it back, never raise it. The game is never run to find out: that would tell the model about
something it has not tried.
"""

import re
from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import Literal, Protocol, TypeAlias

from game_interface import Facts, Vocabulary
from managers.attempt_manager import AttemptManager
from mcp_ghost.messages import Usage
from mcp_ghost.tables import table
from session.game_state import Value
from session.perception.directions import HARMLESS

VerdictKind: TypeAlias = Literal["accept", "advise", "refuse"]

_TRIES_BEFORE_REFUSAL = 3
_WEIGHTS: dict[VerdictKind, int] = {"accept": 0, "advise": 1, "refuse": 2}
_PARTS = re.compile(r"[.,;]|\b(?:then|and)\b")
_PLAIN_WORD = re.compile(r"[a-z]+")

_WORDS = {
    name: frozenset(words.split()) for name, words in table("managers", "action_check.toml").items()
}


class Verdict(Value):
    """What a check says of a command."""

    kind: VerdictKind
    reason: str = ""
    usage: Usage = Usage()
    """What the judgement took, where a model made it."""


ACCEPTED = Verdict(kind="accept")


class Check(Protocol):
    """Whoever judges commands."""

    async def check(self, command: str, facts: Facts, situation: str = "") -> Verdict:
        """The verdict on ``command``; ``situation`` is what the model that proposed it was told."""


class ActionCheck:
    """The rules. Without ``attempts`` nothing is known of earlier attempts."""

    def __init__(self, vocabulary: Vocabulary, attempts: AttemptManager | None = None) -> None:
        self._vocabulary = vocabulary
        self._attempts = attempts

    async def check(self, command: str, facts: Facts, situation: str = "") -> Verdict:
        """The first refusal of a rule, else the first advice."""
        command = command.lower()
        return _weighed(
            [
                self.of_unknown_words(command),
                self.of_absent_things(command, facts),
                self.of_repetition(command, facts),
            ]
        )

    def of_unknown_words(self, command: str) -> Verdict:
        """Against words that the parser does not have.

        Of a line with several commands the first ones are carried out all the same, so there it is
        only advised.
        """
        if '"' in command or (self._attempts and self._attempts.question_is_open):
            return ACCEPTED
        parts = [part for part in _PARTS.split(command) if part.strip()]
        for number, part in enumerate(parts):
            for word in part.split():
                if word in _WORDS["free_text_verbs"] or word in _WORDS["free_text_prepositions"]:
                    break
                if _PLAIN_WORD.fullmatch(word) and not self._vocabulary.may_know(word):
                    reason = f'The game does not know the word "{word}".'
                    return Verdict(kind="advise" if number else "refuse", reason=reason)
        return ACCEPTED

    def of_absent_things(self, command: str, facts: Facts) -> Verdict:
        """Against handling one thing that is not here, or one with another.

        A parser may have picked up the first thing before it says that there is no second one.
        """
        verb, *others = command.split() or [""]
        if (
            verb not in _WORDS["handling_verbs"]
            or _WORDS["not_just_one"] & {*others}
            or _PARTS.search(command)
        ):
            return ACCEPTED
        behind_particles = dropwhile(_WORDS["prepositions"].__contains__, others)
        for word in takewhile(lambda word: word not in _WORDS["prepositions"], behind_particles):
            if self._vocabulary.cut(word) in facts.absent_words:
                reason = f'There is no "{word}" here, and you carry none.'
                return Verdict(kind="refuse", reason=reason)
        return ACCEPTED

    def of_repetition(self, command: str, facts: Facts) -> Verdict:
        """Against what did nothing when the world was as it is."""
        if self._attempts is None or HARMLESS & {*command.split()[:1]}:
            return ACCEPTED
        times, answer = self._attempts.vain_tries(command, facts.world_hash, facts.room_id)
        if not times:
            return ACCEPTED
        kind: VerdictKind = "refuse" if times >= _TRIES_BEFORE_REFUSAL else "advise"
        often = "once" if times == 1 else f"{times} times"
        return Verdict(
            kind=kind,
            reason=f'Tried {often} with everything as it is now. The answer was: "{answer}"',
        )


class Checks:
    """Several checks as one, the cheapest first: a refusal spares the ones after it."""

    def __init__(self, checks: Sequence[Check], cut_by: Vocabulary | None = None) -> None:
        """With ``cut_by``, only the first command of a line is judged: the game gets no more."""
        self._checks = tuple(checks)
        self._cut_by = cut_by

    async def check(self, command: str, facts: Facts, situation: str = "") -> Verdict:
        """The first refusal, else the first advice; its usage is that of all who were asked."""
        command = self._cut_by.first_command(command) if self._cut_by else command
        verdicts: list[Verdict] = []
        for check in self._checks:
            verdicts.append(await check.check(command, facts, situation))
            if verdicts[-1].kind == "refuse":
                break
        return _weighed(verdicts)


def _weighed(verdicts: Sequence[Verdict]) -> Verdict:
    """The first refusal, else the first advice, with the usage of all."""
    heaviest = max(verdicts, key=lambda verdict: _WEIGHTS[verdict.kind], default=ACCEPTED)
    usage = sum((verdict.usage for verdict in verdicts), Usage())
    return heaviest.model_copy(update={"usage": usage})
