"""The player's condition as the game last told of it: attacks, wounds, light, load, things gone.

It is read from the game's words and from what was told of things, in the English that games share.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from managers.manager import Manager, Section, section, without_headings
from mcp_ghost.tables import compiled, table
from mcp_ghost.text import one_line
from session.game_state import NOTHING_SEEN, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver

_QUOTE_CHARACTERS = 160
_ATTACK_LASTS = 4
"""Turns after which a fight of which nothing more was said is over."""
_WOUND_LASTS = 40
_THINGS_KEPT = 60
_THINGS_SHOWN = 8
_SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+|\n+")
_TABLE = table("managers.story", "condition.toml")
_SAYS = compiled(_TABLE["says"])
_ARTICLES = frozenset({"a", "an", "the", "my"})
_EVERYTHING = frozenset({"all", "everything"})


@dataclass
class _Thing:
    """Something that was carried once, and where it was last seen."""

    where: str
    room: int | None
    is_gone: bool = False


class Condition(Manager):
    """Follows only from what it is told, in order."""

    def __init__(self) -> None:
        self._attack: list[int] = []
        """The turns of the attack under way."""
        self._attackers: dict[str, None] = {}
        self._wound = self._light = self._load = ""
        """What the game last said of them."""
        self._wounded_in = 0
        self._lamps = set(_TABLE["words"]["lamps"])
        self._things: dict[str, _Thing] = {}
        self._before = NOTHING_SEEN

    def begin(self, observation: Observation, carried: CarriedOver) -> None:
        """Learn what the game begins with."""
        self._before = observation

    def apply(self, record: TurnRecord) -> None:
        """Learn from a finished turn."""
        if record.ended:  # the game begins anew
            self._attack, self._attackers, self._things = [], {}, {}
            self._wound = self._light = self._load = ""
            self._before = record.after
            return
        if lighting := _SAYS["lighting"].match(" ".join(record.command.lower().split())):
            # The words for what is lit or put out, in command and answer.
            lit = _SAYS["lit"].match(record.response.strip().lower())
            names = (*lighting.groups(), lit[1] if lit else None)
            self._lamps |= _words(" ".join(filter(None, names))) - _ARTICLES
        if record.place and record.place_id != record.after.room_id:
            self._attack, self._attackers = [], {}
        for sentence in _SENTENCE.split(record.response):
            self._hear(" ".join(sentence.split()), record)
        if record.died:  # whoever lives on was neither hit nor hurt
            self._attack, self._attackers, self._wound = [], {}, ""
        if self._attack and record.turn - self._attack[-1] >= _ATTACK_LASTS:
            self._attack, self._attackers = [], {}
        self._follow_things(record)
        self._before = record.after

    def sections(self, state: GameState) -> Iterable[Section]:
        """Return what holds now, as far as it was told."""
        return section("Your condition", filter(None, self._lines(state.turn_count)), importance=7)

    def _hear(self, sentence: str, record: TurnRecord) -> None:
        said = without_headings(one_line(sentence, _QUOTE_CHARACTERS))
        told = f"as told in turn {record.turn}"
        if attack := _SAYS["attack"].search(sentence):
            if record.turn not in self._attack:
                self._attack.append(record.turn)
            named = (thing.name for thing in record.after.visible)
            self._attackers |= dict.fromkeys(
                name
                for name in named
                if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", attack["who"], re.IGNORECASE)
            )
        if _SAYS["healed"].search(sentence):
            self._wound = ""
        elif _SAYS["wound"].search(sentence):
            self._wound, self._wounded_in = f'Wounds, {told}: "{said}"', record.turn
        if _SAYS["light"].search(sentence) and self._lamps & _words(sentence):
            self._light = f'Light, {told}: "{said}"'
        if _SAYS["load"].search(sentence):
            things = len(record.after.inventory or ())
            self._load = f'Load, {told}{f", carrying {things}" if things else ""}: "{said}"'

    def _lines(self, now: int) -> Iterator[str]:
        if self._attack:
            first, last = self._attack[0], self._attack[-1]
            turns = f"turn {first}" if first == last else f"turns {first} to {last}"
            by = f" by: {', '.join(self._attackers)}" if self._attackers else ""
            yield f"Under attack in {turns}{by}."
        if now - self._wounded_in < _WOUND_LASTS:
            yield self._wound
        yield from (self._light, self._load)
        gone = [f"{name} ({it.where})" for name, it in self._things.items() if it.is_gone]
        if gone:
            yield f"Gone from where you last had or saw it: {', '.join(gone[-_THINGS_SHOWN:])}"

    def _follow_things(self, record: TurnRecord) -> None:
        before, after = self._before, record.after
        if before.inventory is None or after.inventory is None:
            return
        carried = dict.fromkeys(thing.name for thing in after.inventory)
        here = carried | dict.fromkeys(thing.name for thing in after.visible)
        for name in here:
            if name in carried:
                self._see(name, f"carried until turn {record.turn}", record)
            elif name in self._things:
                self._see(name, f"seen in {after.room_name}, turn {record.turn}", record)
        used = _words(record.command)
        for thing in (*before.inventory, *before.visible):
            name, holder = thing
            if name not in self._things or name in here:
                continue
            was_used = bool(used & (_words(name) | _EVERYTHING))
            if was_used or (holder and holder in here):
                if record.place_id == after.room_id:
                    del self._things[name]  # what became of it, the player did
            elif thing in before.inventory:
                self._things[name].is_gone = True
        if after.dark or after.room_id is None:
            return
        for name, known in self._things.items():
            if known.room == after.room_id and name not in here:
                known.is_gone = True  # it was left in this room

    def _see(self, name: str, where: str, record: TurnRecord) -> None:
        self._things.pop(name, None)  # the latest come last
        self._things[name] = _Thing(where, record.after.room_id)
        if len(self._things) > _THINGS_KEPT:
            del self._things[next(iter(self._things))]


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z]+", text.lower()))
