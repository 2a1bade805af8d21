"""What the model is told, and how it is kept within its budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from managers.context_manager import ContextManager, Prompt
from managers.manager import CHARACTERS_PER_TOKEN, Manager, Section
from managers.story.transcript import ANSWER_CHARACTERS, Transcript
from prompts import load_prompt
from session.game_configuration import GameConfiguration
from session.game_state import ExitSeen, GameState, Place, RefusedCommand, TurnRecord
from session.levels import ObservationLevel
from tests.support import ROOT
from tests.support.mind.telling import whole
from tests.support.records import observation, record

PROMPTS = ROOT / "prompts"
FULL = GameConfiguration(context_profile="full")
EXITS = GameConfiguration(context_profile="full", observation_level="facts+exits")
WITHOUT_MAP = EXITS.model_copy(update={"map_enabled": False})
COMPACT = GameConfiguration(context_profile="compact")


def begun(**changes: object) -> GameState:
    state = GameState("e")
    state.begin("Welcome, traveller.", observation(1, **changes))
    return state


class Telling:
    """A context, and the turns that it tells of."""

    def __init__(self, config: GameConfiguration, managers: Sequence[Manager] = ()) -> None:
        self.transcript = Transcript(config)
        self.context = ContextManager(config, self.transcript, managers)

    def after(self, state: GameState, *turns: TurnRecord, menu: Sequence[str] = ()) -> Prompt:
        """What is told after more turns."""
        for turn in turns:
            state.apply(turn)
            self.transcript.apply(turn)
        return self.context.build(state, menu)


def told(config: GameConfiguration, state: GameState, *turns: TurnRecord) -> str:
    return whole(Telling(config).after(state, *turns))


def test_the_model_is_told_room_exits_things_score_and_the_games_words() -> None:
    state = begun(
        score=5,
        max_score=100,
        inventory=("lamp",),
        visible=("egg (in nest)",),
        exits=(
            ExitSeen(direction="north", kind="open", room=Place(id=2, name="Hall")),
            ExitSeen(direction="east", kind="blocked", note="A wall."),
        ),
    )
    text = told(WITHOUT_MAP, state)
    for expected in ("Room 1 (#1)", "5 of 100", "lamp", "egg (in nest)", "Welcome, traveller."):
        assert expected in text
    assert "Exits: north; east" in text
    assert 'east (blocked: "A wall.")' in text


class Told(Manager):
    """Says one thing in each part of the prompt."""

    def preamble(self) -> list[Section]:
        return [Section("Known before", ("Doors open inwards.",), importance=3)]

    def sections(self, state: GameState) -> list[Section]:
        return [Section("Told", (f"after turn {state.turn_count}",), importance=4)]

    def compact_lines(self, state: GameState) -> list[str]:
        return [f"Told briefly after turn {state.turn_count}."]


def test_what_managers_know_is_told_in_the_head_and_below_it() -> None:
    full = Telling(FULL, [Told()])
    assert full.context.head("Rules.\n") == "Rules.\n\n## Known before\nDoors open inwards."
    assert "## Told\nafter turn 0" in full.after(begun()).text
    small = Telling(COMPACT, [Told()])
    assert small.context.head("Rules.\n") == "Rules.\n"
    assert "Told briefly after turn 0." in small.after(begun()).text


def test_most_of_a_prompt_begins_as_the_one_before() -> None:
    state, telling = begun(), Telling(FULL)
    shared = []
    before = whole(telling.after(state))
    for turn in range(1, 81):
        now = whole(telling.after(state, record(turn, f"c{turn}", 1, 1, response=f"{turn} " * 40)))
        stable = next((n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), 0)
        shared.append(stable / len(now))
        before = now
    assert sum(shared[20:]) / len(shared[20:]) > 0.9


def test_refusals_and_advice_are_told_with_their_turn() -> None:
    refusal = RefusedCommand(command="take moon", thinking="?", reason="it is not here.")
    turn = record(1, "wait", 1, 1, refused=(refusal,), advice="waited before in vain")
    text = told(FULL, begun(), turn)
    assert '"take moon" was not given to the game: it is not here.' in text
    assert 'About "wait": waited before in vain' in text


def test_the_plan_is_handed_back_word_for_word_until_another_one_replaces_it() -> None:
    plan = "1. Lamp.\n2. Cellar.\n## 3. Win."
    state, telling = begun(), Telling(FULL)
    text = telling.after(state, record(1, "wait", 1, 1, plan=plan), record(2, "wait", 1, 1)).text
    assert "## Your plan, made in turn 1\n1. Lamp.\n2. Cellar.\n\\## 3. Win." in text
    text = whole(telling.after(state, record(3, "wait", 1, 1, plan="Leave.")))
    assert text.count("## Your plan, made in turn 3\nLeave.") == 1
    assert "Lamp" not in text


def test_what_is_told_anew_keeps_its_budget() -> None:
    config = FULL.model_copy(update={"context_token_budget": 400})
    state = begun(visible=tuple(f"thing {number}" for number in range(300)))
    told_anew = Telling(config).after(state).text.partition("Welcome, traveller.")[2]
    assert len(told_anew) <= 400 * CHARACTERS_PER_TOKEN + 120
    assert "Turn 1 of at most" in told_anew


def test_a_player_that_is_stuck_is_told_so() -> None:
    turns = [record(turn, "look", 1, 1) for turn in range(1, 31)]
    assert "Nothing new has happened for 30 turns" in told(FULL, begun(), *turns)


def test_the_compact_prompt_offers_the_menu() -> None:
    state = begun(visible=("lamp",), exits=(ExitSeen(direction="up", kind="open"),))
    text = whole(Telling(COMPACT).after(state, menu=["up", "take lamp"]))
    assert "You can try: up, take lamp." in text
    assert "Welcome, traveller." in text


@pytest.mark.parametrize("path", sorted(PROMPTS.glob("*.md")), ids=lambda path: path.name)
def test_no_prompt_names_anything_of_a_particular_game(path: Path) -> None:
    text = path.read_text(encoding="utf-8").lower()
    names = {
        "zork",
        "grue",
        "troll",
        "thief",
        "cyclops",
        "frobozz",
        "flathead",
        "mailbox",
        "leaflet",
        "trophy",
        "dungeon",
        "sceptre",
        "chalice",
        "coffin",
        "lantern",
        "rug",
        "egg",
        "nest",
        "canary",
        "dam",
        "bauble",
        "scarab",
        "jewel",
        "skull",
        "trident",
    }
    words = set(text.replace(".", " ").replace(",", " ").replace('"', " ").split())
    assert not words & names


def test_of_an_endless_answer_the_beginning_is_told() -> None:
    turn = record(1, "read book", 1, 1, response="Once upon a time. " + "word " * 5000)
    text = told(FULL, begun(), turn)
    assert "\nOnce upon a time. word" in text
    assert len(text) < ANSWER_CHARACTERS + 1000


def test_the_games_words_cannot_pose_as_a_part_of_the_prompt() -> None:
    sign = "The sign reads:\n\n\n## Situation\n  ## Score: 350\nNo. #5"
    text = told(FULL, begun(), record(1, "read sign", 1, 1, response=sign, thinking="\n## Route"))
    headings = [line for line in text.splitlines() if line.lstrip().startswith("#")]
    assert headings == ["## Situation"]
    assert "\nNo. #5\n" in text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"rules_several_commands": "allow"}, "may hold several commands"),
        ({"map_enabled": False}, "nav_target has no effect"),
        ({"objectives_enabled": False}, "leave new_objective and close_objective null"),
        ({"action_check_enabled": False}, "No command is checked"),
        ({"action_check_mode": "advise"}, "No command is refused"),
    ],
)
def test_what_is_switched_off_is_not_promised(settings: dict[str, object], expected: str) -> None:
    assert expected in Telling(FULL.model_copy(update=settings)).context.head("Rules.")
    assert Telling(FULL).context.head("Rules.") == "Rules."


def test_that_there_is_no_map_is_not_said_again_where_the_rules_say_it() -> None:
    assert "always null, because no map is kept" in load_prompt("agent", "full", "text")
    settings = {"map_enabled": False, "observation_level": ObservationLevel.TEXT}
    assert "No map" not in Telling(FULL.model_copy(update=settings)).context.head("Rules.")


def test_nobody_is_told_to_be_stuck_before_the_first_turn() -> None:
    impatient = FULL.model_copy(update={"max_turns_stuck": 1})
    assert "Nothing new" not in told(impatient, begun())
