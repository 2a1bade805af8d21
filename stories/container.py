"""What a story file is: a program for the Z-machine or for Glulx, bare or in a Blorb.

Section numbers are those of the Blorb specification 2.0.4. Files of other systems are named for
what they are.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from stories.errors import StoryFormatError

MAX_STORY_BYTES: Final = 2**25
"""Some stories carry pictures and sounds; a wrong file may be of any size."""
_GLULX: Final = b"Glul"
_OTHERS: Final = (
    (0, b"<B?\xc9j\x87\xc2\xcf", "an ADRIFT game, which needs an interpreter for ADRIFT"),
    (0, b"TADS2 bin", "a TADS 2 game, which needs an interpreter for TADS"),
    (0, b"T3-image", "a TADS 3 game, which needs an interpreter for TADS"),
    (0, b"PK\x03\x04", "a ZIP archive: unpack it, and give the story file in it"),
    (0, b"\x1f\x8b", "an archive (gzip): unpack it, and give the story file in it"),
    (0, b"7z\xbc\xaf\x27\x1c", "an archive (7-Zip): unpack it, and give the story file in it"),
    (0, b"Rar!", "an archive (RAR): unpack it, and give the story file in it"),
    (0, b"BZh", "an archive (bzip2): unpack it, and give the story file in it"),
    (0, b"\xfd7zXZ", "an archive (xz): unpack it, and give the story file in it"),
    (0, b"<", "a page of HTML or XML: download the story file itself"),
    (0, b"MZ", "a program for DOS or Windows"),
    (0, b"version https://git-lfs", "a pointer to a large file in Git LFS, not the file"),
    (257, b"ustar", "an archive (tar): unpack it, and give the story file in it"),
)
"""Where a mark stands in a file, the mark, and what it says that the file is."""
_MOST_CHUNKS: Final = 10_000


class Program(NamedTuple):
    """The program in a story file."""

    data: bytes
    file: bytes
    """What its interpreter is given: a Glulx story may use other parts of its file."""
    is_glulx: bool


def open_story_file(file: bytes) -> Program:
    """Return the program in a file.

    Raises: StoryFormatError that says what the file is, or what is wrong with it.
    """
    data = _of_blorb(file) if file[:4] == b"FORM" and file[8:12] == b"IFRS" else file
    if data[:4] == _GLULX:
        return Program(data, file, is_glulx=True)
    if data[:1] and 1 <= data[0] <= 8:
        if data[0] == 6:
            raise StoryFormatError(
                "it is a story for version 6 of the Z-machine, which draws its screen: an "
                "interpreter with graphics can play it"
            )
        return Program(data, data, is_glulx=False)
    raise StoryFormatError(f"it is {_what(file)}")


def _what(file: bytes) -> str:
    if not file:
        return "empty"
    for at, mark, name in _OTHERS:
        if file.startswith(mark, at):
            return name
    date = file[3:11]  # of its compilation, where a Hugo game has it, as MM-DD-YY
    if len(date) == 8 and date[2:3] == date[5:6] == b"-" and date.replace(b"-", b"").isdigit():
        return "a Hugo game, which needs an interpreter for Hugo"
    return "neither a Z-machine story (version 1 to 5, 7 or 8) nor a Glulx story"


def _of_blorb(file: bytes) -> bytes:
    """Return the executable resource of a Blorb: number 0 with the usage Exec (section 1, 5)."""
    chunks = {start: (kind, data) for start, kind, data in iff_chunks(file)}
    index = next((data for kind, data in chunks.values() if kind == b"RIdx"), b"")
    for at in range(4, len(index) - 11, 12):
        usage, start = index[at : at + 4], int.from_bytes(index[at + 8 : at + 12], "big")
        if usage == b"Exec" and start in chunks:
            kind, data = chunks[start]
            if kind in (b"ZCOD", b"GLUL"):
                return data
            name = kind.decode("ascii", "replace")
            raise StoryFormatError(f"it is a Blorb file with another kind of program ({name!r})")
    raise StoryFormatError(
        "it is a Blorb file with only a story's pictures or sounds, not the story"
    )


def iff_chunks(file: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield start, kind and content of the chunks of an IFF form, of a bounded number."""
    start = 12
    for _ in range(_MOST_CHUNKS):
        if start + 8 > len(file):
            return
        size = int.from_bytes(file[start + 4 : start + 8], "big")
        yield start, file[start : start + 4], file[start + 8 : start + 8 + size]
        start += 8 + size + size % 2
