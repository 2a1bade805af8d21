"""Tiny Z-machine stories, assembled byte by byte, for what no real story does on demand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LOWER = "abcdefghijklmnopqrstuvwxyz"
PUNCTUATION = " \n0123456789.,!?_#'\"/\\-:()"
GLOBALS = 0x0100
TEXT_BUFFER, PARSE_BUFFER = 0x02E0, 0x0360
ABBREVIATIONS = 0x0040
OBJECTS = 0x0400
CODE = 0x1000

QUIT, NEW_LINE = b"\xba", b"\xbb"
READ_LINE = b"\xe4\x0f" + TEXT_BUFFER.to_bytes(2, "big") + PARSE_BUFFER.to_bytes(2, "big")
READ_KEY = b"\xf6\x7f\x01\x00"
"""In version 4 and later."""


@dataclass
class Object:
    """An object; numbers of parents count from 1 in the order of the list."""

    name: str
    parent: int = 0
    attributes: Sequence[int] = ()
    properties: Mapping[int, bytes] = field(default_factory=dict)


def encode(text: str) -> bytes:
    """A text in the Z-machine's packed characters."""
    codes: list[int] = []
    for character in text:
        if character == " ":
            codes.append(0)
        elif character in LOWER:
            codes.append(6 + LOWER.index(character))
        elif character.lower() in LOWER:
            codes += (4, 6 + LOWER.index(character.lower()))
        elif character in PUNCTUATION:
            codes += (5, 6 + PUNCTUATION.index(character))
        else:
            code = {"ä": 155}.get(character, ord(character))
            codes += (5, 6, code >> 5, code & 31)
    return pack(codes)


def pack(codes: Sequence[int]) -> bytes:
    """Five-bit characters as words, three to each, the last one marked."""
    padded = [*codes, *[5] * (-len(codes) % 3)] or [5, 5, 5]
    words = [padded[i] << 10 | padded[i + 1] << 5 | padded[i + 2] for i in range(0, len(padded), 3)]
    words[-1] |= 0x8000
    return b"".join(word.to_bytes(2, "big") for word in words)


def say(text: str) -> bytes:
    """Print a text."""
    return b"\xb2" + encode(text)


def increment(global_number: int) -> bytes:
    """Add one to a global."""
    return bytes((0x95, 16 + global_number))


def loop(body: bytes) -> bytes:
    """Read a line and do `body`, for ever."""
    return endlessly(READ_LINE + body)


def endlessly(body: bytes) -> bytes:
    """Do `body` again and again."""
    back = -(len(body) + 1)
    return body + b"\x8c" + (back & 0xFFFF).to_bytes(2, "big")


HANG = b"\x8c\xff\xff"
SHOW_STATUS = b"\xbc"
READ_KEYS = endlessly(READ_KEY)


def build(
    objects: Sequence[Object] = (Object("Hall"),),
    *,
    code: bytes | None = None,
    version: int = 3,
    global_values: Mapping[int, int] | None = None,
    words: Sequence[str] = (),
    abbreviations: Sequence[str] = (),
    flags: int = 0,
) -> bytes:
    """A story of these objects that prints "Hall" and answers "Done." to every line.

    Global 0 is object 1, for Frotz crashes where a version 3 story is nowhere.
    """
    data = bytearray(CODE)
    _place_objects(data, objects, version)
    for number, value in {0: 1, **(global_values or {})}.items():
        data[GLOBALS + 2 * number : GLOBALS + 2 * number + 2] = value.to_bytes(2, "big")
    data[TEXT_BUFFER], data[PARSE_BUFFER] = 100, 20
    data += code if code is not None else say("Hall\n") + loop(say("Done.\n"))
    data += bytes(-len(data) % 8)
    for number, text in enumerate(abbreviations):
        entry = ABBREVIATIONS + 2 * number
        data[entry : entry + 2] = (len(data) // 2).to_bytes(2, "big")
        data += encode(text)
        data += bytes(-len(data) % 8)
    dictionary = len(data)
    data += bytes(4 + 9 * len(words) + 8)
    data += bytes(-len(data) % 8)
    _place_words(data, dictionary, words, version)
    header = {0x02: 7, 0x04: CODE, 0x06: CODE, 0x08: dictionary, 0x0A: OBJECTS, 0x0C: GLOBALS}
    header |= {0x0E: CODE, 0x18: ABBREVIATIONS, 0x1A: len(data) // {3: 2, 5: 4, 8: 8}[version]}
    for address, value in header.items():
        data[address : address + 2] = value.to_bytes(2, "big")
    data[0], data[1] = version, flags
    data[0x12:0x18] = b"261121"
    return bytes(data)


def _place_objects(data: bytearray, objects: Sequence[Object], version: int) -> None:
    early = version == 3
    entry_size, attribute_bytes, link = (9, 4, 1) if early else (14, 6, 2)
    first = OBJECTS + 2 * (31 if early else 63)
    free = first + entry_size * len(objects)
    for number, thing in enumerate(objects, 1):
        entry = first + entry_size * (number - 1)
        bits = sum(1 << (8 * attribute_bytes - 1 - a) for a in thing.attributes)
        data[entry : entry + attribute_bytes] = bits.to_bytes(attribute_bytes, "big")
        links = (thing.parent, _sibling(objects, number), _child(objects, number))
        for i, value in enumerate(links):
            start = entry + attribute_bytes + link * i
            data[start : start + link] = value.to_bytes(link, "big")
        data[entry + entry_size - 2 : entry + entry_size] = free.to_bytes(2, "big")
        properties = _property_list(thing, early=early)
        data[free : free + len(properties)] = properties
        free += len(properties)


def _child(objects: Sequence[Object], number: int) -> int:
    inside = [n for n, thing in enumerate(objects, 1) if thing.parent == number]
    return inside[0] if inside else 0


def _sibling(objects: Sequence[Object], number: int) -> int:
    parent = objects[number - 1].parent
    later = [n for n, thing in enumerate(objects, 1) if thing.parent == parent and n > number]
    return later[0] if later and parent else 0


def _property_list(thing: Object, *, early: bool) -> bytes:
    name = encode(thing.name) if thing.name else b""
    result = bytes((len(name) // 2,)) + name
    for number, value in sorted(thing.properties.items(), reverse=True):
        if early:
            size = bytes(((len(value) - 1) << 5 | number,))
        elif len(value) <= 2:
            size = bytes(((len(value) - 1) << 6 | number,))
        else:
            size = bytes((0x80 | number, 0x80 | len(value) & 63))
        result += size + value
    return result + b"\0"


def _place_words(data: bytearray, start: int, words: Sequence[str], version: int) -> None:
    length = 9 if version > 3 else 6
    data[start : start + 4] = bytes((0, length - 2 if version == 3 else 6)) + len(words).to_bytes(
        2, "big"
    )
    key = 4 if version == 3 else 6
    keys = sorted(
        pack(([6 + LOWER.index(c) for c in word] + [5] * 9)[: key // 2 * 3]) for word in words
    )
    at = start + 4
    for packed in keys:
        data[at : at + key] = packed
        at += key
