"""A moment of a game as bytes, small enough for every line of a log.

Layout: a line of text with format and version, a line of JSON that says whose snapshot it is, then
compressed: the interpreter's own state and the memory as difference from the story's first one.
"""

import json
import zlib
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from game_interface.engines.engine import EngineName, VmState
from game_interface.errors import SnapshotError
from game_interface.machine.facts import Ending
from game_interface.machine.memory import StoryImage

_FORMAT = b"zorkgpt-snapshot 1"
_DIGEST_SIZE = 8


@dataclass(frozen=True, slots=True)
class Progress:
    """What the game layer itself remembers from one step to the next."""

    died: bool | None = False
    """Whether a death happened in the last step; None where that is not known."""
    ending: Ending | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A moment of a game."""

    engine: EngineName
    seed: int
    progress: Progress
    vm: VmState


def encode(snapshot: Snapshot, image: StoryImage) -> bytes:
    """The snapshot as bytes."""
    head = {"story": image.sha256, "engine": snapshot.engine, "seed": snapshot.seed}
    head |= asdict(snapshot.progress)
    rest, difference = snapshot.vm.rest, _difference(snapshot.vm.ram, image)
    body = zlib.compress(len(rest).to_bytes(4, "big") + rest + difference, level=9)
    text = json.dumps(head, separators=(",", ":")).encode()
    digest = sha256(text + body).digest()[:_DIGEST_SIZE]
    return b"\n".join((_FORMAT, text, digest + body))


def decode(data: bytes, image: StoryImage, engine: EngineName) -> Snapshot:
    """The snapshot in these bytes, if it is one of this story and this engine.

    Raises: SnapshotError that says what is wrong.
    """
    head, body = _checked_parts(data)
    if head["story"] != image.sha256:
        raise SnapshotError(
            f"the snapshot is of another story (sha256 {head['story'][:12]}..., "
            f"this one {image.sha256[:12]}...); start the game with the story it was taken from"
        )
    if head["engine"] != engine:
        raise SnapshotError(
            f"the snapshot was taken with the engine {head['engine']!r}, this game runs in "
            f"{engine!r}; open the game with engine={head['engine']!r}"
        )
    size = int.from_bytes(body[:4], "big")
    vm = VmState(ram=_difference(body[4 + size :], image), rest=body[4 : 4 + size])
    progress = Progress(head["died"], head["ending"])
    return Snapshot(head["engine"], head["seed"], progress, vm)


def _checked_parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    kind, _, remainder = data.partition(b"\n")
    if kind != _FORMAT:
        raise SnapshotError("this is not a snapshot of this version of the program")
    text, _, body = remainder.partition(b"\n")
    digest, compressed = body[:_DIGEST_SIZE], body[_DIGEST_SIZE:]
    if sha256(text + compressed).digest()[:_DIGEST_SIZE] != digest:
        raise SnapshotError("the snapshot is damaged")
    return json.loads(text), zlib.decompress(compressed)


def _difference(ram: bytes, image: StoryImage) -> bytes:
    """The memory XOR the story's first one: nearly all zeros, and its own inverse."""
    size = len(ram)
    first = int.from_bytes(image.data[:size], "big")
    return (int.from_bytes(ram, "big") ^ first).to_bytes(size, "big")
