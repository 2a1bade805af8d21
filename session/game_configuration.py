"""The configuration: flag > environment > .env > pyproject.toml > default, checked on entry."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from dotenv import dotenv_values
from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt, ValidationError
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from local_model import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME

_PREFIX, _DOTENV = "ZORKGPT_", ".env"
_NO_KEYS_HERE = "keys come from the environment or .env, such as ZORKGPT_CLIENT_API_KEY."
EngineChoice: TypeAlias = Literal["auto", "fernz", "jericho"]
OPENROUTER_BASE_URL = "https://openrouter.ai/api/v1"
OPENAI_BASE_URL = "https://api.openai.com/v1"
_DEFAULT_MODELS = {
    OPENROUTER_BASE_URL: "deepseek/deepseek-v3.2",
    OPENAI_BASE_URL: "gpt-4.1-mini",
    EMBEDDED_BASE_URL: EMBEDDED_MODEL_NAME,
}


class ConfigurationError(ValueError):
    """Raised when the configuration cannot be used; the message says what to change."""


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

    context_token_budget: PositiveInt = 3000
    """Tokens of the volatile part of the prompt, roughly."""
    context_history_turns: PositiveInt = 8
    """Latest turns shown to the model."""
    context_profile: Literal["auto", "full", "compact"] = "auto"
    """Prompt for large or very small models; ``auto``: compact for the embedded one."""

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
            return cls(**{**(_read_sections(path) if path else {}), **above, **overrides})
        except ValidationError as error:
            raise ConfigurationError(_explain(error, path)) from error

    def role(self, name: str = "agent") -> RoleSettings:
        """Model, endpoint and sampling of one role."""
        base_url = getattr(self, f"{name}_base_url") or self.llm_base_url
        model = getattr(self, f"{name}_model")
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
        """Every key; none of them may reach a log."""
        keys = (self.client_api_key, self.openrouter_api_key, self.openai_api_key)
        return tuple(key for key in keys if key)

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


_SECTIONS = {
    "llm": ("", ("agent_model", "agent_base_url", "client_base_url", "client_timeout_seconds")),
    "agent_sampling": ("agent_", ("temperature", "top_p", "top_k", "min_p", "max_tokens")),
    "retry": ("retry_", ("max_attempts", "initial_delay", "max_delay")),
    "breaker": ("breaker_", ("failure_threshold", "recovery_seconds")),
    "local": ("local_", ("model_path", "threads")),
    "game": ("", ("story", "seed", "engine", "workdir")),
    "orchestrator": (
        "",
        (
            "max_turns_per_episode",
            "max_turns_stuck",
            "max_failed_turns",
            "max_cost_per_episode",
            "max_tokens_per_episode",
            "turn_delay_seconds",
        ),
    ),
    "context": ("context_", ("token_budget", "history_turns", "profile")),
    "mcp": (
        "mcp_",
        (
            "enabled",
            "config_file",
            "max_tool_iterations",
            "tool_call_timeout_seconds",
            "server_startup_timeout_seconds",
            "force_tool_support",
        ),
    ),
}
"""Section of [tool.zorkgpt] -> prefix of its fields, and its keys."""


def _read_sections(path: Path) -> dict[str, object]:
    """The fields that the sections of ``path`` set."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"No configuration file at {path}: create it or name another."
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"Cannot read {path}: {error}") from error
    values: dict[str, object] = {}
    for section, table in _table(path, _table(path, document, "tool"), "zorkgpt").items():
        if section not in _SECTIONS or not isinstance(table, dict):
            where = f"[tool.zorkgpt] of {path}"
            raise ConfigurationError(
                f"Unknown key '{section}' in {where}: {_near(section, _SECTIONS)}"
            )
        prefix, keys = _SECTIONS[section]
        for key, value in table.items():
            if key not in keys:
                hint = _NO_KEYS_HERE if key.endswith("api_key") else _near(key, keys)
                where = f"[tool.zorkgpt.{section}] of {path}"
                raise ConfigurationError(f"Unknown key '{key}' in {where}: {hint}")
            values[prefix + key] = value
    return values


def _table(path: Path, table: dict[str, Any], name: str) -> dict[str, Any]:
    inner = table.get(name, {})
    if not isinstance(inner, dict):
        raise ConfigurationError(f"'{name}' in {path} is no table: write [tool.zorkgpt.SECTION].")
    return inner


def _refuse_unknown_variables() -> None:
    """A mistyped name would be overlooked: nothing else sets variables with our prefix."""
    known = [_PREFIX + name.upper() for name in GameConfiguration.model_fields]
    for source, names in (("the environment", os.environ), (_DOTENV, _names_in_dotenv())):
        for name in names:
            if name.upper().startswith(_PREFIX) and name.upper() not in known:
                raise ConfigurationError(
                    f"Unknown variable {name} in {source}: {_near(name, known)}"
                )


def _names_in_dotenv() -> Iterable[str]:
    try:
        return dotenv_values(_DOTENV)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"Cannot read {_DOTENV}: {error}") from error


def _near(key: str, known: Iterable[str]) -> str:
    names = list(known)
    nearest = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
    return f"did you mean '{nearest[0]}'?" if nearest else f"known are: {', '.join(names)}."


def _explain(error: ValidationError, path: Path | None) -> str:
    lines = [
        f"  {'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        for problem in error.errors(include_input=False, include_url=False)
    ]
    file = f"{path}, " if path else ""
    return "\n".join([f"Invalid settings (from {file}the environment or flags):", *lines])
