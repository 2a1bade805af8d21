"""What a translated instruction does is what fernz does with it."""

from __future__ import annotations

import re

import pytest
from fernz import GameState, Memory, Story
from fernz._machine import Machine
from fernz._opcodes import opcode
from hypothesis import assume, given
from hypothesis import strategies as st

from game_interface.engines.fernz_machine import FAILURES, TranslatedMachine
from game_interface.machine.profile import STORIES
from game_interface.story import BUNDLED_STORY, load_story
from tests.support.games import BUNDLED_COMMANDS
from tests.support.tiny_story import CODE, GLOBALS, QUIT, READ_LINE, Object, build

STEPS = 300
OBJECTS = (
    Object("oil", parent=2),
    Object("lamp", parent=3, attributes=(0,), properties={2: b"\0\3"}),
    Object("Hall", attributes=(1, 7), properties={1: b"\1\2", 3: b"\5", 4: b"abc"}),
    Object("box", parent=3, properties={1: b"\x80\0"}),
)
GLOBAL_VALUES = {0: 3, 1: 0xFFFF, 2: GLOBALS, 3: 2}
ROUTINE = CODE + 32

VARIABLES = st.sampled_from([0, 0, 1, 2, 3, 16, 17, 18, 19])
BRANCHES = st.one_of(
    st.builds(lambda on, to: bytes((on | to,)), st.sampled_from([0x40, 0xC0]), st.integers(0, 12)),
    st.builds(
        lambda on, to: bytes((on | 0x3F, to)), st.sampled_from([0, 0x80]), st.integers(240, 255)
    ),
)
OPERANDS = st.one_of(
    VARIABLES.map(lambda number: (2, bytes((number,)))),
    st.integers(0, 9).map(lambda value: (1, bytes((value,)))),
    st.integers(0, 0xFFFF).map(lambda value: (0, value.to_bytes(2, "big"))),
)
KINDS = st.one_of(
    st.tuples(st.just("2OP"), st.integers(1, 24)),
    st.tuples(st.just("1OP"), st.integers(0, 15)),
    st.tuples(st.just("0OP"), st.sampled_from([0, 1, 8])),
    st.tuples(st.just("VAR"), st.sampled_from([0, 1, 2, 3, 8, 9, 31])),
)


@st.composite
def instructions(draw: st.DrawFn, version: int) -> bytes:
    """One instruction, as section 4 of the standard has it, with few ways to go wrong."""
    group, number = draw(KINDS)
    spec = opcode(group, number, version)
    if spec is None:
        return b""
    operands = draw(st.lists(OPERANDS, min_size=spec.operands[0], max_size=spec.operands[1]))
    values = b"".join(value for _, value in operands)
    if group == "0OP":
        head = bytes((0xB0 | number,))
    elif group == "1OP":
        head = bytes((0x80 | operands[0][0] << 4 | number,))
    else:
        types = [kind for kind, _ in operands] + [3] * (4 - len(operands))
        byte = types[0] << 6 | types[1] << 4 | types[2] << 2 | types[3]
        head = bytes(((0xC0 if group == "2OP" else 0xE0) | number, byte))
    store = bytes((draw(VARIABLES),)) if spec.store else b""
    return head + values + store + (draw(BRANCHES) if spec.branch else b"")


@st.composite
def stories(draw: st.DrawFn) -> bytes:
    """A story that calls a routine of three locals and some instructions, and waits for a line."""
    version = draw(st.sampled_from([3, 5]))
    packed = (ROUTINE // (2 if version == 3 else 4)).to_bytes(2, "big")
    begin = b"\xe0\x1f" + packed + b"\7\x10" + READ_LINE + b"\0" * (version > 3) + QUIT
    defaults = b"\0\1\0\2\0\3" if version == 3 else b""
    pushed = b"\xe8\x7f\1" * 4
    body = b"".join(draw(st.lists(instructions(version), min_size=1, max_size=12)))
    code = begin.ljust(ROUTINE - CODE, b"\0") + b"\3" + defaults + pushed + body + b"\xb0"
    return build(OBJECTS, code=code, version=version, global_values=GLOBAL_VALUES)


def played(kind: type[Machine], story: bytes) -> tuple[str, GameState] | None:
    """What a machine prints up to its first question and what it is like then; None if it fails."""
    machine = kind(Memory(Story(story)), seed=1)
    try:
        return machine.run(max_steps=STEPS), machine.get_state()
    except FAILURES as error:
        # All properties of an object are in order, or none is looked for.
        assume(not re.search("property order|outside dynamic memory", str(error)))
        return None


@pytest.mark.fuzz
@given(story=stories())
def test_any_instructions_have_the_effects_that_they_have_in_fernz(story: bytes) -> None:
    assert played(TranslatedMachine, story) == played(Machine, story)


def test_the_bundled_story_is_the_same_in_both() -> None:
    story = load_story(STORIES / f"{BUNDLED_STORY}.z5").image.story
    plain, translated = (kind(Memory(story), seed=3) for kind in (Machine, TranslatedMachine))
    for command in ("", *BUNDLED_COMMANDS[:12], "frotz", "again", "restart", "yes", "inventory"):
        for machine in (plain, translated):
            if command:
                machine.accept_input(command)
        assert translated.run() == plain.run()
        assert translated.get_state() == plain.get_state()
