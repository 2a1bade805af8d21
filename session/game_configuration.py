"""The configuration: flag > environment > .env > pyproject.toml > default, checked on entry."""

import os
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    PrivateAttr,
    ValidationError,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from mcp_ghost.redact import SHORTEST_SECRET, secrets_in
from mcp_ghost.text import address
from session.configuration_file import (
    ConfigurationError,
    Sources,
    explain,
    read_sections,
    refuse_unknown_variables,
)
from session.endpoints import (
    HOSTED,
    ROLE_KEYS,
    Effort,
    Hosted,
    ProviderChoice,
    RoleSettings,
    default_model,
    hosted_at,
    sampling_of,
    spoken_here,
)
from session.levels import ObservationLevel
from session.objectives import STALE_TURNS
from session.playing import PlayingSettings
from shared_utils import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME

__all__ = ["ConfigurationError", "EngineChoice", "GameConfiguration", "RoleSettings"]

_PREFIX, _DOTENV = "ZORKGPT_", ".env"
EngineChoice: TypeAlias = Literal["auto", "fernz", "jericho"]


class _DotEnvFile(DotEnvSettingsSource):
    """The .env file; its variables for other programs do not concern us."""

    def __call__(self) -> dict[str, Any]:
        prefix = self.env_prefix.lower()
        aliases = {str(field.validation_alias) for field in self.settings_cls.model_fields.values()}
        return {
            key: value
            for key, value in super().__call__().items()
            if key.upper() in aliases or key.startswith(prefix) or prefix + key in self.env_vars
        }


class GameConfiguration(PlayingSettings, BaseSettings):
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
    """Endpoint for the agent only."""
    agent_temperature: NonNegativeFloat | None = 0.6
    agent_top_p: NonNegativeFloat | None = 0.95
    agent_top_k: PositiveInt | None = None
    agent_min_p: NonNegativeFloat | None = None
    agent_max_tokens: PositiveInt | None = 2000
    """At most this many tokens in one reply."""
    agent_thinking_tokens: NonNegativeInt = 8000
    """Further tokens for thinking, where ``reasoning_effort`` asks for it."""
    agent_seed: int | None = None
    agent_reasoning_effort: Effort | None = None
    agent_extra_body: dict[str, Any] | None = None
    """Further fields of each request, as the provider spells them."""

    provider: ProviderChoice = "auto"
    """Wire format of endpoints that are nobody's own, and whose key chooses; ``auto``: OpenAI's,
    and the first key at hand."""
    client_base_url: str | None = None
    """Any endpoint; unset: by the key at hand, else the embedded model."""
    client_api_key: str | None = Field(default=None, repr=False)
    """Key for the endpoint; never from pyproject.toml."""
    openrouter_api_key: str | None = Field(
        default=None, repr=False, validation_alias="OPENROUTER_API_KEY"
    )
    openai_api_key: str | None = Field(default=None, repr=False, validation_alias="OPENAI_API_KEY")
    anthropic_api_key: str | None = Field(
        default=None, repr=False, validation_alias="ANTHROPIC_API_KEY"
    )
    google_api_key: str | None = Field(default=None, repr=False, validation_alias="GOOGLE_API_KEY")
    gemini_api_key: str | None = Field(default=None, repr=False, validation_alias="GEMINI_API_KEY")
    client_timeout_seconds: PositiveFloat = 120.0
    """Seconds that one request may take."""

    retry_max_attempts: PositiveInt = 5
    """At most this many requests for one answer."""
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
    """``zork1``, ``bundled``, a known game, the path of a story file or ``gym:ID``."""
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Seed of the game's dice; unset: drawn at random and written to the log."""
    engine: EngineChoice = "auto"
    """Interpreter; ``auto`` takes jericho where it is installed and knows the story."""
    turn_timeout_seconds: PositiveFloat = 30
    """Seconds that the game may take over a command; then its engine is stopped."""
    workdir: str = "game_files"
    """Folder for logs, below the working directory unless absolute."""

    max_turns_per_episode: PositiveInt = 500
    max_turns_stuck: PositiveInt = 100
    """Turns without anything new after which an episode ends as stalled."""
    max_failed_turns: PositiveInt = 3
    """Turns in a row without an answer from the model after which an episode stops."""
    max_cost_per_episode: PositiveFloat | None = None
    """US dollars, as far as the provider reports them."""
    max_tokens_per_episode: PositiveInt | None = None
    turn_delay_seconds: NonNegativeFloat = 0.0
    evaluation_group: str | None = None
    """What the episode belongs to, for whoever sums up episodes."""

    observation_level: ObservationLevel = ObservationLevel.FACTS
    """What the player is told: ``text``, ``status``, ``facts`` or ``facts+exits``."""
    observation_prior_knowledge: Literal["allowed", "discouraged"] = "allowed"
    """Whether the model may use what it knows of the game from elsewhere."""
    context_token_budget: PositiveInt = 4000
    """Tokens of what each prompt tells anew, after its head and the turns so far, roughly."""
    context_history_tokens: PositiveInt = 24_000
    """Tokens of turns told word for word, roughly; older ones are summed up. For ``full``."""
    context_profile: Literal["auto", "full", "compact"] = "auto"
    """Prompt for large or very small models; ``auto``: compact for the embedded one."""

    without: tuple[str, ...] = ()
    """Parts of the mind to leave out, by name; the same as ``enabled`` off in their sections."""
    map_enabled: bool = True
    """Tell the model what it found out about passages and rooms."""
    map_rooms_shown: PositiveInt = 12
    """Rooms around the current one that the model is told about."""
    memories_enabled: bool = True
    """Keep memories at rooms and tell those that matter here."""
    memories_token_budget: PositiveInt = 500
    """Tokens of memories in a prompt, roughly."""
    memories_max_distance: NonNegativeInt = 2
    """Steps from the current room within which memories are shown."""
    objectives_enabled: bool = True
    """Keep what the model wants to achieve."""
    objectives_stale_turns: PositiveInt = STALE_TURNS
    """Turns without progress after which an objective is given up."""
    objectives_shown: PositiveInt = 8
    """Objectives that the model is shown."""
    knowledge_enabled: bool = True
    """Keep claims about how the game's world works."""
    knowledge_token_budget: PositiveInt = 800
    """Tokens of claims in a prompt, roughly."""
    ledger_enabled: bool = True
    """Tell what scored in earlier episodes."""
    condition_enabled: bool = True
    """Tell what the game last told of attacks, wounds, light and load, and what is gone."""
    storage_enabled: bool = True
    """Hand on to later episodes what was learned."""
    storage_carry_over: bool = True
    """Begin with what earlier episodes of the same story learned."""
    storage_database_url: str | None = Field(default=None, repr=False)
    """SQLAlchemy URL; unset: ``knowledge.db`` in ``workdir``."""
    reflection_enabled: bool = True
    """Look back every few turns; without it only what code can see is learned."""
    reflection_interval_turns: PositiveInt = 8
    """At least this many turns between two reflections."""
    reflection_model: str = "auto"
    """``auto``: as the agent."""
    reflection_base_url: str | None = None
    reflection_temperature: NonNegativeFloat | None = 0.3
    reflection_top_p: NonNegativeFloat | None = 0.95
    reflection_top_k: PositiveInt | None = None
    reflection_min_p: NonNegativeFloat | None = None
    reflection_max_tokens: PositiveInt | None = 2000
    reflection_thinking_tokens: NonNegativeInt = 8000
    reflection_seed: int | None = None
    reflection_reasoning_effort: Effort | None = None
    reflection_extra_body: dict[str, Any] | None = None
    action_check_enabled: bool = True
    """Check commands against the game's facts before they are given."""
    action_check_mode: Literal["refuse", "advise"] = "refuse"
    """``refuse``: the model is asked again; ``advise``: it is only told."""
    action_check_max_refusals: PositiveInt = 2
    """At most this many proposals are refused in one turn; then ``look`` is played."""
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
    critic_thinking_tokens: NonNegativeInt = 2000
    critic_seed: int | None = None
    critic_reasoning_effort: Effort | None = None
    critic_extra_body: dict[str, Any] | None = None

    mcp_enabled: bool = False
    mcp_config_file: str = "mcp_config.json"
    """The servers, in the format that MCP clients share; in the working directory, or beside the
    file of these settings."""
    mcp_servers: tuple[str, ...] = ()
    """Those to use, by name; unset: the first that is not disabled."""
    mcp_session: Literal["turn", "episode"] = "turn"
    """How long a session lasts: ``episode`` for servers that remember."""
    mcp_max_tool_iterations: PositiveInt = 20
    mcp_tool_call_timeout_seconds: PositiveFloat = 30
    mcp_server_startup_timeout_seconds: PositiveFloat = 10
    mcp_max_result_tokens_per_turn: PositiveInt | None = 10_000
    """Tokens, as estimated, that tools may add to one turn; longer results are cut, visibly."""
    mcp_max_parallel_calls: PositiveInt = 8
    """Calls of one reply that run side by side, of tools that say that they only read."""
    mcp_images: Literal["auto", "never"] = "auto"
    """``auto``: a model that takes images sees those that tools return; ``never``: it reads of
    them."""
    mcp_server_install_timeout_seconds: PositiveFloat = 120
    """For the first start by npx, uvx and their like, which may download the server."""
    mcp_force_tool_support: bool = False
    """Offer tools to models that are known not to take them."""

    _read_from: Path | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _switch_off(cls, values: dict[str, Any]) -> dict[str, Any]:
        given = values.get("without")
        fields = (f"{part}_enabled" for part in given or () if isinstance(given, list | tuple))
        return {**values, **{field: False for field in fields if field in cls.model_fields}}

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
    ) -> Self:
        """The settings of ``[tool.zorkgpt.*]``, under environment and ``overrides``.

        Args:
            config_path: A TOML file; None when there is none.
            overrides: Fields that win over everything else.

        Raises:
            ConfigurationError: naming the file, the key and the nearest known one.
        """
        path = None if config_path is None else Path(config_path)
        refuse_unknown_variables(_PREFIX, cls.model_fields, _DOTENV)
        try:
            environment = cls()
            above = environment.model_dump(include=environment.model_fields_set)
            config = cls(
                **{**(read_sections(path, cls.model_fields) if path else {}), **above, **overrides}
            )
        except ValidationError as error:
            sources = Sources(overrides, _PREFIX, _DOTENV, path, cls.model_fields)
            raise ConfigurationError(explain(error, sources)) from error
        config._read_from = path and path.absolute()
        return config

    @classmethod
    def at_hand(cls, config_path: str | Path | None = None, **overrides: object) -> Self:
        """The settings of ``config_path``, else of ``pyproject.toml`` where there is one.

        Raises:
            ConfigurationError: As from ``from_toml``.
        """
        here = Path("pyproject.toml")
        return cls.from_toml(config_path or (here if here.is_file() else None), **overrides)

    def role(self, name: str = "agent") -> RoleSettings:
        """Model, endpoint and sampling of one role."""
        base_url = getattr(self, f"{name}_base_url") or self._shared_endpoint(name)
        model = getattr(self, f"{name}_model")
        if model == "auto" and name != "agent" and base_url == self.role().base_url:
            model = self.agent_model
        return RoleSettings(
            model=self._default_model(base_url) if model == "auto" else model,
            base_url=base_url,
            api_key=self._key_for(base_url),
            sampling=sampling_of({key: getattr(self, f"{name}_{key}") for key in ROLE_KEYS}),
        )

    @property
    def llm_base_url(self) -> str:
        """The endpoint in use."""
        if self.client_base_url:
            return self.client_base_url.rstrip("/")
        if self.local_model_path:
            return EMBEDDED_BASE_URL
        wanted = [it for it in HOSTED if self.provider in ("auto", it.provider)]
        if self.client_api_key:
            return wanted[0].base_url
        keyless = EMBEDDED_BASE_URL if self.provider == "auto" else wanted[-1].base_url
        return next((it.base_url for it in wanted if self._keys_of(it)), keyless)

    @property
    def uses_embedded_model(self) -> bool:
        """Whether the agent's model runs on this machine, from the bundled or a given file."""
        return bool(self.role().base_url == EMBEDDED_BASE_URL)

    @property
    def mcp_config_places(self) -> list[Path]:
        """Where ``mcp_config_file`` is looked for, one after the other."""
        here = Path(self.mcp_config_file)
        beside = self._read_from.parent / here if self._read_from else here
        return [here] if beside == here.absolute() else list(dict.fromkeys([here, beside]))

    def prompt_profile(self, role: str = "agent") -> Literal["full", "compact"]:
        """The prompt in use; that of one role says nothing about another's model."""
        if self.context_profile == "auto":
            return "compact" if self.role(role).base_url == EMBEDDED_BASE_URL else "full"
        return self.context_profile

    def public(self) -> dict[str, Any]:
        """All settings but keys, and addresses without what is secret in them."""
        secret = {name for name, field in type(self).model_fields.items() if not field.repr}
        fields = self.model_dump(mode="json", exclude=secret)
        return {
            name: address(it) if name.endswith("_url") and it else it for name, it in fields.items()
        }

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every key, and what looks like one in our environment or in ``extra_body``.

        No log is to hold them. One as short as those that local endpoints accept does not count:
        taking it out of everything would leave no log to read.
        """
        keys = [self.client_api_key, *(key for it in HOSTED for key in self._keys_of(it))]
        known = [key for key in keys if key and len(key) >= SHORTEST_SECRET]
        bodies = (self.agent_extra_body, self.reflection_extra_body, self.critic_extra_body)
        found = secrets_in(os.environ).union(*(secrets_in(body or {}) for body in bodies))
        return tuple(dict.fromkeys([*known, *sorted(found)]))

    def _shared_endpoint(self, name: str) -> str:
        """A role without its own endpoint uses the agent's."""
        return (name != "agent" and self.agent_base_url) or self.llm_base_url

    def _key_for(self, base_url: str) -> str | None:
        """A provider's key goes only to that provider, or to a proxy on this machine."""
        if self.client_api_key:
            return self.client_api_key
        at_home = hosted_at(base_url)
        asked = [at_home] if at_home else spoken_here(base_url, self.provider)
        return next((key for it in asked for key in self._keys_of(it)), None)

    def _keys_of(self, hosted: Hosted) -> list[str]:
        return [key for name in hosted.keys if (key := getattr(self, name))]

    def _default_model(self, base_url: str) -> str:
        if base_url == EMBEDDED_BASE_URL:
            return EMBEDDED_MODEL_NAME
        return default_model(base_url, self.provider)
