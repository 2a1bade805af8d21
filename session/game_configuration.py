"""The configuration: flag > environment > .env > pyproject.toml > default, checked on entry."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeAlias
from urllib.parse import urlsplit

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
from pydantic_settings import SettingsConfigDict

from mcp_ghost.env_file import place_of, setting
from mcp_ghost.errors import LLMError
from mcp_ghost.providers.common import WireChoice
from mcp_ghost.providers.hosted import HOSTED, WireFormat, check_key, hosted_at
from mcp_ghost.redact import SHORTEST_SECRET, secrets_in
from mcp_ghost.text import address
from session.configuration_file import (
    PREFIX,
    SAMPLING,
    ConfigurationError,
    EnvironmentSettings,
    explain,
    names_in_dotenv,
    plain_only,
    read_sections,
    refuse_unknown_variables,
)
from session.levels import ObservationLevel
from session.playing import MindSettings, PlayingSettings
from shared_utils import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME

__all__ = ["ConfigurationError", "EngineChoice", "EngineName", "GameConfiguration", "RoleSettings"]

EngineChoice: TypeAlias = Literal["auto", "jericho"]
EngineName: TypeAlias = Literal["bocfel", "glulxe", "jericho", "gymnasium"]
ProviderChoice: TypeAlias = Literal["auto", WireFormat]
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
_THINKS_UNASKED = re.compile(r"(?:^|/)gpt-(?:5\.[5-9]|[6-9])")
"""OpenAI's models that think with medium effort where nothing else is said."""


class RoleSettings(NamedTuple):
    """How one role (such as ``agent``) asks its model."""

    model: str
    base_url: str
    api_key: str | None
    sampling: dict[str, Any]
    """The options of a request that say how to write, not what; None leaves one out."""


def _keys_at_hand() -> dict[str, str]:
    """The providers' keys in the environment and in ``.env``, by their variables."""
    variables = [name for hosted in HOSTED for name in hosted.key_variables]
    return {name: key for name in variables if (key := setting([name]))}


class GameConfiguration(PlayingSettings, MindSettings, EnvironmentSettings):
    """Everything that can be set; keyword arguments win over all other sources."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="forbid", populate_by_name=True, validate_assignment=True
    )

    agent_model: str = "auto"
    """Model that plays; ``auto`` picks one that suits the endpoint."""
    agent_base_url: str | None = None
    """Endpoint for the agent alone."""
    agent_temperature: NonNegativeFloat | None = 0.6
    """Sampling temperature."""
    agent_top_p: NonNegativeFloat | None = 0.95
    """Nucleus sampling."""
    agent_top_k: PositiveInt | None = None
    """Sample from this many of the likeliest tokens."""
    agent_min_p: NonNegativeFloat | None = None
    """Sample from tokens at least this likely, relative to the likeliest."""
    agent_max_tokens: PositiveInt | None = 2000
    """Most tokens in a reply; a reply that is cut off is requested again, once, with four times as
    many."""
    agent_thinking_tokens: NonNegativeInt = 8000
    """Tokens for thinking on top of ``max_tokens``, once ``reasoning_effort`` is set, or the model
    thinks by default."""
    agent_seed: int | None = None
    """Seed of the model's sampling, for endpoints that take one."""
    agent_reasoning_effort: Effort | None = None
    """How hard the model thinks, translated for each provider."""
    agent_extra_body: dict[str, Any] | None = None
    """Extra fields for each request, such as ``{ service_tier = "flex" }``."""

    provider: ProviderChoice = "auto"
    """Whose key is used, and which format your own endpoint speaks; ``auto``: the first key found,
    and OpenAI's format."""
    llm_wire: WireChoice = "auto"
    """How endpoints that speak OpenAI's format are asked: through ``chat`` completions, through the
    ``responses`` API, or ``auto``: ``responses`` at OpenAI's own address, ``chat`` elsewhere, and
    the other one where the endpoint says that the model needs it."""
    client_base_url: str | None = None
    """Any endpoint; unset: the provider whose key is found, or else the embedded model."""
    client_api_key: str | None = Field(default=None, repr=False)
    """Key for the endpoint; never from pyproject.toml."""
    client_timeout_seconds: PositiveFloat = 120.0
    """Time limit for one request."""

    retry_max_attempts: PositiveInt = 5
    """Most requests for one reply; 429, 5xx, timeouts, lost connections and empty replies are
    retried."""
    retry_initial_delay: NonNegativeFloat = 1.0
    """Seconds before the first retry; the delay then doubles."""
    retry_max_delay: NonNegativeFloat = 60.0
    """Longest delay in seconds, also when the server asks for more with ``Retry-After``."""
    breaker_failure_threshold: PositiveInt = 5
    """Failed requests in a row after which the endpoint is left alone."""
    breaker_recovery_seconds: NonNegativeFloat = 60.0
    """How long the endpoint is left alone, in seconds."""

    local_model_path: str | None = None
    """A GGUF file to use instead of the bundled model."""
    local_threads: PositiveInt | None = None
    """Threads of the embedded model; unset: one per core."""

    story: str = "zork1"
    """``zork1``, ``bundled``, a known game, the path or https address of a story file, or
    ``gym:ID``."""
    seed: int | None = Field(default=None, ge=0, le=2**31 - 1)
    """Seed of the game's dice; unset: drawn at random and logged."""
    engine: EngineChoice = "auto"
    """``auto``: bocfel for Z-machine stories, glulxe for Glulx; ``jericho``, an extra, to compare
    with Jericho's figures."""
    interpreter_path: str | None = None
    """A folder with your own builds of bocfel and glulxe, for systems that have none on PyPI. Their
    libraries are in it or in the system's folders."""
    turn_timeout_seconds: PositiveFloat = 30
    """How long the game may take over a command before the command is undone."""
    workdir: str = "game_files"
    """Folder for logs, relative to the working directory unless absolute."""

    max_turns_per_episode: PositiveInt = 500
    """Turns after which an episode ends."""
    max_turns_stuck: PositiveInt = 100
    """Turns without anything new after which an episode ends as stalled."""
    max_turns_one_answer: PositiveInt = 25
    """Turns in a row with the same answer, or none, whatever the command, after which an episode
    ends as stalled: the player cannot get past a prompt."""
    max_failed_turns: PositiveInt = 3
    """Attempts in a row without a usable answer after which an episode stops."""
    max_cost_per_episode: PositiveFloat | None = None
    """Budget in US dollars; raise it to resume an episode that has used it up. It has no effect
    where replies report no cost: those of OpenRouter do, those of OpenAI, Anthropic and Gemini do
    not."""
    max_tokens_per_episode: PositiveInt | None = None
    """Budget in tokens, which every provider reports."""
    turn_delay_seconds: NonNegativeFloat = 0.0
    """Pause between turns."""
    evaluation_group: str | None = None
    """The group to which the episode belongs in summaries."""

    observation_level: ObservationLevel = ObservationLevel.FACTS
    """[What the player is told](player.md#what-the-player-is-told)."""
    observation_prior_knowledge: Literal["allowed", "discouraged"] = "allowed"
    """Whether the model may use what it knows of the game from elsewhere."""
    context_token_budget: PositiveInt = 4000
    """Approximate tokens for what changes from prompt to prompt."""
    context_history_tokens: PositiveInt = 24_000
    """Approximate tokens of turns quoted verbatim in the ``full`` prompt; older ones are
    summarised."""
    context_profile: Literal["auto", "full", "compact"] = "auto"
    """[Prompt](player.md) for large or tiny models; ``auto``: ``compact`` for the embedded one."""

    reflection_model: str = "auto"
    """Model that reflects; ``auto``: the agent's."""
    reflection_base_url: str | None = None
    """Endpoint for reflection alone."""
    reflection_temperature: NonNegativeFloat | None = 0.3
    reflection_top_p: NonNegativeFloat | None = 0.95
    reflection_top_k: PositiveInt | None = None
    reflection_min_p: NonNegativeFloat | None = None
    reflection_max_tokens: PositiveInt | None = 2000
    reflection_thinking_tokens: NonNegativeInt = 8000
    reflection_seed: int | None = None
    reflection_reasoning_effort: Effort | None = None
    reflection_extra_body: dict[str, Any] | None = None
    critic_model: str = "auto"
    """Model that judges commands; ``auto``: the agent's."""
    critic_base_url: str | None = None
    """Endpoint for the critic alone."""
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
    """Offer tools to the agent; this repository's ``pyproject.toml`` sets it to ``true``."""
    mcp_config_file: str = "mcp_config.json"
    """The servers, in the format that MCP clients share; looked up in the working directory, then
    next to the settings file."""
    mcp_servers: tuple[str, ...] = ()
    """Which servers to use, by name, such as ``["a", "b"]``; empty: the first that is not
    disabled."""
    mcp_session: Literal["turn", "episode"] = "turn"
    """``episode``: one session for the whole episode, for servers that keep state or start
    slowly."""
    mcp_server_instructions: bool = True
    """Tell the agent what servers say about their use, in the system prompt."""
    mcp_max_tool_iterations: PositiveInt = 20
    """Rounds of tool calls per turn before a final answer is required."""
    mcp_tool_call_timeout_seconds: PositiveFloat = 30
    """Time limit for one call."""
    mcp_progress_extends_timeout: bool = False
    """Restart a call's time limit whenever its server reports progress; the call may then take up
    to 20 times the limit."""
    mcp_server_startup_timeout_seconds: PositiveFloat = 10
    """Time limit for a server's start, unless ``server_install_timeout_seconds`` applies."""
    mcp_max_result_tokens_per_turn: PositiveInt | None = 10_000
    """Estimated tokens that tool results may add to a turn; longer results are cut, and the model
    is told."""
    mcp_max_parallel_calls: PositiveInt = 1
    """``1``: the calls of a reply run one after the other, and a timeout skips the rest; more: as
    many may run in parallel, if their tools are marked read-only."""
    mcp_images: Literal["auto", "never"] = "auto"
    """``auto``: the model sees images that tools return (PNG, JPEG, WebP) unless it refuses them;
    ``never``: it is only told about them."""
    mcp_server_install_timeout_seconds: PositiveFloat = 120
    """Time limit for a server's first start by ``npx``, ``uvx``, ``pipx``, ``bunx``, ``docker`` or
    similar, which may download it."""
    mcp_force_tool_support: bool = False
    """Offer tools even to models known not to support them."""

    _read_from: Path | None = PrivateAttr(default=None)
    _found_here: dict[str, Path] = PrivateAttr(default_factory=dict)
    """The fields that a file of the working directory sets, which nobody named."""
    _named_folder: Path | None = PrivateAttr(default=None)
    """Of the file of settings that somebody named."""
    _keys: dict[str, str] = PrivateAttr(default_factory=_keys_at_hand)

    if not TYPE_CHECKING:  # where pydantic's own knows the names of the fields

        def __init__(self, **values: object) -> None:
            """Note which settings nobody gave and no variable names, but only ``.env``."""
            super().__init__(**values)
            for field in self.model_fields_set - values.keys():
                if place := place_of([PREFIX + field]):
                    self._found_here[field] = place

    @model_validator(mode="before")
    @classmethod
    def _switch_off(cls, values: dict[str, Any]) -> dict[str, Any]:
        given = values.get("without")
        fields = (f"{part}_enabled" for part in given or () if isinstance(given, list | tuple))
        return {**values, **{field: False for field in fields if field in cls.model_fields}}

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
        return cls._read(config_path, overrides, is_named=True)

    @classmethod
    def at_hand(cls, config_path: str | Path | None = None, **overrides: object) -> Self:
        """The settings of ``config_path``, else of ``pyproject.toml`` where there is one.

        Of the latter, what runs programs or opens places is used only if its folder is trusted.

        Raises:
            ConfigurationError: As from ``from_toml``.
        """
        names_in_dotenv()  # one question for all that it names
        here = Path("pyproject.toml")
        found = here if here.is_file() else None
        return cls._read(config_path or found, overrides, is_named=config_path is not None)

    @classmethod
    def _read(
        cls, config_path: str | Path | None, overrides: dict[str, object], *, is_named: bool
    ) -> Self:
        path = None if config_path is None else Path(config_path)
        refuse_unknown_variables(cls.model_fields)
        try:
            environment = cls()
            above = environment.model_dump(include=environment.model_fields_set)
            values = read_sections(path, cls.model_fields) if path else {}
            if path and not is_named:
                values = plain_only(path, values)
            config = cls(**{**values, **above, **overrides})
        except ValidationError as error:
            problems = explain(error, cls.model_fields, given=overrides, file=path)
            raise ConfigurationError(problems) from error
        config._read_from = path and path.absolute()
        if is_named and config._read_from:
            config._named_folder = config._read_from.parent
        found = dict(environment._found_here)
        if path and not is_named:
            found |= dict.fromkeys(values.keys() - above.keys(), path)
        config._found_here = {name: it for name, it in found.items() if name not in overrides}
        return config

    def ask_about_servers(self) -> Self:
        """The settings with MCP off if a file that nobody named or trusts names the servers.

        Raises:
            ConfigurationError: MCP was asked for.
        """
        from mcp_ghost.config import may_start  # few need it

        file = next((it for it in self.mcp_config_places if it.is_file()), None)
        if not self.mcp_enabled or file is None:
            return self
        is_named = "mcp_config_file" in self.model_fields_set - self._found_here.keys()
        is_wanted = "mcp_enabled" not in self._found_here
        is_named |= file.absolute().parent == self._named_folder
        if is_named or may_start(file, fails=is_wanted):
            return self
        if is_wanted:
            raise ConfigurationError(
                f"MCP is switched on, but {file} is not trusted: give --trust if you know who "
                "wrote it, --config FILE to name the settings, or --no-mcp."
            )
        return self.model_copy(update={"mcp_enabled": False})

    def role(self, name: str = "agent") -> RoleSettings:
        """Model, endpoint and sampling of one role."""
        fields = (f"{name}_base_url", "agent_base_url", "client_base_url")
        field = next((it for it in fields if getattr(self, it)), None)
        base_url = self.llm_base_url
        if field and field != "client_base_url":
            base_url = getattr(self, field)
        model = getattr(self, f"{name}_model")
        if model == "auto" and name != "agent" and base_url == self.role().base_url:
            model = self.agent_model
        model = self._default_model(base_url) if model == "auto" else model
        sampling = {key: getattr(self, f"{name}_{key}") for key in SAMPLING}
        effort = sampling["reasoning_effort"]
        thinks = effort != "none" if _THINKS_UNASKED.search(model) else effort not in {None, "none"}
        if thinks and sampling["max_tokens"]:  # room for that beside its answer
            sampling["max_tokens"] += getattr(self, f"{name}_thinking_tokens")
        return RoleSettings(
            model=model,
            base_url=base_url,
            api_key=self._key_for(base_url, self._found_here.get(field or "")),
            sampling=sampling,
        )

    def refuse_missing_models(self) -> None:
        """Check that where the model on this machine answers, no other one is asked for.

        Raises:
            ConfigurationError: A model was named that nobody here has.
        """
        own = self._default_model(EMBEDDED_BASE_URL)
        for name in ("agent", "reflection", *(["critic"] if self.critic_enabled else [])):
            role = self.role(name)
            if role.base_url == EMBEDDED_BASE_URL and role.model != own:
                keys = " or ".join(key for hosted in HOSTED for key in hosted.key_variables)
                raise ConfigurationError(
                    f"The model {role.model} cannot be asked: neither a key nor an endpoint is "
                    f"set, and the model on this machine is {own}. Set {keys}, or give --base-url; "
                    "or leave out the model's name to play with the one on this machine."
                )

    @property
    def llm_base_url(self) -> str:
        """The endpoint in use."""
        if self.client_base_url:
            return self.client_base_url.rstrip("/")
        if self.local_model_path:
            return EMBEDDED_BASE_URL
        wanted = [it for it in HOSTED if self.provider in ("auto", it.wire)]
        if self.client_api_key:
            return wanted[0].base_url
        keyless = EMBEDDED_BASE_URL if self.provider == "auto" else wanted[-1].base_url
        keyed = (it for it in wanted if not self._keys.keys().isdisjoint(it.key_variables))
        return next((it.base_url for it in keyed), keyless)

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
        keys = [self.client_api_key, *self._keys.values()]
        known = [key for key in keys if key and len(key) >= SHORTEST_SECRET]
        bodies = (self.agent_extra_body, self.reflection_extra_body, self.critic_extra_body)
        found = secrets_in(os.environ).union(*(secrets_in(body or {}) for body in bodies))
        return tuple(dict.fromkeys([*known, *sorted(found)]))

    def _key_for(self, base_url: str, named_in: Path | None) -> str | None:
        """A provider's key goes only to that provider, or to a proxy on this machine."""
        at_home = hosted_at(base_url)
        wire = "openai" if self.provider == "auto" else self.provider
        here = urlsplit(base_url).hostname in {"localhost", "127.0.0.1", "::1"}
        asked = [at_home] if at_home else [it for it in HOSTED if here and it.wire == wire]
        names = [name for it in asked for name in it.key_variables if name in self._keys]
        if self.client_api_key:
            names = [f"{PREFIX}CLIENT_API_KEY"]
        if not names:
            return None
        try:
            if setting(names):  # else its caller gave it
                check_key(base_url, named_in, names[:1], place_of(names[:1]))
        except LLMError as error:
            raise ConfigurationError(str(error)) from error
        return self.client_api_key or self._keys[names[0]]

    def _default_model(self, base_url: str) -> str:
        if base_url == EMBEDDED_BASE_URL:
            own = self.local_model_path
            return Path(own).stem if own else EMBEDDED_MODEL_NAME
        at_home = hosted_at(base_url)
        named = [it for it in HOSTED if it.wire == self.provider != "openai"]
        return next((it.small_model for it in ([at_home] if at_home else named)), "default")
