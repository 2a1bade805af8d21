"""Only text for the game passes the guard."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from game_interface import MAX_COMMAND_LENGTH, validate_command
from game_interface.errors import InvalidCommandError

FORBIDDEN = [
    "save",
    "restore",
    "restart",
    "quit",
    "q",
    "script",
    "unscript",
    "verify",
    "$ve",
    "#rec",
]
FRAMES = [
    "{}",
    "{} now",
    "n. {}",
    "n, {}",
    "n; {}",
    "n then {}",
    "n and {}",
    'say "{}"',
    "look.{}",
    "THEN {}",
    "the {}",
    "please {}",
    "oops {}",
    "> {}",
]


@pytest.mark.parametrize("frame", FRAMES)
def test_orders_to_the_interpreter_are_refused_in_every_part_of_a_line(frame: str) -> None:
    for word in FORBIDDEN:
        for spelling in (word, word.upper(), word.capitalize()):
            with pytest.raises(InvalidCommandError):
                validate_command(frame.format(spelling))


@pytest.mark.parametrize(
    "word", ["restar", "restor", "restarting", "unscri", "unscripted", "verifying", "transcript"]
)
def test_words_that_a_parser_cuts_to_an_order_are_refused(word: str) -> None:
    with pytest.raises(InvalidCommandError):
        validate_command(word)


def test_an_order_behind_a_word_that_a_parser_takes_for_a_filler_is_refused() -> None:
    with pytest.raises(InvalidCommandError, match="'save' is a command to the interpreter"):
        validate_command("float save")


@pytest.mark.parametrize(
    "command",
    [
        "north",
        "open door, then go north",
        "take the lamp and the sword",
        "read script",
        "ask wizard about the quit notice",
        "look at save point",
        "troll, give me the axe",
        'say "hello sailor"',
        "put coin in slot; push button",
        "examine restoration plaque",
        "turn dial to 9",
        "y",
        "again",
        "quickly north",
        "savour the soup",
        "give lamp to the verifier",
    ],
)
def test_commands_to_the_game_pass_unchanged(command: str) -> None:
    assert validate_command(command) == command


@pytest.mark.parametrize(
    ("command", "cleaned"),
    [
        ("  north \n", "north"),
        ("> go   north", "go north"),
        ("look\tunder bed", "look under bed"),
        ("read the sailor\u2019s \u201clog\u201d", 'read the sailor\'s "log"'),
        ("caf\u00e9", "caf\u00e9"),
    ],
)
def test_harmless_spelling_is_cleaned(command: str, cleaned: str) -> None:
    assert validate_command(command) == cleaned


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        (">", "empty"),
        ("north\nsouth", "one line"),
        ("north\rsouth", "one line"),
        ("take \x07 bell", "plain Latin text"),
        ("take \x00", "plain Latin text"),
        ("nimm \u5251", "plain Latin text"),
        ("look \U0001f526", "plain Latin text"),
        ("x" * (MAX_COMMAND_LENGTH + 1), "at most 100 characters; this one has 101"),
    ],
)
def test_what_is_not_a_line_of_text_is_refused_with_the_reason(command: str, reason: str) -> None:
    with pytest.raises(InvalidCommandError, match=reason):
        validate_command(command)


def test_a_command_of_the_greatest_length_passes() -> None:
    assert len(validate_command("x" * MAX_COMMAND_LENGTH)) == MAX_COMMAND_LENGTH


@given(st.text())
def test_whatever_passes_is_one_printable_latin_line(text: str) -> None:
    try:
        command = validate_command(text)
    except InvalidCommandError:
        return
    assert command.isprintable()
    assert 0 < len(command.encode("latin-1")) <= MAX_COMMAND_LENGTH
    assert validate_command(command) == command


@given(
    st.text(string.ascii_lowercase + " ", max_size=20),
    st.sampled_from([". ", ", ", "; ", " then ", " and "]),
    st.sampled_from(FORBIDDEN),
)
def test_no_beginning_hides_an_order(beginning: str, separator: str, word: str) -> None:
    with pytest.raises(InvalidCommandError):
        validate_command(beginning + separator + word)
