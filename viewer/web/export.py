"""A static site of episodes: the page and the same data, as files for any web host."""

import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from session.game_configuration import ConfigurationError
from viewer.episode import Episode
from viewer.experiments.curves import FIGURES, GROUPINGS
from viewer.library import Library
from viewer.web.site import STATIC, curves_data, episode_data, episode_paths, index_data, page

_OURS = b'name="zorkgpt-mode"'
"""What tells our page from others."""


def export_site(
    library: Library,
    episodes: Sequence[Episode],
    folder: Path,
    *,
    force: bool = False,
    prompts: bool = False,
) -> int:
    """Write the site into ``folder`` and nowhere else; the number of files.

    With ``prompts``, what models were asked and what they answered is there, too.

    Raises:
        ConfigurationError: The folder holds something else.
        OSError: A file cannot be written.
    """
    _make_room(folder, force=force)
    count = 0
    for path, data in _files(library, episodes, prompts=prompts):
        file = folder / path
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ConfigurationError(f"{file} leads out of {folder}: nothing is written there.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        count += 1
    return count


def _make_room(folder: Path, *, force: bool) -> None:
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigurationError(f"{folder} is not a folder.")
    index = folder / "index.html"
    if index.is_file() and _OURS in index.read_bytes():  # an earlier export
        # Episodes that are left out now must not stay there.
        for name in ("data", "static", "curves"):
            if (folder / name).is_dir():
                shutil.rmtree(folder / name)
    elif any(folder.iterdir()) and not force:
        raise ConfigurationError(
            f"{folder} is neither empty nor an earlier export: name an empty folder, or add "
            "--force to write there anyway."
        )


def _files(
    library: Library, episodes: Sequence[Episode], *, prompts: bool
) -> Iterator[tuple[str, bytes]]:
    """Paths and contents; the page comes first, by which an unfinished export is known later."""
    yield "index.html", page("static")
    for file in sorted(STATIC.rglob("*")):
        if file.is_file():
            yield f"static/{file.relative_to(STATIC).as_posix()}", file.read_bytes()
    for episode in episodes:
        episode.refresh()  # of some, only the summary may be known
        for path in episode_paths(episode, prompts=prompts):
            data = episode_data(episode, path)
            if data is not None:
                yield f"data/{episode.id}/{path}", data
    for by, figure in itertools.product(GROUPINGS, FIGURES):
        yield f"curves/{by}/{figure}.json", curves_data(episodes, by, figure)
    yield "data/episodes.json", index_data(library, episodes)
