"""Finding the story file: by name, by path, in the user's cache, or by download."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from game_interface.catalogue import MAX_STORY_BYTES, game_file, known_games, story_folders
from game_interface.download import ZORK1_SHA256, OnProgress, download_story
from game_interface.errors import StoryDownloadError, StoryFormatError, StoryNotFoundError
from game_interface.machine.memory import StoryImage
from game_interface.machine.profile import NO_PROFILE, STORIES, Profile, find_profile
from mcp_ghost.text import did_you_mean

BUNDLED_STORY = "weatherworks"
ZORK1_VARIABLE = "ZORK1_STORY"
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
    """What is known about a story before it is played."""

    name: str
    title: str
    path: Path
    """Of an environment, its name."""
    sha256: str
    """Of the image without padding."""
    release: int
    serial: str
    max_score: int | None
    profiled: bool
    """Whether a profile says what the story's memory means."""

    @property
    def place(self) -> str:
        """With which it can be opened from anywhere on this machine."""
        return str(self.path.resolve()) if self.path.is_file() else self.name


@dataclass(frozen=True, slots=True)
class Story:
    """A story file that has been read."""

    info: StoryInfo
    image: StoryImage
    profile: Profile
    """`NO_PROFILE` where there is none."""


def find_story(
    story: str | Path,
    *,
    cache_dir: Path | None,
    download_url: str,
    fallback: bool,
    on_notice: Notice,
    on_progress: OnProgress = lambda _label, _share: None,
) -> Story:
    """The story of that name ("zork1", "bundled" and its own, a known game's) or path.

    Raises: StoryNotFoundError, StoryFormatError, StoryDownloadError.
    """
    if story in ("bundled", BUNDLED_STORY):
        return _bundled()
    if story != "zork1":
        return _known_or_given(story, cache_dir)
    try:
        path = _zork1_path(cache_dir, download_url, on_notice, on_progress)
        return load_story(path, name="zork1")
    except (StoryNotFoundError, StoryFormatError, StoryDownloadError):
        if not fallback:
            raise
        on_notice(_FALLBACK)
        return _bundled()


def check_story(story: str) -> None:
    """Refuse what is not a story, or not at hand, before anything else is begun.

    Raises: StoryNotFoundError, StoryFormatError.
    """
    if story not in ("zork1", "bundled", BUNDLED_STORY):
        _known_or_given(story)


def _known_or_given(story: str | Path, cache_dir: Path | None = None) -> Story:
    cache_dir = cache_dir or user_cache_path("zorkgpt")
    path = Path(story).expanduser()
    if str(story) in known_games() and not path.exists():
        return load_story(game_file(str(story), story_folders(cache_dir)), name=str(story))
    return load_story(path)


def load_story(path: Path, *, name: str | None = None) -> Story:
    """Read a story file and look for its profile, with the program's own or beside the file.

    Raises: StoryNotFoundError, StoryFormatError.
    """
    try:
        image = StoryImage(_read(path))
    except OSError as error:
        meant = did_you_mean(str(path), ["zork1", "bundled", *known_games()])
        raise StoryNotFoundError(
            f"there is no story file at {path} ({error.strerror}); {_WHAT_TO_GIVE}"
            + (f" ({meant})" if meant else "")
        ) from error
    except StoryFormatError as error:
        raise StoryFormatError(f"{path} cannot be played: {error}") from error
    profile = find_profile(image.sha256, (STORIES, path.parent)) or NO_PROFILE
    info = StoryInfo(
        name=name or path.stem,
        title=profile.title or path.stem,
        path=path,
        sha256=image.sha256,
        release=image.header.release,
        serial=image.header.serial or "",
        max_score=profile.max_score,
        profiled=profile is not NO_PROFILE,
    )
    return Story(info, image, profile)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_STORY_BYTES)


def _bundled() -> Story:
    return load_story(STORIES / f"{BUNDLED_STORY}.z5", name=BUNDLED_STORY)


def _zork1_path(
    cache_dir: Path | None, download_url: str, on_notice: Notice, on_progress: OnProgress
) -> Path:
    given = os.environ.get(ZORK1_VARIABLE)
    if given:
        return _given_zork1(Path(given).expanduser())
    folder = cache_dir or user_cache_path("zorkgpt")
    for path in sorted(folder.glob("zork1*")):
        if path.is_file() and _is_zork1(path):
            return path
    target = folder / _ZORK1_FILE
    try:
        download_story(download_url, target, expected_sha256=ZORK1_SHA256, on_progress=on_progress)
    except StoryDownloadError as error:
        raise StoryDownloadError(
            f"{error}; put your own copy of Zork I (release 119 or 88) into {folder} "
            f"or name it in {ZORK1_VARIABLE}"
        ) from error
    on_notice(f"Zork I was downloaded from {download_url} to {target}")
    return target


def _given_zork1(path: Path) -> Path:
    if not path.is_file():
        raise StoryNotFoundError(f"{ZORK1_VARIABLE} names {path}, but there is no such file")
    if not _is_zork1(path):
        raise StoryFormatError(
            f"{ZORK1_VARIABLE} names {path}, which is not release 119 or 88 of Zork I"
        )
    return path


def _is_zork1(path: Path) -> bool:
    try:
        return StoryImage(_read(path)).sha256 in _ZORK1_HASHES
    except (OSError, StoryFormatError):
        return False
