"""The games that the program knows by name: what their files are, and where to get them.

`stories/games.json` lists them with their profiles; the story files are not part of the program.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from game_interface.errors import StoryNotFoundError
from stories.container import MAX_STORY_BYTES
from stories.profile import GAMES_FILE, STORIES

STORIES_VARIABLE = "STORIES_DIR"


@dataclass(frozen=True, slots=True)
class KnownGame:
    """A game whose facts can be read, for one certain file of it."""

    name: str
    """Short, as on the command line."""
    title: str
    file: str
    sha256: str
    """Of the file as it is distributed."""
    image: str
    """SHA-256 of the image in it, without padding."""
    max_score: int | None
    """None: how its score is kept is not known."""
    jericho_seed: int
    """The dice for which the walkthrough in Jericho was made."""
    seed: int
    """The dice with which that walkthrough does best on the default engine, as far as is known."""
    needs_jericho: bool = False
    """Whether bocfel cannot play it to its end."""
    intro: tuple[str, ...] = ()
    """What that walkthrough takes to have been typed before its first command."""


@cache
def known_games() -> dict[str, KnownGame]:
    """Name -> game."""
    return {
        entry["name"]: KnownGame(
            **{it: entry[it] for it in ("name", "title", "file", "sha256")},
            image=entry["profile"]["sha256"],
            jericho_seed=entry["seed"],
            seed=entry.get("bocfel_seed", entry["seed"]),
            max_score=entry["profile"].get("max_score"),
            needs_jericho=entry.get("engine") == "jericho",
            intro=tuple(entry["intro"]),
        )
        for entry in _document()["games"]
    }


def game_of(image: str) -> KnownGame | None:
    """Return the known game whose image has this SHA-256."""
    return next((it for it in known_games().values() if it.image == image), None)


def addresses(file: str = "") -> list[str]:
    """List where a person gets a game's file, or all of them: public repositories."""
    return [
        f"https://github.com/{it['repository']} ({it['folder']}/{file})"
        for it in _document()["sources"]
    ]


@cache
def _document() -> dict[str, list[dict[str, Any]]]:
    document: dict[str, list[dict[str, Any]]] = json.loads((STORIES / GAMES_FILE).read_bytes())
    return document


def story_folders(cache_dir: Path) -> tuple[Path, ...]:
    """Return the folders of story files: the one that the environment names, and the cache."""
    given = os.environ.get(STORIES_VARIABLE)
    return (*([Path(given).expanduser()] if given else []), cache_dir)


def at_hand(folders: Sequence[Path]) -> dict[str, Path]:
    """Name -> file, of the known games with a file in these folders, whatever it is called."""
    by_hash = {game.sha256: name for name, game in known_games().items()}
    found: dict[str, Path] = {}
    for path in (path for it in folders if it.is_dir() for path in sorted(it.iterdir())):
        if path.is_file() and path.stat().st_size <= MAX_STORY_BYTES:
            name = by_hash.get(sha256(path.read_bytes()).hexdigest())
            if name is not None:
                found.setdefault(name, path)
    return found


def game_file(name: str, folders: Sequence[Path]) -> Path:
    """Return the file of a known game.

    Raises: StoryNotFoundError that says which file is wanted, and where to get it.
    """
    path = at_hand(folders).get(name)
    if path:
        return path
    game = known_games()[name]
    raise StoryNotFoundError(
        f"the story file of {game.title} is missing: get {game.file} (SHA-256 {game.sha256}) "
        f"from {' or '.join(addresses(game.file))}, and put it into {folders[-1]} or a folder that "
        f"{STORIES_VARIABLE} names"
    )
