r"""Achievements of a story: a text file with ``NAME<TAB>WHAT`` on each line.

WHAT is a few words that the game prints when it is earned, or a fact: ``room=NAME``, ``room=#ID``,
``carrying=THING``, ``score>=POINTS``, or ``sentence=HASH``, which stands for a sentence that the
game prints and that must not be written down. No player is shown any of it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from mcp_ghost.files import read_regular
from mcp_ghost.text import did_you_mean, reason
from session.configuration_file import ConfigurationError
from session.game_state import TurnRecord

SUFFIX = ".achievements.tsv"
"""Of the file beside a story's."""
FACTS = ("room", "carrying", "score", "sentence")
HASH_DIGITS = 16
_FACT = re.compile(r"([a-z]+)\s*(>=|=)\s*(.*)")
_STORY = re.compile(r"^#.*\b([0-9a-f]{64})\b", re.MULTILINE)
_SENTENCES = re.compile(r"[.!?]+[\"')\]]*\s|\n\s*\n|$")
_WORDS = re.compile(r"\w+")


class Achievement(NamedTuple):
    """One thing that a player can achieve."""

    name: str
    fact: str
    """One of ``FACTS``; empty: the value is words that the game prints."""
    value: str


def earned_by(turn: TurnRecord, among: Iterable[Achievement]) -> list[Achievement]:
    """Return those that are earned by what a turn led to."""
    seen, words = turn.outcome, f" {normalised(turn.response)} "
    known = {("carrying", it.name.casefold()) for it in seen.inventory or ()}
    if room := seen.room:
        known |= {("room", room.name.casefold()), ("room", f"#{room.id}")}

    def is_earned(it: Achievement) -> bool:
        match it.fact:
            case "":
                return f" {it.value} " in words
            case "score":
                return seen.score is not None and seen.score >= int(it.value)
            case "sentence":
                return it.value in sentence_hashes(turn.response)
        return (it.fact, it.value) in known

    return [it for it in among if is_earned(it)]


@dataclass(frozen=True)
class Achievements:
    """Those of one story."""

    all: tuple[Achievement, ...]
    sha256: str
    """Of their file."""

    @classmethod
    def read(cls, path: Path) -> "Achievements":
        """Read a file.

        Raises:
            ConfigurationError: It cannot be read, or a line is wrong.
        """
        try:
            data = read_regular(path)
            lines = data.decode("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"The achievements {path} cannot be read: {reason(error)}"
            ) from error
        found: dict[str, Achievement] = {}
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                try:
                    name, fact, value = _parsed(line, found)
                except ValueError as error:
                    raise ConfigurationError(f"{path}, line {number}: {error}.") from error
                found[name] = Achievement(name, fact, value)
        if not found:
            raise ConfigurationError(f"There are no achievements in {path}.")
        return cls(tuple(found.values()), sha256(data).hexdigest())


def normalised(text: str) -> str:
    """Reduce a text to its words, in small letters, with a space between them."""
    return " ".join(_WORDS.findall(text.casefold()))


@cache
def sentence_hash(sentence: str) -> str:
    """Hash a sentence by its words."""
    return sha256(normalised(sentence).encode()).hexdigest()[:HASH_DIGITS]


@lru_cache(maxsize=8)  # each achievement asks about the answer that was just given
def sentence_hashes(text: str) -> frozenset[str]:
    """Hash each sentence of what the game printed."""
    return frozenset(sentence_hash(it) for it in _SENTENCES.split(text) if _WORDS.search(it))


@cache
def shipped() -> Mapping[str, Path]:
    """SHA-256 of a story's image -> file of its achievements, of those that come with us."""
    files = sorted(Path(__file__).parent.glob("*.tsv"))
    named = ((_STORY.search(path.read_text(encoding="utf-8")), path) for path in files)
    return {match[1]: path for match, path in named if match}


def at_hand(sha256: str, story: Path) -> Path | None:
    """Find the file of a story's achievements: beside it, or with those that come with us."""
    beside = story.with_name(f"{story.stem}{SUFFIX}")
    return beside if story.name and beside.is_file() else shipped().get(sha256)


def _parsed(line: str, before: Mapping[str, Achievement]) -> tuple[str, str, str]:
    name, _, what = (part.strip() for part in line.partition("\t"))
    if name in before:
        raise ValueError(f"there are two achievements '{name}'")
    if not (name and what):
        raise ValueError("expected NAME, a tab, and a fact or what the game prints")
    known = _FACT.fullmatch(what)
    if not known:
        return name, "", normalised(what)
    fact, compared, value = known.groups()
    if fact not in FACTS:
        hint = did_you_mean(fact, FACTS) or f"choose from {', '.join(FACTS)}"
        raise ValueError(f"there is no fact '{fact}' ({hint})")
    if (fact == "score") != (compared == ">="):
        raise ValueError(f"write {fact}{'>=' if fact == 'score' else '='}{value or '...'}")
    if not value or (fact == "score" and not re.fullmatch(r"-?\d+", value)):
        raise ValueError(f"'{value}' is not a value of {fact}")
    return name, fact, value.casefold()
