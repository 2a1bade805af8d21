"""The engine-independent reader of a story's memory, on hand-made images."""

import pytest

from game_interface.errors import StoryFormatError
from stories.memory import MachineMemory, StoryImage
from tests.support.tiny_story import Object, build, encode, pack

ROOM, BOX, COIN = 1, 2, 3
OBJECTS = (
    Object("Hall", attributes=(0, 20), properties={31: b"\x05", 17: b"\x12\x34"}),
    Object("wooden box", parent=1, attributes=(31,)),
    Object("coin", parent=2),
    Object("lamp", parent=1, properties={5: b"\1\2\3"}),
)


def memory_of(image: StoryImage) -> MachineMemory:
    return MachineMemory(image, image.data[: image.dynamic_size])


@pytest.mark.parametrize("version", [3, 5, 8])
def test_the_object_tree_is_read_in_every_version(version: int) -> None:
    memory = memory_of(StoryImage(build(OBJECTS, version=version)))

    assert memory.image.object_count == 4
    assert memory.children(ROOM) == [BOX, 4]
    assert memory.children(COIN) == []
    assert [memory.parent(n) for n in (1, 2, 3, 4)] == [0, 1, 2, 1]


@pytest.mark.parametrize("version", [3, 5])
def test_attributes_and_properties_are_read_by_number(version: int) -> None:
    memory = memory_of(StoryImage(build(OBJECTS, version=version)))

    assert [a for a in range(32) if memory.has(ROOM, a)] == [0, 20]
    assert [a for a in range(32) if memory.has(BOX, a)] == [31]
    assert memory.property_data(ROOM, 31) == b"\x05"
    assert memory.property_data(ROOM, 17) == b"\x12\x34"
    assert memory.property_data(4, 5) == b"\1\2\3"
    assert memory.property_data(ROOM, 16) == b""
    assert memory.property_data(BOX, 1) == b""


def test_an_attribute_that_the_story_lacks_is_never_set() -> None:
    memory = memory_of(StoryImage(build([Object("Hall", attributes=range(32))])))

    assert not memory.has(1, None)


def test_the_48th_attribute_of_later_versions_is_read() -> None:
    memory = memory_of(StoryImage(build([Object("Hall", attributes=(47,))], version=5)))

    assert memory.has(1, 47)
    assert not memory.has(1, 46)


def test_globals_are_read_with_and_without_sign() -> None:
    memory = memory_of(StoryImage(build(OBJECTS, global_values={1: 0xFFF6, 2: 300})))

    assert memory.signed_global(1) == -10
    assert memory.global_value(1) == 0xFFF6
    assert memory.global_value(2) == 300


def test_what_the_engine_reports_wins_over_the_image() -> None:
    image = StoryImage(build(OBJECTS))
    dynamic = bytearray(image.data[: image.dynamic_size])
    dynamic[image.globals_table + 1] = 42

    assert MachineMemory(image, bytes(dynamic)).global_value(0) == 42
    assert memory_of(image).global_value(0) == 1


def test_a_ring_in_the_object_tree_ends() -> None:
    image = StoryImage(build(OBJECTS))
    dynamic = bytearray(image.data[: image.dynamic_size])
    dynamic[image.entry(BOX) + 5] = BOX  # its own sibling

    assert set(MachineMemory(image, bytes(dynamic)).children(ROOM)) == {BOX}


def test_names_come_whole_with_abbreviations_capitals_and_punctuation() -> None:
    image = StoryImage(build([Object("Hall")], abbreviations=["Frigid ", "of "]))
    packed = pack([1, 0, 4, 23, 14, 27, 10, 23])  # abbreviation 0, then "River"

    decoded = StoryImage(_with_name(image, packed)).name(1)

    assert decoded == "Frigid River"


def _with_name(image: StoryImage, packed: bytes) -> bytes:
    data = bytearray(image.data)
    address = image.property_list(1)
    data[address : address + 1 + len(packed)] = bytes((len(packed) // 2,)) + packed
    return bytes(data)


@pytest.mark.parametrize("name", ["ZORK owner's manual", "hand-held pump", "Bär", "no. 9 (big)"])
def test_a_name_survives_encoding_and_decoding(name: str) -> None:
    assert StoryImage(build([Object(name)])).name(1) == name


def test_an_object_without_a_name_has_the_empty_one() -> None:
    assert StoryImage(build([Object("")])).name(1) == ""


def test_a_story_may_bring_its_own_alphabet() -> None:
    data = bytearray(build([Object("abc")], version=5))
    table = 0x0F00
    data[table : table + 78] = (
        b"zyxwvutsrqponmlkjihgfedcba" + bytes(range(65, 91)) + b"  " + b"." * 24
    )
    data[0x34:0x36] = table.to_bytes(2, "big")

    assert StoryImage(bytes(data)).name(1) == "zyx"


def test_a_story_may_bring_its_own_unicode_characters() -> None:
    data = bytearray(build([Object("ä")], version=5))
    extension, table = 0x0F00, 0x0F20
    data[extension : extension + 8] = b"\0\3\0\0\0\0" + table.to_bytes(2, "big")
    data[table : table + 3] = b"\1" + ord("λ").to_bytes(2, "big")
    data[0x36:0x38] = extension.to_bytes(2, "big")

    assert StoryImage(bytes(data)).name(1) == "λ"


def test_the_dictionary_holds_words_cut_to_the_word_length() -> None:
    early = StoryImage(build(words=["lamp", "lantern", "restart"]))
    late = StoryImage(build(words=["lamp", "lantern", "restart"], version=5))

    assert {*early.dictionary_entries.values()} == {"lamp", "lanter", "restar"}
    assert {*late.dictionary_entries.values()} == {"lamp", "lantern", "restart"}


def test_padding_does_not_change_which_story_it_is() -> None:
    data = build(OBJECTS)

    assert StoryImage(data + b"\0" * 116 + b"^" * 7168).sha256 == StoryImage(data).sha256
    assert StoryImage(data + b"^").data == data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a Z-machine story"),
        (b"<html>404 Not Found</html>" * 9, "not a Z-machine story"),
        (b"\6" + bytes(99), "version 1 to 5, 7 or 8"),
        (build(OBJECTS)[:3000], r"damaged: it should have 4,1\d\d bytes, and has 3,000"),
    ],
)
def test_what_is_not_a_story_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(StoryFormatError, match=reason):
        StoryImage(data)


def test_a_header_that_points_outside_the_file_is_refused() -> None:
    data = bytearray(build(OBJECTS))
    data[0x0A:0x0C] = b"\xff\x00"

    with pytest.raises(StoryFormatError, match="its objects would end at 0xff3e"):
        StoryImage(bytes(data))


def test_long_texts_are_decoded_from_packed_addresses() -> None:
    text = "The door is nailed shut."
    data = build(OBJECTS, code=encode(text))

    assert StoryImage(data).packed_text(0x1000 // 2) == text
