"""A protocol: a file that pins every setting that decides a figure.

It has the sections of ``pyproject.toml`` and ``[evaluation]``, which says what is played.
"""

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError

from evaluation.agreement import SECRET
from evaluation.suites.suite import Suite
from game_interface import StoryInfo
from mcp_ghost.files import read_regular
from mcp_ghost.text import did_you_mean
from session.configuration_file import ConfigurationError, problems_of, read_sections
from session.game_configuration import GameConfiguration

SHIPPED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
_OF_THE_MODEL = {
    *("agent_model", "agent_base_url", "client_base_url", "provider", "local_model_path"),
    *("agent_reasoning_effort", "agent_extra_body", "reflection_base_url", "reflection_model"),
    *("reflection_reasoning_effort", "reflection_extra_body", "llm_wire"),
    *("agent_thinking_tokens", "reflection_thinking_tokens"),
}
"""Which model it is, how it is reached, and how hard it thinks: that is what is compared."""
_OF_THE_EPISODE = {
    *("story", "seed", "player_seed", "agent_seed", "reflection_seed"),
    *("player_name", "player_commands", "player_hints", "workdir", "evaluation_group", "without"),
    *("storage_enabled", "storage_carry_over", "storage_database_url"),
}
"""Decided by the evaluation for each episode: story, seeds, players, and what is carried over."""
_MAY_BE_UNSET = {
    name for name, field in GameConfiguration.model_fields.items() if field.default is None
}
"""Settings that are unset where a protocol does not name them, for TOML cannot say so."""
_OF_THE_MACHINE = {
    *("client_timeout_seconds", "retry_max_attempts", "retry_initial_delay", "retry_max_delay"),
    *("breaker_failure_threshold", "breaker_recovery_seconds", "local_threads"),
    *("interpreter_path", "turn_timeout_seconds", "turn_delay_seconds", "max_failed_turns"),
    *("max_cost_per_episode", "max_tokens_per_episode"),
}
"""They decide whether an episode is played to its end, but not how."""


def decisive() -> frozenset[str]:
    """List the settings that a protocol has to pin."""
    unused = {it for it in GameConfiguration.model_fields if it.startswith(("mcp_", "critic_"))}
    unused -= {"mcp_enabled", "critic_enabled"}  # which every protocol pins to false
    open_ones = _OF_THE_MODEL | _OF_THE_EPISODE | _OF_THE_MACHINE | SECRET | unused
    return frozenset(GameConfiguration.model_fields) - open_ones


class Matrix(BaseModel):
    """The section ``[evaluation]``: what is played."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: str
    """In a sentence."""
    stories: tuple[str, ...] = ()
    """SHA-256 of the images without padding; none, and no suite: any story."""
    suite: str = ""
    """The suite whose games it is for."""
    seeds: tuple[PositiveInt, ...] = Field(min_length=1)
    seeds_are: Literal["dice", "player"]
    """Of the game's dice, or of model and player, with the same dice for all."""
    dice: NonNegativeInt | Literal["walkthrough"] | None = None
    """The seed of the game's dice, where all have the same; ``walkthrough``: for each game that of
    the walkthrough in Jericho."""
    episodes: PositiveInt
    """Of each player and seed, one after the other."""
    carry_over: bool
    """Whether what was learned is passed on from episode to episode."""


class Protocol(BaseModel):
    """What a file says, and the hash of the file."""

    model_config = ConfigDict(frozen=True)

    name: str
    sha256: str
    matrix: Matrix
    settings: dict[str, Any]
    """Every setting that decides a figure."""

    @classmethod
    def read(cls, name: str) -> Self:
        """Read one of ``SHIPPED``, or the one in a file of that path.

        Raises:
            ConfigurationError: There is none, or it leaves something open.
        """
        path = SHIPPED.get(name) or Path(name)
        try:
            data = read_regular(path)
        except OSError as error:
            hint = did_you_mean(name, SHIPPED) or f"choose from {', '.join(SHIPPED)}."
            raise ConfigurationError(
                f"There is no protocol '{name}' ({error.strerror}): {hint} Or give a file's path."
            ) from error
        settings, wanted = read_sections(path, GameConfiguration.model_fields), decisive()
        if left_open := sorted(wanted - _MAY_BE_UNSET - settings.keys()):
            raise ConfigurationError(
                f"The protocol {path} leaves open settings that affect the figures: pin "
                f"{', '.join(left_open)}."
            )
        if others := sorted(settings.keys() - wanted):
            raise ConfigurationError(
                f"The protocol {path} pins what a protocol has no say in: leave out "
                f"{', '.join(others)}."
            )
        if on := [it for it in ("mcp_enabled", "critic_enabled") if settings[it] is not False]:
            raise ConfigurationError(
                f"The protocol {path} switches {' and '.join(on)} on, whose settings no protocol "
                "can pin yet: set it to false."
            )
        try:
            matrix = Matrix.model_validate(
                tomllib.loads(data.decode("utf-8")).get("evaluation", {})
            )
        except ValidationError as error:
            raise ConfigurationError(
                f"[evaluation] of the protocol {path}: {problems_of(error)}"
            ) from error
        return cls(
            name=path.stem,
            sha256=sha256(data).hexdigest(),
            matrix=matrix,
            settings={**dict.fromkeys(_MAY_BE_UNSET & wanted), **settings},
        )

    def refuse_story(self, story: StoryInfo) -> None:
        """Check the story.

        Raises:
            ConfigurationError: The protocol is for another one.
        """
        suite = Suite.read(self.matrix.suite) if self.matrix.suite else None
        stories = (*self.matrix.stories, *(it.sha256 for it in (suite.games if suite else ())))
        if stories and story.sha256 not in stories:
            which = (
                f"play one of the suite {suite.name}."
                if suite
                else "give --story a file whose hash without padding begins with "
                f"{' or '.join(it[:12] for it in stories)}."
            )
            raise ConfigurationError(
                f"The protocol {self.name} is for a different story from {story.title} (release "
                f"{story.release}, SHA-256 {story.sha256[:12]}): {which}"
            )


def refuse_flags(protocol: Protocol, given: Mapping[str, object]) -> None:
    """Check the flags that were given, by name, against what is pinned.

    Raises:
        ConfigurationError: One of them contradicts the protocol.
    """
    matrix, settings = protocol.matrix, protocol.settings
    pinned: dict[str, object] = {
        "turns": settings["max_turns_per_episode"],
        "seeds": matrix.seeds,
        "episodes": matrix.episodes,
        "mcp": settings["mcp_enabled"],
        "carry_over": matrix.carry_over,
        "without": None,
        "each": None,
    }
    for name, pin in pinned.items():
        if (value := given.get(name)) and value != pin:
            said = ",".join(map(str, pin)) if isinstance(pin, tuple) else str(pin).lower()
            wants = "does not have" if pin is None else f"pins to {said}"
            raise ConfigurationError(
                f"--{name.replace('_', '-')} contradicts the protocol {protocol.name}, which it "
                f"{wants}: leave it out, or copy the protocol's file, change that there and give "
                "its path."
            )
