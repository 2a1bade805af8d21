"""What the game last told of attacks, wounds, light and load, and things that are gone."""

from __future__ import annotations

import re

import pytest

from managers.story.condition import Condition
from session.game_state import GameState, Observation
from session.knowledge import CarriedOver
from tests.support.records import observation, record


class Player:
    """Plays made-up turns, and is told of its condition."""

    def __init__(self, *inventory: str) -> None:
        self.condition = Condition()
        self.turn, self.room = 0, 1
        self.condition.begin(observation(1, inventory=inventory), CarriedOver())

    def play(
        self,
        command: str,
        response: str = "Done.",
        *,
        inventory: tuple[str, ...] | None = (),
        visible: tuple[str, ...] = (),
        room: int = 1,
        **more: object,
    ) -> str:
        """A turn; what is told after it."""
        self.turn += 1
        after: Observation = observation(
            room, inventory=inventory, visible=visible, dark=more.pop("dark", False)
        )
        step = record(self.turn, command, self.room, room, after, response=response, **more)
        self.room = room
        self.condition.apply(step)
        state = GameState("e")
        state.turn_count = self.turn
        return "\n".join(it.text() for it in self.condition.sections(state))


def test_a_quiet_turn_tells_nothing() -> None:
    assert Player().play("look", "You see a hall.") == ""


def test_an_attack_is_told_with_the_attacker_until_it_is_over() -> None:
    player = Player()
    told = player.play("wait", "The ogre swings his club, but you dodge.", visible=("ogre",))
    assert told == "## Your condition\nUnder attack in turn 1 by: ogre."
    told = player.play("hit ogre", "A miss.\nThe ogre lunges at you.", visible=("ogre",))
    assert "Under attack in turns 1 to 2 by: ogre." in told
    for _ in range(3):
        assert "Under attack" in player.play("wait")
    assert player.play("wait") == ""


def test_what_an_attacker_strikes_with_is_no_attacker() -> None:
    seen = ("club", "ogre", "rat")
    told = Player().play("wait", "The pirate ogre swings his club at you.", visible=seen)
    assert told.endswith("Under attack in turn 1 by: ogre.")


def test_a_fatal_blow_and_its_wounds_end_with_the_life() -> None:
    assert Player().play("wait", "The ogre stabs you. Your wounds are mortal.", died=True) == ""


def test_who_leaves_is_no_longer_under_attack() -> None:
    player = Player()
    player.play("wait", "The ogre swings his club.")
    assert player.play("north", "You get away.", room=2) == ""


def test_ones_own_blows_are_no_attack() -> None:
    assert Player().play("hit ogre", "You swing wildly. Your blow strikes you both.") == ""


def test_wounds_are_told_in_the_games_words_until_they_are_healed() -> None:
    player = Player()
    told = player.play("wait", "Ouch. The blade leaves you with a deep wound!")
    assert told.endswith('Wounds, as told in turn 1: "The blade leaves you with a deep wound!"')
    assert "Wounds" in player.play("wait")
    assert player.play("diagnose", "You are in perfect health.") == ""


def test_a_wound_that_will_be_cured_is_not_cured_yet() -> None:
    told = Player().play("diagnose", "You have a light wound, which will be cured after 30 moves.")
    assert "which will be cured after 30 moves." in told


@pytest.mark.parametrize(
    ("command", "response", "quote"),
    [
        ("wait", "Rain falls. The lamp appears a bit dimmer.", "The lamp appears a bit dimmer."),
        ("light match", "The match flickers.", "The match flickers."),
        ("turn on glowstone", "The glowstone is now on.", "The glowstone is now on."),
    ],
)
def test_light_is_told_as_the_game_last_told_of_it(command: str, response: str, quote: str) -> None:
    assert Player().play(command, response).endswith(f'Light, as told in turn 1: "{quote}"')


def test_what_was_lit_once_is_a_light_from_then_on() -> None:
    player = Player()
    assert player.play("wait", "The glowstone fades.") == ""
    player.play("turn glowstone on", "It hums.")
    assert "The glowstone fades." in player.play("wait", "The glowstone fades.")


@pytest.mark.parametrize(
    ("command", "response", "later"),
    [
        ("light candle with match", "Done.", "Your luck with dice runs out."),
        ("put on cloak", "You are now wearing the cloak.", "You run out of the house."),
        ("turn the wheel off", "Done.", "The sound fades and the day goes out."),
    ],
)
def test_words_beside_what_was_lit_are_no_light(command: str, response: str, later: str) -> None:
    player = Player()
    player.play(command, response)
    assert player.play("wait", later) == ""


def test_load_is_told_with_the_number_of_things_carried_then() -> None:
    player = Player("a", "b")
    told = player.play("take anvil", "Your load is too heavy.", inventory=("a", "b"))
    assert told.endswith('Load, as told in turn 1, carrying 2: "Your load is too heavy."')
    assert "carrying" not in Player().play("take anvil", "It is too heavy.", inventory=None)


def test_a_thing_that_is_carried_no_more_is_missed_where_it_was_last() -> None:
    player = Player("egg")
    player.play("wait", inventory=("egg",))
    told = player.play("north", room=2)
    assert told.endswith("Gone from where you last had or saw it: egg (carried until turn 1)")
    assert player.play("south", visible=("egg",)) == ""


def test_what_is_missed_is_told_in_the_order_in_which_it_was_listed() -> None:
    things = tuple(f"{name} box" for name in ("red", "blue", "tin", "oak", "wax", "jade", "old"))
    player = Player(*things)
    player.play("wait", inventory=things)
    player.play("drop all", visible=things)
    player.play("north", room=2)
    told = player.play("south")
    assert re.findall(r"\w+ box", told) == list(things)


def test_what_is_called_by_a_part_of_its_name_was_used() -> None:
    player = Player("jewel-studded egg")
    player.play("wait", inventory=("jewel-studded egg",))
    assert player.play("throw jewel away") == ""


def test_a_thing_that_was_left_is_missed_when_it_is_not_there_any_more() -> None:
    player = Player("egg")
    player.play("wait", inventory=("egg",))
    assert player.play("drop egg", visible=("egg",)) == ""
    assert player.play("north", room=2) == ""
    assert player.play("south", dark=True) == ""
    assert player.play("look").endswith("egg (seen in Room 1, turn 2)")


@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("eat egg", ("egg",), ()),
        ("put all in slot", ("egg",), ()),
        ("close sack", ("sack", "egg (in sack)"), ("sack",)),
    ],
)
def test_what_the_player_did_away_with_is_not_missed(
    command: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    player = Player(*before)
    player.play("wait", inventory=before)
    assert player.play(command, inventory=after) == ""


def test_things_that_were_never_carried_are_not_missed() -> None:
    player = Player()
    player.play("look", visible=("thief", "table"))
    assert player.play("look") == ""


def test_a_game_that_is_begun_anew_leaves_nothing_behind() -> None:
    player = Player("egg")
    player.play("wait", "The ogre stabs. You are wounded.", inventory=("egg",))
    assert player.play("jump", "You die.", ended=observation(1), died=True) == ""
