"""An evaluation in its folder: what was agreed on, and what was played of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from evaluation.achievements.achievement import Achievements, shipped
from evaluation.agreement import kept_in
from evaluation.figures import EpisodeFigures
from evaluation.plan import PLAN_FILE, Cell, cells_of
from evaluation.provenance import provenance_of
from session.configuration_file import ConfigurationError


@dataclass(frozen=True)
class StoredEvaluation:
    """What an evaluation's folder holds."""

    folder: Path
    agreed: Mapping[str, Any]
    episodes: Mapping[Cell, EpisodeFigures]
    """All that were agreed on, those that were not played included."""
    achievements: Mapping[str, Achievements] = field(default_factory=dict)
    """By game, of those that have some."""

    @classmethod
    def read(cls, folder: Path, kind: type[EpisodeFigures] = EpisodeFigures) -> Self:
        """Read what is there now; ``kind`` is what its episodes are read as.

        Raises:
            ConfigurationError: There is no evaluation, or a file of achievements is wrong.
        """
        agreed = agreed_in(folder)
        games = stories_of(agreed)
        known = {}
        for game, story in games.items():
            kept = achievements_kept(folder, game)
            path = kept if kept.is_file() else shipped().get(story.get("sha256", ""))
            if path:
                known[game] = Achievements.read(path)
        episodes = {}
        for key in cells_of(agreed):
            episodes[key] = kind.read(folder / key.place, known.get(key.game))
            episodes[key].most = games[key.game].get("max_score")
        return cls(folder, agreed, episodes, known)

    @property
    def variants(self) -> list[str]:
        """The names of the variants, the one that the others are compared with first."""
        return list(self.agreed["variants"])

    @property
    def turns(self) -> int:
        """Turns of an episode at most."""
        return int(self.agreed["turns"])

    @property
    def games(self) -> dict[str, dict[str, Any]]:
        """What was played."""
        return stories_of(self.agreed)

    @property
    def max_score(self) -> int | None:
        """The most that the one game gives, if it says; of a suite, 100 percent."""
        return 100 if self.agreed.get("stories") else self.most_of("")

    def most_of(self, game: str) -> int | None:
        """The most that a game gives, if it says."""
        known = (it.max_score for key, it in self.episodes.items() if key.game == game)
        return next(filter(None, known), self.games[game].get("max_score"))

    def provenance(self) -> dict[str, Any]:
        """What the logs say together, ready for JSON."""
        games = {str(key): key.game for key in self.episodes}
        return provenance_of({str(key): it for key, it in self.episodes.items()}, games)

    def of(self, variant: str) -> dict[Cell, EpisodeFigures]:
        """The episodes of a variant."""
        return {key: it for key, it in self.episodes.items() if key.variant == variant}


def stories_of(agreed: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Name in the suite -> title and hash of each story; a single one has no name."""
    return dict(agreed.get("stories") or {"": agreed.get("story", {})})


def achievements_kept(folder: Path, game: str) -> Path:
    """Where an evaluation keeps a copy of those that were beside its story."""
    return folder / "achievements" / f"{game or 'story'}.tsv"


def agreed_in(folder: Path) -> dict[str, Any]:
    """What was agreed on for the evaluation in ``folder``.

    Raises:
        ConfigurationError: There is no evaluation.
    """
    if not (folder / PLAN_FILE).is_file():
        raise ConfigurationError(f"There is no evaluation in {folder}: {PLAN_FILE} is missing.")
    return kept_in(folder / PLAN_FILE)
