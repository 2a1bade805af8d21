"""The configuration: flag > environment > .env > pyproject.toml > default, checked on entry."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
)
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from local_model import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME
from session.configuration_file import ConfigurationError, near, read_sections

__all__ = ["ConfigurationError", "EngineChoice", "GameConfiguration", "RoleSettings"]

_PREFIX, _DOTENV = "ZORKGPT_", ".env"
_LEAST_SECRET = 8
EngineChoice: TypeAlias = Literal["auto", "fernz", "jericho"]
OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1"
OPENAI_BASE_URL = "https://api.openai.com/v1"
_DEFAULT_MODELS = {
    OPENROUTER_BASE_URL: "deepseek/deepseek-v3.2",
    OPENAI_BASE_URL: "gpt-4.1-mini",
    EMBEDDED_BASE_URL: EMBEDDED_MODEL_NAME,
}


class RoleSettings(NamedTuple):
    """How one role (such as ``agent``) asks its model."""

    model: str
    base_url: str
    api_key: str | None
    temperature: float | None
    top_p: float | None
    top_k: int | None
    min_p: float | None
    max_tokens: int | None


class _DotEnvFile(DotEnvSettingsSource):
    """The .env file, whose variables for other programs are none of our business."""

    def __call__(self) -> dict[str, Any]:
        prefix = self.env_prefix.lower()
        aliases = {str(field.validation_alias) for field in self.settings_cls.model_fields.values()}
        return {
            key: value
            for key, value in super().__call__().items()
            if key.upper() in aliases or key.startswith(prefix) or prefix + key in self.env_vars
        }


class GameConfiguration(BaseSettings):
    """Everything that can be set; keyword arguments win over all other sources."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_file=_DOTENV,
        env_ignore_empty=True,
        extra="forbid",
        populate_by_name=True,
        validate_assignment=True,
    )

    agent_model: str = "auto"
    """Model of the agent; ``auto`` takes one that suits the endpoint."""
    agent_base_url: str | None = None
    """Endpoint for the agent alone."""
    agent_temperature: NonNegativeFloat | None = 0.6
    agent_top_p: NonNegativeFloat | None = 0.95
    agent_top_k: PositiveInt | None = None
    agent_min_p: NonNegativeFloat | None = None
    agent_max_tokens: PositiveInt | None = 2000
    """Tokens of one reply at most."""

    client_base_url: str | None = None
    """Any OpenAI-compatible endpoint; unset: by the key at hand, else the embedded model."""
    client_api_key: str | None = Field(default=None, repr=False)
    """Key for the endpoint; never from pyproject.toml."""
    openrouter_api_key: str | None = Field(
        default=None, repr=False, validation_alias="OPENROUTER_API_KEY"
    )
    openai_api_key: str | None = Field(default=None, repr=False, validation_alias="OPENAI_API_KEY")
    client_timeout_seconds: PositiveFloat = 120.0
    """Seconds that one request may take."""

    retry_max_attempts: PositiveInt = 5
    """Requests for one answer at most."""
    retry_initial_delay: NonNegativeFloat = 1.0
    retry_max_delay: NonNegativeFloat = 60.0
    breaker_failure_threshold: PositiveInt = 5
    """Failed calls in a row after which the endpoint is left alone for a while."""
    breaker_recovery_seconds: NonNegativeFloat = 60.0

    local_model_path: str | None = None
    """A GGUF file to play with instead of the bundled model."""
    local_threads: PositiveInt | None = None
    """Threads of the embedded model; unset: one for each core."""

    story: str = "zork1"
    """``zork1``, ``bundled`` or the path of a story file."""
    seed: int | None = Field(default=None, ge=1, le=2**31 - 1)
    """Seed of the game's dice; unset: drawn anew and written to the log."""
    engine: EngineChoice = "auto"
    """Interpreter; ``auto`` takes jericho where it is installed and knows the story."""
    workdir: str = "game_files"
    """Folder for logs, below the working directory unless absolute."""

    max_turns_per_episode: PositiveInt = 500
    max_turns_stuck: PositiveInt = 100
    """Turns without anything new after which an episode ends as stalled."""
    max_failed_turns: PositiveInt = 3
    """Turns in a row without an answer of the model after which an episode stops."""
    max_cost_per_episode: PositiveFloat | None = None
    """US dollars, as far as the provider reports them."""
    max_tokens_per_episode: PositiveInt | None = None
    turn_delay_seconds: NonNegativeFloat = 0.0
    evaluation_group: str | None = None
    """What the episode belongs to, for those who sum up episodes."""

    context_token_budget: PositiveInt = 4000
    """Tokens of the prompt below its static head, roughly."""
    context_history_turns: PositiveInt = 8
    """Latest turns shown to the model at least; less than twice as many at most."""
    context_profile: Literal["auto", "full", "compact"] = "auto"
    """Prompt for large or very small models; ``auto``: compact for the embedded one."""

    map_enabled: bool = True
    """Tell the model what it found out about ways and rooms."""
    map_rooms_shown: PositiveInt = 12
    """Rooms around the present one that the model is told."""
    memories_enabled: bool = True
    """Keep memories at rooms and tell those that matter here."""
    memories_token_budget: PositiveInt = 500
    """Tokens of memories in a prompt, roughly."""
    memories_max_distance: NonNegativeInt = 2
    """Steps from the present room up to which memories are told."""
    objectives_enabled: bool = True
    """Keep what the model wants to achieve."""
    objectives_stale_turns: PositiveInt = 80
    """Turns without progress after which an objective is given up."""
    objectives_shown: PositiveInt = 8
    """Objectives that the model is told."""
    knowledge_enabled: bool = True
    """Keep claims about how the game's world works."""
    knowledge_token_budget: PositiveInt = 800
    """Tokens of claims in a prompt, roughly."""
    storage_enabled: bool = True
    """Hand on to later episodes what was learned."""
    storage_carry_over: bool = True
    """Begin with what earlier episodes of the same story learned."""
    storage_database_url: str | None = Field(default=None, repr=False)
    """SQLAlchemy URL; unset: ``knowledge.db`` in ``workdir``."""
    reflection_enabled: bool = True
    """Look back every few turns; without it nothing is learned but what code sees."""
    reflection_interval_turns: PositiveInt = 8
    """Turns between two reflections at least."""
    reflection_model: str = "auto"
    """``auto``: as the agent."""
    reflection_base_url: str | None = None
    reflection_temperature: NonNegativeFloat | None = 0.3
    reflection_top_p: NonNegativeFloat | None = 0.95
    reflection_top_k: PositiveInt | None = None
    reflection_min_p: NonNegativeFloat | None = None
    reflection_max_tokens: PositiveInt | None = 2000
    action_check_enabled: bool = True
    """Hold commands against the game's facts before they are given."""
    action_check_mode: Literal["refuse", "advise"] = "refuse"
    """``refuse``: the model is asked again; ``advise``: it is only told."""
    action_check_max_refusals: PositiveInt = 2
    """Proposals refused in one turn at most; then ``look`` is played."""
    critic_enabled: bool = False
    """Let a model judge commands too: one more call a turn."""
    critic_model: str = "auto"
    """``auto``: as the agent."""
    critic_base_url: str | None = None
    critic_temperature: NonNegativeFloat | None = 0.1
    critic_top_p: NonNegativeFloat | None = None
    critic_top_k: PositiveInt | None = None
    critic_min_p: NonNegativeFloat | None = None
    critic_max_tokens: PositiveInt | None = 300

    mcp_enabled: bool = False
    mcp_config_file: str = "mcp_config.json"
    """The servers, in the format that MCP clients share."""
    mcp_max_tool_iterations: PositiveInt = 20
    mcp_tool_call_timeout_seconds: PositiveFloat = 30
    mcp_server_startup_timeout_seconds: PositiveFloat = 10
    mcp_force_tool_support: bool = False
    """Offer tools to models that are known not to take them."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments over environment over .env; a mistyped name in .env is an error."""
        return init_settings, env_settings, _DotEnvFile(settings_cls)

    @classmethod
    def from_toml(
        cls, config_path: str | Path | None = "pyproject.toml", **overrides: object
    ) -> GameConfiguration:
        """The settings of ``[tool.zorkgpt.*]``, under environment and ``overrides``.

        Args:
            config_path: A TOML file; None when there is none.
            overrides: Fields that win over everything else.

        Raises:
            ConfigurationError: naming the file, the key and the nearest known one.
        """
        path = None if config_path is None else Path(config_path)
        _refuse_unknown_variables()
        try:
            environment = cls()
            above = environment.model_dump(include=environment.model_fields_set)
            return cls(
                **{**(read_sections(path, cls.model_fields) if path else {}), **above, **overrides}
            )
        except ValidationError as error:
            raise ConfigurationError(_explain(error, path)) from error

    def role(self, name: str = "agent") -> RoleSettings:
        """Model, endpoint and sampling of one role."""
        base_url = getattr(self, f"{name}_base_url") or self._shared_endpoint(name)
        model = getattr(self, f"{name}_model")
        if model == "auto" and name != "agent" and base_url == self.role().base_url:
            model = self.agent_model
        return RoleSettings(
            model=_DEFAULT_MODELS.get(base_url, "default") if model == "auto" else model,
            base_url=base_url,
            api_key=self._key_for(base_url),
            temperature=getattr(self, f"{name}_temperature"),
            top_p=getattr(self, f"{name}_top_p"),
            top_k=getattr(self, f"{name}_top_k"),
            min_p=getattr(self, f"{name}_min_p"),
            max_tokens=getattr(self, f"{name}_max_tokens"),
        )

    @property
    def llm_base_url(self) -> str:
        """The endpoint in use."""
        if self.client_base_url:
            return self.client_base_url.rstrip("/")
        if self.local_model_path:
            return EMBEDDED_BASE_URL
        if self.openrouter_api_key or self.client_api_key:
            return OPENROUTER_BASE_URL
        return OPENAI_BASE_URL if self.openai_api_key else EMBEDDED_BASE_URL

    @property
    def uses_embedded_model(self) -> bool:
        """Whether the agent's model runs on this machine, from the bundled or a given file."""
        return bool(self.role().base_url == EMBEDDED_BASE_URL)

    @property
    def prompt_profile(self) -> Literal["full", "compact"]:
        """The prompt in use."""
        if self.context_profile == "auto":
            return "compact" if self.uses_embedded_model else "full"
        return self.context_profile

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key; none of them may reach a log.

        One as short as those that local endpoints are content with is none: taking it out of
        everything would leave no log to read.
        """
        keys = (self.client_api_key, self.openrouter_api_key, self.openai_api_key)
        return tuple(key for key in keys if key and len(key) >= _LEAST_SECRET)

    def _shared_endpoint(self, name: str) -> str:
        """Where a role without an endpoint of its own is asked: where the agent is."""
        return (name != "agent" and self.agent_base_url) or self.llm_base_url

    def _key_for(self, base_url: str) -> str | None:
        """A provider's key goes only to that provider, or to a proxy on this machine."""
        host = urlsplit(base_url).hostname or ""
        if self.client_api_key:
            return self.client_api_key
        if f".{host}".endswith(".openrouter.ai"):
            return self.openrouter_api_key
        if f".{host}".endswith(".openai.com"):
            return self.openai_api_key
        on_this_machine = host in {"localhost", "127.0.0.1", "::1"}
        return (self.openrouter_api_key or self.openai_api_key) if on_this_machine else None


def _refuse_unknown_variables() -> None:
    """A mistyped name would be overlooked: nothing else sets variables with our prefix."""
    known = [_PREFIX + name.upper() for name in GameConfiguration.model_fields]
    for source, names in (("the environment", os.environ), (_DOTENV, _names_in_dotenv())):
        for name in names:
            if name.upper().startswith(_PREFIX) and name.upper() not in known:
                raise ConfigurationError(
                    f"Unknown variable {name} in {source}: {near(name, known)}"
                )


def _names_in_dotenv() -> Iterable[str]:
    try:
        return dotenv_values(_DOTENV)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Cannot read {_DOTENV}: {error}") from error


def _explain(error: ValidationError, path: Path | None) -> str:
    lines = [
        f"  {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_input=False, include_url=False)
    ]
    file = f"{path}, " if path else ""
    return "\n".join([f"Invalid settings (from {file}the environment or flags):", *lines])
