"""An evaluation in its folder: what was agreed on, and what was played of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from evaluation.agreement import kept_in
from evaluation.figures import EpisodeFigures
from evaluation.plan import PLAN_FILE, Key
from evaluation.provenance import provenance_of
from session.configuration_file import ConfigurationError


@dataclass(frozen=True)
class StoredEvaluation:
    """What an evaluation's folder holds."""

    folder: Path
    agreed: Mapping[str, Any]
    episodes: Mapping[Key, EpisodeFigures]
    """All that were agreed on, those that were not played included."""

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read what is there now.

        Raises:
            ConfigurationError: There is no evaluation.
        """
        agreed = agreed_in(folder)
        episodes = {key: EpisodeFigures.read(folder / key.place) for key in keys_of(agreed)}
        return cls(folder, agreed, episodes)

    @property
    def variants(self) -> list[str]:
        """The names of the variants, the one that the others are compared with first."""
        return list(self.agreed["variants"])

    @property
    def turns(self) -> int:
        """Turns of an episode at most."""
        return int(self.agreed["turns"])

    @property
    def max_score(self) -> int | None:
        """The most that the game gives, if it says."""
        return next((it.max_score for it in self.episodes.values() if it.max_score), None)

    def provenance(self) -> dict[str, Any]:
        """What the logs say together, ready for JSON."""
        return provenance_of({str(key): it.provenance for key, it in self.episodes.items()})

    def of(self, variant: str) -> dict[Key, EpisodeFigures]:
        """The episodes of a variant."""
        return {key: it for key, it in self.episodes.items() if key.variant == variant}


def agreed_in(folder: Path) -> dict[str, Any]:
    """What was agreed on for the evaluation in ``folder``.

    Raises:
        ConfigurationError: There is no evaluation.
    """
    if not (folder / PLAN_FILE).is_file():
        raise ConfigurationError(f"There is no evaluation in {folder}: {PLAN_FILE} is missing.")
    return kept_in(folder / PLAN_FILE)


def keys_of(agreed: Mapping[str, Any]) -> Iterator[Key]:
    """Every episode that was agreed on, as the tables list them."""
    for variant in agreed["variants"]:
        for seed in agreed["seeds"]:
            for number in range(1, agreed["episodes"] + 1):
                yield Key(variant, seed, number)
