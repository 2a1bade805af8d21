"""What the host leaves to its guests: which stories, which level, which seed, how many games."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from game_interface import BUNDLED_STORY
from game_interface.catalogue import at_hand, known_games, story_folders
from mcp_ghost.text import counted, one_line
from session.configuration_file import ConfigurationError
from session.levels import ObservationLevel

NAME_CHARACTERS = 60
"""Of a name that a guest gives, where it is repeated."""
_LISTED_CHARACTERS = 300
_ALWAYS = ("zork1", "bundled")


class HostLimits(NamedTuple):
    """What the host has settled for every guest; None where the guest chooses."""

    story: str | None = None
    """The only one that is offered."""
    seed: int | None = None
    level: ObservationLevel | None = None
    """The most that is told."""
    games: int | None = None
    """How many may be begun in one run of the server."""
    folders: Sequence[Path] = ()
    """Where guests may choose any story file by its name."""

    def granted(
        self, story: str | None, seed: int | None, level: ObservationLevel | None, configured: str
    ) -> dict[str, object]:
        """Return the settings for a guest's wishes, where they differ from the configured ones.

        Raises:
            ConfigurationError: The story is not offered; the message says which ones are.
        """
        if self.level and not (level and self.level.reaches(level)):
            level = self.level
        settings = {
            "story": self._story_for(story, configured) if story is not None else None,
            "seed": seed if self.seed is None else self.seed,
            "observation_level": level,
        }
        return {name: it for name, it in settings.items() if it is not None}

    def _story_for(self, wished: str, configured: str) -> str:
        if wished in (configured, _name_of(configured)):
            return configured
        if self.story is not None:
            raise ConfigurationError(f"Only the story '{_name_of(self.story)}' is offered here.")
        if wished in (*_ALWAYS, BUNDLED_STORY, *known_games()):
            return wished
        files = self._files()
        if wished in files:
            return str(files[wished])
        asked = one_line(wished, NAME_CHARACTERS)
        known = at_hand(story_folders(user_cache_path("zorkgpt")))
        choice = one_line(", ".join([*_ALWAYS, *files, *known]), _LISTED_CHARACTERS)
        raise ConfigurationError(f"The story '{asked}' is not offered here: choose from {choice}.")

    def remark(self, seed: int | None, level: ObservationLevel | None) -> str:
        """Say which wishes of a guest were not fulfilled; empty where all were."""
        said = []
        if level and self.level and not self.level.reaches(level):
            said.append(f"The host limits the level to {self.level}.")
        if seed is not None and self.seed not in (None, seed):
            said.append(f"The host has set the seed to {self.seed}.")
        return " ".join(said)

    def described(self, configured: str) -> str:
        """Say all that a guest needs to know of them before it begins a game."""
        if self.story is not None:
            said = [f"The host offers only the story '{_name_of(self.story)}'."]
        else:
            files = one_line(", ".join(self._files()), _LISTED_CHARACTERS)
            own = f", a file of the host's ({files})" if files else ""
            said = [
                f"Stories are chosen by name: zork1, bundled, a known game such as curses{own}.",
                f"Without a name, '{_name_of(configured)}' is played.",
            ]
        if self.level:
            said.append(f"The host limits the level to {self.level}.")
        if self.seed is not None:
            said.append(f"The host has set the seed to {self.seed}.")
        if self.games is not None:
            said.append(f"The host allows {counted(self.games, 'new game')}.")
        return " ".join(said)

    def _files(self) -> dict[str, Path]:
        """Name -> file, of what lies in the folders and does not lead out of them."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            home = folder.resolve()
            for path in sorted(home.iterdir()):
                if path.is_file() and path.resolve().is_relative_to(home):
                    found.setdefault(path.name, path.resolve())
        return found


def _name_of(story: str) -> str:
    """Return the name of a story as guests are told it: of a path or an address, only the end."""
    return story if story.startswith("gym:") else Path(story.partition("?")[0]).name
