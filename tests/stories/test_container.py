"""A story file is known by what it holds, and whatever it is instead is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from game_interface import open_game
from game_interface.errors import StoryFormatError, StoryNotFoundError
from game_interface.story import load_story
from stories.container import open_story_file
from tests.support.games import written
from tests.support.tiny_story import build


def chunk(kind: bytes, data: bytes) -> bytes:
    return kind + len(data).to_bytes(4, "big") + data + bytes(len(data) % 2)


def blorb(kind: bytes, program: bytes, usage: bytes = b"Exec") -> bytes:
    """A Blorb with a picture before its program."""
    picture = chunk(b"PNG ", b"not really a picture")
    start = 12 + 8 + 4 + 12 + len(picture)
    index = (1).to_bytes(4, "big") + usage + bytes(4) + start.to_bytes(4, "big")
    body = b"IFRS" + chunk(b"RIdx", index) + picture + chunk(kind, program)
    return chunk(b"FORM", body)


@pytest.mark.parametrize("padding", [b"", b"\0"])
def test_a_blorb_is_played_and_is_the_story_that_is_in_it(tmp_path: Path, padding: bytes) -> None:
    bare = load_story(written(tmp_path, build()))
    path = written(tmp_path, blorb(b"ZCOD", build() + padding), "tiny.zblorb")
    assert load_story(path).info.sha256 == bare.info.sha256
    with open_game(path) as game:
        assert game.start() == "Hall"
        assert game.step("look") == "Done."


def test_a_glulx_story_is_given_to_its_interpreter_with_its_whole_file() -> None:
    file = blorb(b"GLUL", b"Glul" + bytes(60))
    program = open_story_file(file)
    assert program.is_glulx
    assert (program.data[:4], program.file) == (b"Glul", file)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (b"", "is empty"),
        (b"\6" + bytes(99), "version 6 of the Z-machine"),
        (b"TADS2 bin\x0a\x0d\x1a" + bytes(99), "TADS 2 game"),
        (b"T3-image\x0d\x0a\x1a" + bytes(99), "TADS 3 game"),
        (b"\x1fxx12-31-99" + bytes(99), "Hugo game"),
        (b"<B?\xc9j\x87\xc2\xcf" + bytes(99), "ADRIFT game"),
        (b"PK\x03\x04" + bytes(99), "ZIP archive: unpack it"),
        (b"\x1f\x8b" + bytes(99), "gzip.*: unpack it"),
        (b"\xff" * 257 + b"ustar" + bytes(99), "tar.*: unpack it"),
        (b"<!doctype html>", "page of HTML"),
        (b"\xff\xff\xff", "neither a Z-machine story .* nor a Glulx story"),
        (blorb(b"TAD3", b"T3-image"), r"another kind of program \('TAD3'\)"),
        (blorb(b"Pict", b"...", b"Pict"), "Blorb file with only"),
        (b"FORM\xff\xff\xff\xffIFRSRIdx\xff\xff\xff\xff", "Blorb file with only"),
    ],
)
def test_what_cannot_be_played_is_named_in_one_line_with_its_path(
    file: bytes, name: str, tmp_path: Path
) -> None:
    path = written(tmp_path, file, "mystery.z5")
    with pytest.raises(StoryFormatError, match=name) as raised:
        open_game(path)
    assert str(raised.value).startswith(f"{path} cannot be played: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", ["x" * 5000, "zork1\0", "\ud800", "~nobody.here/zork1.z5"])
def test_what_can_be_no_path_is_refused_in_one_short_line(name: str) -> None:
    with pytest.raises(StoryNotFoundError, match="there is no story file") as raised:
        open_game(name)
    assert len(str(raised.value)) < 500


def test_the_engine_jericho_says_that_it_plays_no_glulx(tmp_path: Path) -> None:
    path = written(tmp_path, b"Glul" + bytes(60), "tiny.ulx")
    with pytest.raises(StoryFormatError, match=r"Glulx story, which the engine 'jericho' cannot"):
        open_game(path, engine="jericho")
