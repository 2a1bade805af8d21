"""A suite: the games of one evaluation, by name and hash, wherever their files are."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from game_interface import StoryInfo
from game_interface.catalogue import addresses, known_games
from game_interface.errors import StoryFormatError, StoryNotFoundError
from game_interface.story import find_story, load_story
from mcp_ghost.files import read_regular
from mcp_ghost.text import did_you_mean, one_line
from session.configuration_file import ConfigurationError, problems_of

SHIPPED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
_SUFFIXES = re.compile(r"\.(z[1-8]|zblorb|zlb|ulx|gblorb|glb|blorb|blb)", re.IGNORECASE)
"""Of story files; other files in a folder are none of the suite's."""
_UNSAFE = re.compile(r"[^\w.-]+")


class SuiteGame(BaseModel):
    """A game of a suite."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[\w-][\w.-]*$")
    """Short; the name of its folder in an evaluation."""
    title: str = ""
    sha256: str = Field("", pattern="^([0-9a-f]{64})?$")
    """Of the image without padding; empty only where ``file`` is given."""
    max_score: int | None = None
    """The most that it gives, where its memory does not tell."""
    at: str = ""
    """Where its file is had, for people."""
    file: Path | None = None
    """Its file, from the folder of the suite's; None: any file with that hash."""


class Suite(BaseModel):
    """What a suite's file says, and the hash of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    sha256: str
    about: str = ""
    """In a sentence."""
    protocol: str = ""
    """By which it is played unless another one is asked for."""
    at: str = ""
    """Where the files are had, where a game does not say."""
    games: tuple[SuiteGame, ...] = Field(min_length=1)

    @field_validator("games", mode="before")
    @classmethod
    def _with_known(cls, games: object) -> object:
        """Fill in what the program knows of a game that is listed by its name alone."""
        if not isinstance(games, list | tuple):
            return games
        return [_known(it) if isinstance(it, str) else it for it in games]

    @field_validator("games")
    @classmethod
    def _each_once(cls, games: tuple[SuiteGame, ...]) -> tuple[SuiteGame, ...]:
        names = [it.name for it in games]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"listed twice: {', '.join(twice)}")
        return games

    @classmethod
    def read(cls, name: str) -> Self:
        """Read one of ``SHIPPED``, the one in a file of that path, or the stories in a folder.

        Raises:
            ConfigurationError: There is none, or it is not a suite.
        """
        path = SHIPPED.get(name) or Path(name).expanduser()
        try:
            if path.is_dir():
                return cls.model_validate(_of_folder(path))
            data = read_regular(path)
            listed = tomllib.loads(data.decode("utf-8"))
            named = {"name": path.stem, "sha256": sha256(data).hexdigest()}
            suite = cls.model_validate({**listed, **named})
        except OSError as error:
            hint = did_you_mean(name, SHIPPED) or f"choose from {', '.join(SHIPPED)}."
            raise ConfigurationError(
                f"There is no suite '{name}' ({error.strerror}): {hint} "
                "Or give a file's path, or a folder of story files."
            ) from error
        except ValidationError as error:
            raise ConfigurationError(f"The suite {path}: {one_line(problems_of(error))}") from error
        except ValueError as error:  # no TOML, or no UTF-8
            raise ConfigurationError(f"The suite {path} cannot be read: {error}") from error
        games = tuple(
            it.model_copy(update={"file": path.parent / it.file}) if it.file else it
            for it in suite.games
        )
        return suite.model_copy(update={"games": games})

    def find(self, folders: Sequence[Path]) -> tuple[dict[str, StoryInfo], list[str]]:
        """Find the games' files: name -> story, and a line for each that cannot be played."""
        wanted = {it.sha256 for it in self.games if not it.file}
        found_there = (it for folder in folders for it in _stories(folder)) if wanted else ()
        there = {it.sha256: it for it in (find_story("bundled").info, *found_there)}
        found: dict[str, StoryInfo] = {}
        missing = []
        for game in self.games:
            try:
                story = load_story(game.file).info if game.file else there.get(game.sha256)
            except (StoryFormatError, StoryNotFoundError) as error:
                missing.append(f"{game.name}: {error}")
                continue
            if story is None:
                where = game.at or self.at or "nobody says where"
                missing.append(f"{game.name}: SHA-256 {game.sha256}, from {where}")
            elif game.sha256 and story.sha256 != game.sha256:
                missing.append(f"{game.name}: {story.path} is another file, SHA-256 {story.sha256}")
            else:
                title = story.title if story.profiled else game.title or game.name
                most = story.max_score or game.max_score
                found[game.name] = replace(story, title=title, max_score=most)
        return found, missing


def _known(name: str) -> Mapping[str, Any]:
    game = known_games().get(name)
    if game is None:
        hint = did_you_mean(name, known_games()) or "`main.py games` lists those that are known"
        raise ValueError(f"there is no known game '{name}' ({hint})")
    at = " or ".join(addresses(game.file))
    return {"name": name, "title": game.title, "sha256": game.image, "at": at}


def _of_folder(folder: Path) -> dict[str, Any]:
    """List the story files of a folder, each story once."""
    stories = [it for it in sorted(folder.iterdir()) if _SUFFIXES.fullmatch(it.suffix)]
    files = [it for it in stories if it.is_file()]
    if not files:
        raise ConfigurationError(f"There is no story file in {folder}.")
    stems = [it.stem for it in files]
    games, seen = [], set()
    for file in files:
        data = sha256(file.read_bytes()).hexdigest()
        if data not in seen:
            name = file.stem if stems.count(file.stem) == 1 else file.name
            games.append({"name": _UNSAFE.sub("-", name).lstrip("."), "file": file.resolve()})
            seen.add(data)
    listed = "\n".join(sorted(seen)).encode()
    return {"name": folder.resolve().name, "sha256": sha256(listed).hexdigest(), "games": games}


def _stories(folder: Path) -> Iterator[StoryInfo]:
    for path in sorted(folder.iterdir(), reverse=True) if folder.is_dir() else ():
        if _SUFFIXES.fullmatch(path.suffix):
            try:
                yield load_story(path).info
            except (StoryFormatError, StoryNotFoundError):
                continue
