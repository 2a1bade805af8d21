"""Finding the story: by name, by path, by address, in the user's cache, or by download."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

from platformdirs import user_cache_path

from game_interface.catalogue import game_file, known_games, story_folders
from game_interface.errors import StoryDownloadError, StoryFormatError, StoryNotFoundError
from mcp_ghost.files import open_regular
from mcp_ghost.text import did_you_mean, one_line
from stories.container import MAX_STORY_BYTES, open_story_file
from stories.download import (
    ZORK1_SHA256,
    ZORK1_URL,
    OnProgress,
    download_story,
    fetched_story,
    is_address,
)
from stories.memory import StoryImage
from stories.profile import NO_PROFILE, STORIES, Profile, find_profile

BUNDLED_STORY = "weatherworks"
ZORK1_VARIABLE = "ZORK1_STORY"
ENVIRONMENT = "gym:"
"""Before the id of a Gymnasium environment, where a story is named."""
_SHOWN = 200
"""Characters of a path: a log that was edited may name anything."""
_WHAT_TO_GIVE = "give a path, 'zork1', 'bundled', or the name of a game that `main.py games` lists"
_FALLBACK = (
    "Zork I is not available, so the bundled story is played instead. "
    f"To play Zork I, connect to the internet once, or set {ZORK1_VARIABLE} to your copy."
)
_ZORK1_FILE = "zork1-r119.z3"
_ZORK1_HASHES = (
    ZORK1_SHA256,  # release 119
    "158f1f63b1302591bbce30e1ec23b17909d2a66e39403ed14593a75280b1e7f9",  # release 88
)

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StoryInfo:
    """Name, title, hash and other figures of a story, before it is played."""

    name: str
    title: str
    path: Path
    """Of an environment, its name."""
    sha256: str
    """Of the story without padding, as a profile names it."""
    release: int = 0
    serial: str = ""
    max_score: int | None = None
    profiled: bool = False
    """Whether a profile says what the story's memory means."""
    address: str = ""
    """Where it was fetched from, if it was."""

    @property
    def place(self) -> str:
        """With which it can be opened from anywhere on this machine."""
        return str(self.path.resolve()) if self.path.is_file() else self.name


@dataclass(frozen=True, slots=True)
class Story:
    """A story file that has been read."""

    info: StoryInfo
    file: bytes
    """What its interpreter is given; empty of an environment."""
    image: StoryImage | None
    """None of a Glulx story, whose memory is not read."""
    profile: Profile
    """`NO_PROFILE` where there is none."""

    def require_image(self, who: str) -> StoryImage:
        """Return the image of a Z-machine story.

        Raises: StoryFormatError that says who needs one.
        """
        if self.image is None:
            raise StoryFormatError(f"{self.info.path} is a Glulx story, which {who} cannot use")
        return self.image


def find_story(
    story: str | Path,
    *,
    cache_dir: Path | None = None,
    download_url: str = ZORK1_URL,
    fallback: bool = False,
    on_notice: Notice = lambda _line: None,
    on_progress: OnProgress = lambda _label, _share: None,
) -> Story:
    """Find a story by name ("zork1", "bundled", a known game's), path or address.

    Raises: StoryNotFoundError, StoryFormatError, StoryDownloadError.
    """
    if story in ("bundled", BUNDLED_STORY):
        return _bundled()
    if str(story).startswith(ENVIRONMENT):
        name = str(story)
        digest = sha256(name.encode()).hexdigest()
        info = StoryInfo(name, name.removeprefix(ENVIRONMENT), Path(name), digest)
        return Story(info, b"", None, NO_PROFILE)
    cache_dir = cache_dir or user_cache_path("zorkgpt")
    if is_address(str(story)):
        path = fetched_story(str(story), cache_dir / "stories", on_progress)
        return load_story(path, name=path.stem, address=str(story))
    if str(story) in known_games() and story != "zork1":  # a file of that name is ./NAME
        return load_story(game_file(str(story), story_folders(cache_dir)), name=str(story))
    if story != "zork1":
        return load_story(Path(story))
    try:
        path = _zork1_path(cache_dir, download_url, on_notice, on_progress)
        return load_story(path, name="zork1")
    except (StoryNotFoundError, StoryFormatError, StoryDownloadError):
        if not fallback:
            raise
        on_notice(_FALLBACK)
        return _bundled()


def load_story(path: Path, *, name: str | None = None, address: str = "") -> Story:
    """Read a story file and look for its profile, with the program's own or beside the file.

    Raises: StoryNotFoundError, StoryFormatError.
    """
    try:
        path = path.expanduser()
        program = open_story_file(_read(path))
        image = None if program.is_glulx else _image(program.data)
    except (OSError, ValueError, RuntimeError) as error:  # the latter two: no path can be like this
        why = error.strerror if isinstance(error, OSError) else error
        meant = did_you_mean(str(path), ["zork1", "bundled", *known_games()])
        raise StoryNotFoundError(
            f"there is no story file at {one_line(path, _SHOWN)} ({why}); "
            f"{_WHAT_TO_GIVE}" + (f" ({meant})" if meant else "")
        ) from error
    except StoryFormatError as error:
        raise StoryFormatError(f"{one_line(path, _SHOWN)} cannot be played: {error}") from error
    digest = image.sha256 if image else sha256(program.data).hexdigest()
    profile = find_profile(digest, (STORIES, path.parent)) if image else None
    info = StoryInfo(
        name=name or path.stem,
        title=(profile and profile.title) or Path(urlsplit(address).path).stem or path.stem,
        path=path,
        sha256=digest,
        release=image.release if image else 0,
        serial=image.serial if image else "",
        max_score=profile.max_score if profile else None,
        profiled=profile is not None,
        address=address,
    )
    return Story(info, program.file, image, profile or NO_PROFILE)


@lru_cache(maxsize=4)  # the words of a story are read once by a process that plays it often
def _image(data: bytes) -> StoryImage:
    return StoryImage(data)


def _read(path: Path) -> bytes:
    with os.fdopen(open_regular(path, follow=True), "rb") as file:
        data = file.read(MAX_STORY_BYTES + 1)
    if len(data) > MAX_STORY_BYTES:
        raise StoryFormatError(f"it has more than {MAX_STORY_BYTES >> 20} MiB")
    return data


def _bundled() -> Story:
    return load_story(STORIES / f"{BUNDLED_STORY}.z5", name=BUNDLED_STORY)


def _zork1_path(
    cache_dir: Path, download_url: str, on_notice: Notice, on_progress: OnProgress
) -> Path:
    if given := os.environ.get(ZORK1_VARIABLE):
        path = Path(given).expanduser()
        if not path.is_file():
            raise StoryNotFoundError(f"{ZORK1_VARIABLE} names {path}, but there is no such file")
        if not _is_zork1(path):
            raise StoryFormatError(
                f"{ZORK1_VARIABLE} names {path}, which is not release 119 or 88 of Zork I"
            )
        return path
    for path in sorted(cache_dir.glob("zork1*")):
        if path.is_file() and _is_zork1(path):
            return path
    target = cache_dir / _ZORK1_FILE
    try:
        download_story(download_url, target, expected_sha256=ZORK1_SHA256, on_progress=on_progress)
    except StoryDownloadError as error:
        raise StoryDownloadError(
            f"{error}; put your own copy of Zork I (release 119 or 88) into {cache_dir} "
            f"or name it in {ZORK1_VARIABLE}"
        ) from error
    on_notice(f"Zork I was downloaded from {download_url} to {target}")
    return target


def _is_zork1(path: Path) -> bool:
    try:
        return StoryImage(_read(path)).sha256 in _ZORK1_HASHES
    except (OSError, StoryFormatError):
        return False
