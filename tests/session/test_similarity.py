"""Which texts count as saying the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session.similarity import near_duplicates, same_thing, says_more

SAME = [
    ("Oak door. The oak door is locked.", "Locked oak door. The oak door is locked."),
    ("A brass lamp is on the shelf.", "There's a brass lamp on the shelf here!"),
    ("Pressing the red button opens the gate.", "Press the red button to open the gate"),
    ("Dropping the crate breaks it.", "The crate: if you drop it, it breaks."),
    ("Open the box: it holds a letter.", "Opening the box reveals a letter inside."),
    ("Never take the coin.", "Don\u2019t take the coin."),
    ("It is dark; a lamp is needed.", "The passage is dark and a lamp is needed to see."),
    ("Tie the rope to the hook, climb down.", "Climbing down: tie the rope on the hook."),
    ("Explore the forest", "Explore the forest area"),
    ("Repair the bridge", "Repair the broken bridge."),
    ("Get the lamp", "Take the LAMP"),
    ("Push the lever, then pull the chain.", "Pushing the lever and then pulling the chain"),
    ("The window can be opened.", "You can open the window."),
]
TOLD_APART = [
    ("Press the red button to open the gate.", "Press the blue button to open the gate."),
    ("The oak door is locked.", "The oak door is not locked."),
    ("The door is locked.", "The door is unlocked."),
    ("Turn the dial to 3.", "Turn the dial to 35."),
    ("The north exit is blocked.", "The south exit is blocked."),
    ("Turn the lamp on.", "Turn the lamp off."),
    ("A key lies under the mat.", "A key lies on the mat."),
    ("Push the lever, then pull the chain.", "Pull the chain, then push the lever."),
    ("Drink the water before the meal.", "Drink the water after the meal."),
    ("The gate opens.", "The gate keeper wants silver; behind him an open chest full of coins."),
    ("Take the coin.", "Do not take the coin."),
    ("The guard sleeps.", "The guard never sleeps."),
    ("The lamp is not lit, the door is open.", "The lamp is lit, the door is not open."),
    ("The grate is locked.", "A skeleton key opens the grate."),
    ("Bell. Ring the bell at night.", "Bell. The bell is cracked."),
    ("Go to the Kitchen", "Go to the Cellar"),
    ("Return to the Kitchen", "Return to the Kitchen with rope and lamp and light the stove"),
    ("Find the lamp", "Light the lamp"),
    ("The guard takes a coin.", "The guard takes a coin only at night."),
    ("The bridge holds you.", "The bridge breaks under you."),
    ("", "The bridge breaks."),
    ("The", "It is there."),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_what_says_the_same_in_other_words_is_a_near_duplicate(first: str, second: str) -> None:
    assert near_duplicates(first, second)


@pytest.mark.parametrize(("first", "second"), TOLD_APART)
def test_what_differs_in_a_word_that_matters_is_told_apart(first: str, second: str) -> None:
    assert not near_duplicates(first, second)


WORDS = "the door opens opened not lamp red blue then before only 3 key"
TEXTS = st.lists(st.sampled_from(WORDS.split()), max_size=8).map(" ".join)


@given(TEXTS, TEXTS)
def test_it_does_not_matter_which_text_comes_first(first: str, second: str) -> None:
    assert near_duplicates(first, second) == near_duplicates(second, first)


@given(TEXTS, TEXTS)
def test_only_one_of_two_near_duplicates_says_more(first: str, second: str) -> None:
    if near_duplicates(first, second):
        assert near_duplicates(first, first)
        assert not (says_more(first, second) and says_more(second, first))


def test_the_fuller_text_says_more_and_the_same_in_other_words_does_not() -> None:
    assert says_more("Repair the broken bridge", "Repair the bridge")
    assert not says_more("Repair the bridge", "Repair the broken bridge")
    assert not says_more("Repairing a bridge", "Repair the bridge")


@pytest.mark.parametrize(
    ("name", "other", "same"),
    [
        ("lamp", "brass lamp", True),
        ("The Brass Lamp", "lamp", True),
        ("lamp", "lamps", False),
        ("lamp", "lamp oil", True),
        ("red key", "blue key", False),
        ("the", "the", False),
        ("", "lamp", False),
    ],
)
def test_names_mean_one_thing_when_the_words_of_one_are_in_the_other(
    name: str, other: str, *, same: bool
) -> None:
    assert same_thing(name, other) is same
    assert same_thing(other, name) is same
