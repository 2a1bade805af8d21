"""A moment of a game as bytes, small enough for every line of a log.

Layout: a line of text with format and version, a line of JSON that says whose snapshot it is, then
compressed: the engine's own state. States have much in common, so they are compressed with a
dictionary of two of them, one of a story of version 3 and one of the bundled story. Its file never
changes, or no snapshot could be read any more; a new one would need a new format.
"""

import json
import zlib
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from game_interface.engines.engine import MAX_SEED, EngineName
from game_interface.errors import SnapshotError
from game_interface.machine.facts import Ending
from stories.memory import StoryImage

_FORMAT: Final = b"zorkgpt-snapshot 2"
_EARLIER_FORMAT: Final = b"zorkgpt-snapshot 1"
_DIGEST_SIZE: Final = 8
_STATE_BYTES: Final = 2**25
_SHOWN: Final = 40
_LARGEST_GLOBAL: Final = 239


@dataclass(frozen=True, slots=True)
class Progress:
    """What the game layer itself remembers from one step to the next."""

    died: bool | None = False
    """Whether a death happened in the last step; None where that is not known."""
    ending: Ending | None = None
    player_globals: tuple[int, ...] = ()
    """Where a player's object is guessed: the globals that held it at the start."""
    said: str = ""
    """Where the memory cannot be read: a digest of what the story said last."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment of a game."""

    engine: EngineName
    seed: int
    progress: Progress
    state: bytes
    """The engine's own."""


@cache
def _dictionary() -> bytes:
    return (Path(__file__).parent / "engines" / "typical_states.bin").read_bytes()


def encode(snapshot: Snapshot, story: str) -> bytes:
    """Return the snapshot as bytes; `story` is the story's SHA-256."""
    head = {"story": story, "engine": snapshot.engine, "seed": snapshot.seed}
    text = json.dumps(head | asdict(snapshot.progress), separators=(",", ":")).encode()
    packer = zlib.compressobj(level=9, zdict=_dictionary())
    body = packer.compress(snapshot.state) + packer.flush()
    digest = sha256(text + body).digest()[:_DIGEST_SIZE]
    return b"\n".join((_FORMAT, text, digest + body))


def earlier_memory(data: bytes, image: StoryImage) -> bytes | None:
    """Return the dynamic memory in a snapshot of an earlier version; None where there is none."""
    kind, _, remainder = data.partition(b"\n")
    if kind != _EARLIER_FORMAT:
        return None
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(remainder.partition(b"\n")[2][_DIGEST_SIZE:], _STATE_BYTES)
    return image.difference(body[4 + int.from_bytes(body[:4], "big") :][: image.dynamic_size])


def decode(data: bytes, story: str, engine: EngineName) -> Snapshot:
    """Return the snapshot in these bytes, if it is one of this story and this engine.

    Raises: SnapshotError that says in one short line what is wrong.
    """
    data = data if isinstance(data, bytes | bytearray) else b""  # whatever else is no snapshot
    kind, _, remainder = data.partition(b"\n")
    if kind == _EARLIER_FORMAT:
        raise SnapshotError(
            "the game was played by an engine of an earlier version of this program: the episode "
            "can be read and replayed from its record, but not continued"
        )
    text, _, body = remainder.partition(b"\n")
    digest, compressed = body[:_DIGEST_SIZE], body[_DIGEST_SIZE:]
    if kind != _FORMAT:
        raise SnapshotError("this is not a snapshot of this version of the program")
    if sha256(text + compressed).digest()[:_DIGEST_SIZE] != digest:
        raise SnapshotError("the snapshot is damaged")
    try:
        head, progress = _checked(json.loads(text))
        unpacker = zlib.decompressobj(zdict=_dictionary())
        state = unpacker.decompress(compressed, _STATE_BYTES)
        if not unpacker.eof:
            raise ValueError("it is too large or incomplete")  # noqa: TRY301
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise SnapshotError(f"the snapshot is damaged: {str(error)[:_SHOWN]}") from error
    if head["story"] != story:
        raise SnapshotError(
            f"the snapshot is of another story (sha256 {head['story'][:12]}..., this one "
            f"{story[:12]}...); start the game with the story it was taken from"
        )
    if head["engine"] != engine:
        raise SnapshotError(
            f"the snapshot was taken with the engine {head['engine'][:_SHOWN]!r}, this game runs "
            f"in {engine!r}; choose the engine with which the episode began"
        )
    return Snapshot(engine, head["seed"], progress, state)


def _checked(head: dict[str, Any]) -> tuple[dict[str, Any], Progress]:
    """Return the head, which may come from anywhere, with its progress taken out."""
    died, ending, said = head.pop("died"), head.pop("ending"), head.pop("said")
    held = tuple(head.pop("player_globals"))
    are_globals = all(isinstance(it, int) and 0 <= it <= _LARGEST_GLOBAL for it in held)
    is_ending = ending in ("death", "victory", "other", None)
    if died not in (True, False, None) or not is_ending or not are_globals:
        raise ValueError("its progress cannot be read")
    if not all(isinstance(it, str) for it in (said, head["story"], head["engine"])):
        raise ValueError("it does not name its story and engine")
    if not isinstance(head["seed"], int) or not 0 <= head["seed"] <= MAX_SEED:
        raise ValueError("its seed is out of range")
    return head, Progress(died, ending, held, said)
