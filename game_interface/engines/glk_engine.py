"""The engines that are always there: bocfel for the Z-machine, and glulxe for Glulx.

Each command is a process of its own. It gets the story and the state of before as files in a folder
that is then removed, and the files that it leaves are the new state, if everything about them is
right. An interpreter that is given a damaged state begins the game anew and says nothing, so
nothing is taken on trust: not the state, not the echo, not the count of turns.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from game_interface.engines.engine import MAX_SEED, EngineName, Reply, without_prompt
from game_interface.engines.interpreter import Interpreter, find_interpreter
from game_interface.engines.remglk import (
    FATAL,
    KEYS,
    Screen,
    Told,
    line_event,
    no_file_event,
    understood,
)
from game_interface.errors import EngineError, InvalidCommandError, SnapshotError
from game_interface.machine.memory import StoryImage
from game_interface.machine.quetzal import dynamic_memory, without_history

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_SIZE: Final = ("-width", "80", "-height", "24")
_BOCFEL: Final = (
    *("-singleturn", "-fm"),  # one command; no metrics are asked for
    *("-H", "-m", "-x", "-C", "-D"),  # no history, no commands of its own, no user's settings
    *("-u", "0"),  # no undo, which would double a state: it is not to be had in an episode
    *("-n", "6", "-N", "F"),  # as Frotz, for the few stories that print it
    *_SIZE,
)
_GLULXE: Final = ("-singleturn", "-fm", *_SIZE, "--autosave", "--autodir", ".", "--undo", "1")
_MOST_RUNS: Final = 4
"""For one command: the story may ask for the name of a file, which it does not get."""
_PLAIN_NAME: Final = re.compile(r"(?:\./)?[\w -]+(?:\.[\w-]+)*")
_TAGS: Final = frozenset(
    ("tag", "parenttag", "pair_child1tag", "pair_child2tag", "pair_keytag", "rootwintag", "win_tag")
)
_STREAM_TAGS: Final = frozenset(("streamtag", "echostreamtag", "currentstrtag"))
_FIRST_TAG, _FIRST_STREAM_TAG = 16, 32
_SPACING: Final = ("outspacing", "inspacing", "gridmargin", "buffermargin", "graphicsmargin")
_LIBRARY: Final[Mapping[str, Any]] = {
    "type": "autosave",
    "version": 1,
    "metrics": {
        "width": 80.0,
        "height": 24.0,
        **{f"{name}{axis}": 0.0 for name in _SPACING for axis in "xy"},
        **{f"{kind}char{side}": 1.0 for kind in ("grid", "buffer") for side in ("width", "height")},
    },
    "supportcaps": [],
    "filerefs": [],
}
"""What RemGlk writes of every game."""
_REQUESTS: Final = (
    *("line_request", "line_request_uni", "char_request", "char_request_uni"),
    *("hyperlink_request", "mouse_request"),
)
_PART: Final[Mapping[str, Any]] = {
    **dict.fromkeys((*_REQUESTS, "terminate_line_input", "style", "hyperlink"), 0),
    **dict.fromkeys(("rock", "unicode", "readable", "readcount"), 0),
    "writable": 1,
}
"""And of most windows or streams; what belongs to the other kind is not read."""


@dataclass(frozen=True, slots=True)
class _State:
    """A moment between two commands."""

    seed: int
    turn: int
    screen: Screen
    name: str
    """Of the file, as the interpreter wants it."""
    saved: bytes
    library: dict[str, Any]
    """RemGlk's own part."""

    def packed(self) -> bytes:
        """As bytes: a line of JSON, and the two files."""
        head = asdict(replace(self, library={})) | {"saved": "", "size": len(self.saved)}
        library = _without_defaults(self.library)
        return _dumped(head) + b"\n" + self.saved + _dumped(library)


@cache
def _reader() -> "TypeAdapter[_State]":
    from pydantic import TypeAdapter  # slow to load, and needed where a snapshot is restored

    return TypeAdapter(_State)


def _unpacked(data: bytes) -> _State:
    """The state in these bytes, which may come from anywhere.

    Raises: SnapshotError when they hold none.
    """
    text, _, files = data.partition(b"\n")
    try:
        head = json.loads(text)
        size = int(head.pop("size"))
        state = _reader().validate_python(head)
        library = _with_defaults(json.loads(files[size:]))
        state = replace(state, saved=files[:size], library=library)
        if not (_PLAIN_NAME.fullmatch(state.name) if state.saved else state.turn == 0):
            raise ValueError("it holds no state, or one with a strange name")  # noqa: TRY301
        _refuse_files(library)
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
        first = _State(seed, 0, Screen(), "", b"", {})
        return self._reply(first, b"", None)

    def step(self, state: bytes, command: str) -> Reply:
        """Give the story a line or a key."""
        before = self._state(state)
        screen = before.screen
        if screen.waits_for == "line" and len(command) > screen.longest:
            raise InvalidCommandError(f"the story takes at most {screen.longest} characters here")
        for character in "" if command in KEYS else command:
            if not (self._image.takes(character) if self._image else character.isprintable()):
                raise InvalidCommandError(f"the story does not know the character {character!r}")
        return self._reply(before, line_event(screen, command), command)

    def look(self, state: bytes) -> Reply:
        """The moment that this state is."""
        then = self._state(state)
        return Reply(
            text="",
            state=state,
            memory=self._memory(then.saved),
            status_line=then.screen.status_line,
            waits_for=then.screen.waits_for or "line",
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _state(self, data: bytes) -> _State:
        if self._latest is None or self._latest[0] is not data:
            self._latest = data, _unpacked(data)
        return self._latest[1]

    def _memory(self, saved: bytes) -> bytes | None:
        """None of a Glulx story, and of one that ended before it asked for anything."""
        image = self._image
        return dynamic_memory(saved, image.data, image.dynamic_size) if image and saved else None

    def _reply(self, before: _State, event: bytes, command: str | None) -> Reply:
        """What the story does at an event; `command` is None at the start."""
        state, text, old_upper = before, "", before.screen.upper
        for _ in range(_MOST_RUNS):
            told, files = self._run(state, event)
            if state is before and command is not None:
                self._check_continuity(before.screen, told, command)
            text += told.text
            if told.ended:
                break
            state = self._left(before, told.screen, files)
            if not told.asks_for_file:
                break
            event = no_file_event(told.screen)
        screen = told.screen
        if not told.ended:
            if screen.waits_for is None:
                raise EngineError("the story waits for nothing that it can be given")
            before = state
        packed = before.packed()
        self._latest = packed, before
        return Reply(
            text=_whole_characters(without_prompt(text)),
            state=packed,
            memory=self._memory(before.saved),
            upper="" if screen.upper == old_upper else _whole_characters(screen.upper),
            status_line=_whole_characters(screen.status_line),
            waits_for=screen.waits_for or "line",
            ended=told.ended,
        )

    def _run(self, state: _State, event: bytes) -> tuple[Told, Mapping[str, bytes]]:
        files = {self._story: self._file}
        if state.saved:
            name = state.name if self._image else f"{state.name}.glksave"
            files |= {name: state.saved, f"{state.name}.json": _dumped(state.library)}
        ran = self._interpreter.run([*self._arguments(state), self._story], files, event)
        told = understood(ran.output, state.screen)
        if FATAL in told.messages:
            raise EngineError(f"the interpreter stopped: {told.messages.partition(FATAL)[2]}")
        return told, ran.files

    def _arguments(self, before: _State) -> list[str]:
        """Bocfel's random numbers are not in its state, so each turn has a seed of its own."""
        if self._image:
            digest = sha256(f"{before.seed}:{before.turn}".encode()).digest()
            return [*_BOCFEL, "-z", str(1 + int.from_bytes(digest[:4], "big") % (MAX_SEED - 1))]
        if before.saved:
            return [*_GLULXE, "--autorestore"]
        return [*_GLULXE, "--rngseed", str(before.seed or MAX_SEED)]

    def _check_continuity(self, asked: Screen, told: Told, command: str) -> None:
        """Whether the story went on from its state, rather than begin anew without a word."""
        repeats = self._image is not None and asked.waits_for == "line" and not told.was_cleared
        goes_on = told.screen.generation == asked.generation + 1
        if not goes_on or (repeats and told.echo != command):
            raise EngineError("the interpreter did not continue the game")

    def _left(self, before: _State, screen: Screen, files: Mapping[str, bytes]) -> _State:
        """The state in the files that a run left.

        Raises: EngineError when it is not whole.
        """
        name = "autosave"
        if self._image:
            states = (it.removesuffix(".json") for it in files if it.startswith(f"{self._story}-"))
            name = next(states, name)
        saved = files.get(name if self._image else f"{name}.glksave", b"")
        try:
            library = json.loads(files[f"{name}.json"])
            if not saved or library["generation"] != screen.generation:
                raise EngineError("the interpreter left a state of another turn")
            _refuse_files(library)
            tags = _shorten(library, new_tags=self._image is not None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EngineError(f"the interpreter left no state ({error!r})") from error
        return _State(
            before.seed,
            before.turn + 1,
            screen.renumbered(tags),
            name,
            without_history(saved) if self._image else saved,
            library,
        )


def _without_defaults(library: Mapping[str, Any]) -> dict[str, Any]:
    """Less what nearly every state has: half of a snapshot would be that."""
    short = _differing(library, _LIBRARY)
    for name in ("windows", "streams"):
        short[name] = [_differing(it, _PART) for it in library.get(name, ())]
    return short


def _with_defaults(short: Mapping[str, Any]) -> dict[str, Any]:
    library: dict[str, Any] = {**_LIBRARY, **short}
    for name in ("windows", "streams"):
        library[name] = [{**_PART, **it} for it in short[name]]
    return library


def _differing(entry: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    return {key: it for key, it in entry.items() if key not in usual or usual[key] != it}


def _dumped(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _refuse_files(library: Mapping[str, Any]) -> None:
    """Refuse a state in which a file outside the run's own folder would be opened.

    Raises: EngineError.
    """
    for entry in (*library["streams"], *library["filerefs"]):
        for key in ("file_filename", "filename"):
            if key in entry and not _PLAIN_NAME.fullmatch(entry[key]):
                raise EngineError(f"the state names the file {entry[key]!r}")


def _shorten(library: dict[str, Any], *, new_tags: bool) -> dict[int, int]:
    """Leave out what was printed, and number windows and streams by their order.

    RemGlk's numbers depend on the clock, and would make each copy of a game another one.
    """
    windows, streams = library["windows"], library["streams"]
    for window in windows:
        if "buf_chars" in window:
            window["buf_chars"], window["buf_specials"] = "", []
            window["buf_runs"] = [{"style": window["style"], "pos": 0}]
    if not new_tags:
        return {}
    tags = _numbered(windows, _FIRST_TAG)
    stream_tags = _numbered(streams, _FIRST_STREAM_TAG)
    for entry in (library, *windows, *streams):
        of_stream = entry in streams
        for key in entry.keys() & (_TAGS | _STREAM_TAGS):
            known = stream_tags if key in _STREAM_TAGS or (of_stream and key == "tag") else tags
            entry[key] = known[entry[key]]
    return tags


def _numbered(entries: Sequence[Mapping[str, Any]], first: int) -> dict[int, int]:
    return {tag: first + place for place, tag in enumerate(sorted(it["tag"] for it in entries))}


def _whole_characters(text: str) -> str:
    """With question marks for half a character, which a story can print."""
    return text.encode("utf-8", "replace").decode()
