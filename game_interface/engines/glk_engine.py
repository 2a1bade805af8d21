"""The engines that are always there: bocfel for the Z-machine, and glulxe for Glulx.

Each command is a process of its own. It gets the story and the previous state as files in a folder
that is then removed, and the files that it leaves are the new state, if every check passes. An
interpreter that is given a damaged state silently begins the game again, so nothing is taken on
trust: not the state, not the echo, not the count of turns.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from game_interface.engines.engine import MAX_SEED, EngineName, Reply, without_prompt
from game_interface.engines.interpreter import Interpreter, find_interpreter
from game_interface.engines.remglk import (
    FATAL,
    GLULXE_FATAL,
    Above,
    Update,
    above,
    input_event,
    last_above,
    no_file_event,
    understood,
)
from game_interface.errors import EngineError, InvalidCommandError, SnapshotError
from game_interface.machine.facts import Waits
from game_interface.machine.quetzal import dynamic_memory, restorable
from stories.memory import StoryImage

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SIZE: Final = ("-width", "80", "-height", "24")
_BOCFEL: Final = (
    *("-singleturn", "-fm"),  # one command; no metrics are asked for
    *("-H", "-m", "-x", "-C", "-D"),  # no history, no commands of its own, no user's settings
    *("-u", "0"),  # no undo: it would double the state, and no episode offers it
    *("-n", "6", "-N", "F"),  # as Frotz, for the few stories that print it
    *_SIZE,
)
_GLULXE: Final = ("-singleturn", "-fm", *_SIZE, "--autosave", "--autodir", ".", "--undo", "1")
_MOST_RUNS: Final = 4
"""For one command: the story may ask for the name of a file, and is given none."""
_PLAIN_NAME: Final = re.compile(r"(?:\./)?[\w -]+(?:\.[\w-]+)*")
_OF_WINDOWS: Final = re.compile("(?:parent|pair_child1|pair_child2|pair_key|rootwin)?tag")
_OF_STREAMS: Final = re.compile("(?:stream|echostream|currentstr)tag")


@dataclass(frozen=True, slots=True)
class _State:
    """A moment between two commands; the files are empty before the first one."""

    seed: int
    turn: int = 0
    name: str = ""
    """Of the saved game, as the interpreter wants it."""
    waits_for: Waits | None = None
    window: int = 0
    longest: int = 0
    above: Above = field(default_factory=Above)
    saved: bytes = b""
    library: Mapping[str, Any] | None = None
    """RemGlk's own part."""

    @property
    def generation(self) -> int:
        """RemGlk's count of turns."""
        return int(self.library["generation"]) if self.library else 0

    def packed(self) -> bytes:
        """Return it as bytes: a line of JSON, the saved game, and RemGlk's part."""
        head = asdict(replace(self, saved=b"", library=None))
        head |= {"saved": "", "size": len(self.saved)}
        return _dumped(head) + b"\n" + self.saved + _dumped(self.library)


@cache
def _reader() -> "TypeAdapter[_State]":
    from pydantic import TypeAdapter  # slow to load, and needed where a snapshot is restored

    return TypeAdapter(_State)


def _unpacked(data: bytes) -> _State:
    """Return the state in these bytes, which may come from anywhere."""
    text, _, files = data.partition(b"\n")
    try:
        head = json.loads(text)
        size = int(head.pop("size"))
        state = _reader().validate_python(head)
        state = replace(state, saved=files[:size], library=json.loads(files[size:]))
        if state.library:
            _refuse_files(state.library)
            above(state.library, (), None)
        named = _PLAIN_NAME.fullmatch(state.name)
        if not (named and state.generation if state.library else not state.turn):
            raise ValueError("its state is missing or has an invalid name")  # noqa: TRY301
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EngineError) as error:
        raise SnapshotError(f"the snapshot is damaged: {error!r}") from error
    return state


class GlkEngine:
    """A story in bocfel, or in glulxe."""

    def __init__(
        self, image: StoryImage | None, file: bytes, seconds: float, own: str | None = None
    ) -> None:
        """Find the interpreter for a story: a Z-machine's `image`, or the `file` of a Glulx one.

        Raises: EngineUnavailableError.
        """
        self.name: EngineName = "bocfel" if image else "glulxe"
        self._image = image
        self._interpreter = Interpreter(find_interpreter(self.name, own), seconds)
        self._story = f"story.z{image.version}" if image else "story.ulx"
        self._file = image.data if image else file
        self._latest: tuple[bytes, _State] | None = None
        """What was given out last, so that it need not be taken apart again."""

    def start(self, seed: int) -> Reply:
        """Begin the story."""
        return self._reply(_State(seed), b"", None)

    def step(self, state: bytes, command: str) -> Reply:
        """Give the story a line or a key."""
        before = self._state(state)
        if before.waits_for is None:
            raise EngineError("the story is not waiting for input")
        if before.waits_for == "line":
            command = command if before.longest else ""  # some tests read nothing
            if len(command) > before.longest:
                raise InvalidCommandError(
                    f"the story takes at most {before.longest} characters here"
                )
            for character in command:
                if not (self._image.takes(character) if self._image else character.isprintable()):
                    raise InvalidCommandError(
                        f"the story does not accept the character {character!r}"
                    )
        event = input_event(before.generation, before.window, before.waits_for, command)
        return self._reply(before, event, command)

    def look(self, state: bytes) -> Reply:
        """Return the moment of a state, without a text."""
        then = self._state(state)
        return self._shown(then, state, "", then.above)

    def close(self) -> None:
        """Do nothing: nothing is held open."""

    def _state(self, data: bytes) -> _State:
        if self._latest is None or self._latest[0] is not data:
            self._latest = data, _unpacked(data)
        return self._latest[1]

    def _reply(self, before: _State, event: bytes, command: str | None) -> Reply:
        """Return what the story does at an event; `command` is None at the start."""
        state, text = before, ""
        for _ in range(_MOST_RUNS):
            update, files = self._run(state, event)
            if state is before and command is not None:
                # A story that did not go on from its state has silently begun again.
                repeats = self._image and before.waits_for == "line" and not update.was_cleared
                echo = update.echo or ""  # of an empty line there is none
                if update.generation != before.generation + 1 or (repeats and echo != command):
                    raise EngineError("the interpreter did not continue the game")
            text += update.text
            if update.ended:
                state = before
                break
            state = self._left(before, update, files)
            if not update.asks_for_file:
                break
            event = no_file_event(state.generation)
        if not update.ended and state.waits_for is None:
            raise EngineError("the story is waiting for neither a line nor a key")
        packed = state.packed()
        self._latest = packed, state
        reply = self._shown(state, packed, text, before.above, ended=update.ended)
        upper = last_above(update, before.above.status) if update.ended else ""
        return reply if upper in ("", before.above.upper) else replace(reply, upper=upper)

    def _shown(
        self, state: _State, packed: bytes, text: str, before: Above, *, ended: bool = False
    ) -> Reply:
        image = self._image if state.saved else None
        return Reply(
            text=without_prompt(text),
            state=packed,
            memory=dynamic_memory(state.saved, image) if image else None,
            upper="" if state.above.upper == before.upper else state.above.upper,
            status_line=" ".join(" ".join(state.above.status).split()),
            waits_for=state.waits_for or "line",
            ended=ended,
        )

    def _run(self, state: _State, event: bytes) -> tuple[Update, Mapping[str, bytes]]:
        files = {self._story: self._file}
        if state.library:
            name = state.name if self._image else f"{state.name}.glksave"
            files |= {name: state.saved, f"{state.name}.json": _dumped(state.library)}
        if self._image:  # its random numbers are not in its state: each turn has its own seed
            digest = sha256(f"{state.seed}:{state.turn}".encode()).digest()
            seed = 1 + int.from_bytes(digest[:4], "big") % (MAX_SEED - 1)
            arguments = [*_BOCFEL, "-z", str(seed)]
        elif state.library:
            arguments = [*_GLULXE, "--autorestore"]
        else:
            arguments = [*_GLULXE, "--rngseed", str(state.seed or MAX_SEED)]
        ran = self._interpreter.run([*arguments, self._story], files, event)
        update = understood(ran.output, state.library["windows"] if state.library else ())
        said, fatal = (update.messages, FATAL) if self._image else (update.text, GLULXE_FATAL)
        if fatal in said and update.ended:
            raise EngineError(f"the interpreter stopped: {said.partition(fatal)[2].strip()}")
        return update, ran.files

    def _left(self, before: _State, update: Update, files: Mapping[str, bytes]) -> _State:
        """Return the state in the files that a run left, if it is whole."""
        name = "autosave"
        if self._image:
            states = (it.removesuffix(".json") for it in files if it.startswith(f"{self._story}-"))
            name = next(states, name)
        saved = files.get(name if self._image else f"{name}.glksave", b"")
        tags: Mapping[int, int] = {}
        try:
            library = json.loads(files[f"{name}.json"])
            if not saved or library["generation"] != update.generation:
                raise EngineError("the interpreter saved the state of another turn")
            _refuse_files(library)
            for window in library["windows"]:
                if "buf_chars" in window:  # all that was printed, and is on no screen here
                    window |= {"buf_chars": "", "buf_specials": []}
                    window["buf_runs"] = [{"style": window["style"], "pos": 0}]
            if self._image:
                saved, tags = restorable(saved), _renumber(library)
            shown = above(library, before.above.status, update.waits_for)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EngineError(f"the interpreter did not save a usable state ({error!r})") from error
        return _State(
            before.seed,
            before.turn + 1,
            name,
            update.waits_for,
            tags.get(update.window, update.window),
            update.longest,
            shown,
            saved,
            library,
        )


def _refuse_files(library: Mapping[str, Any]) -> None:
    """Refuse a state in which a file outside the run's own folder would be opened."""
    for entry in (*library["streams"], *library["filerefs"]):
        for key in ("file_filename", "filename"):
            if key in entry and not _PLAIN_NAME.fullmatch(entry[key]):
                raise EngineError(f"the state names the file {entry[key]!r}")


def _renumber(library: dict[str, Any]) -> Mapping[int, int]:
    """Number windows and streams by their order, and give the new numbers of the windows.

    RemGlk's numbers depend on the clock, and would make each copy of a game differ.
    """
    windows, streams = library["windows"], library["streams"]
    tags, stream_tags = _numbered(windows), _numbered(streams)
    for entry in (library, *windows):
        for key, value in entry.items():
            if _OF_STREAMS.fullmatch(key):
                entry[key] = stream_tags[value]
            elif _OF_WINDOWS.fullmatch(key):
                entry[key] = tags[value]
    for stream in streams:
        stream["tag"] = stream_tags[stream["tag"]]
        if "win_tag" in stream:
            stream["win_tag"] = tags[stream["win_tag"]]
    return tags


def _numbered(entries: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    return {tag: 1 + place for place, tag in enumerate(sorted(it["tag"] for it in entries))}


def _dumped(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
