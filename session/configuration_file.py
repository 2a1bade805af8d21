"""The sections of ``[tool.zorkgpt]`` in a TOML file, variables, and what is said of wrong ones."""

import json
import os
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from mcp_ghost.env_file import read_env_file
from mcp_ghost.errors import EnvFileError
from mcp_ghost.files import read_regular
from mcp_ghost.text import did_you_mean, reason
from mcp_ghost.trust import is_plain, may_use

PREFIX, DOTENV = "ZORKGPT_", ".env"
"""Of our variables, and the file that may set them."""


class ConfigurationError(ValueError):
    """Raised when the configuration cannot be used; the message says what to change."""


class _Environment(EnvSettingsSource):
    """The environment; what it does not set is left out before the field's type is looked at."""

    def prepare_field_value(
        self,
        field_name: str,
        field: FieldInfo,
        value: Any,  # noqa: ANN401  as pydantic-settings declares it
        value_is_complex: bool,
    ) -> Any:  # noqa: ANN401
        if value is None:
            return None
        return super().prepare_field_value(field_name, field, value, value_is_complex)


class _DotEnv(DotEnvSettingsSource):
    """``.env`` as all programs here read it."""

    def _read_env_file(self, file_path: Path) -> dict[str, str | None]:
        """Read what it sets; pydantic's own reader would ask nobody, and expand variables."""
        del file_path
        found = read_env_file(self.env_prefix)
        return {name.lower(): value for name, value in found.items() if value}

    def __call__(self) -> dict[str, Any]:
        return super().__call__() if self.env_vars else {}  # without looking up every field


class EnvironmentSettings(BaseSettings):
    """Settings that are arguments, or variables of the environment, or else of ``.env``."""

    model_config = SettingsConfigDict(env_file=DOTENV, env_ignore_empty=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the first over the others."""
        return init_settings, _Environment(settings_cls), _DotEnv(settings_cls)


_WRONG_TYPES = {
    "bool_parsing": "neither true nor false",
    "bool_type": "neither true nor false",
    "int_parsing": "not a whole number",
    "int_from_float": "not a whole number",
    "float_parsing": "not a number",
}
"""What is said of values of another type than the field's."""
_NO_KEYS_HERE = "keys come from the environment or .env, for example ZORKGPT_CLIENT_API_KEY."
_ROLES = ("agent", "reflection", "critic")
SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "seed",
    "reasoning_effort",
    "extra_body",
)
"""Options of a request that say how to write, not what."""
ROLE_KEYS = (*SAMPLING, "thinking_tokens")
"""What the section of a role's sampling has."""
_LISTED = {
    "llm": (
        *(f"{role}_{key}" for role in _ROLES for key in ("model", "base_url")),
        "provider",
        "client_base_url",
        "client_timeout_seconds",
    ),
    "game": ("story", "seed", "engine", "interpreter_path", "turn_timeout_seconds", "workdir"),
    "orchestrator": [
        "max_turns_per_episode",
        "max_turns_stuck",
        "max_turns_one_answer",
        "max_failed_turns",
        "max_cost_per_episode",
        "max_tokens_per_episode",
        "turn_delay_seconds",
        "evaluation_group",
        "without",
    ],
}
"""Sections whose keys are the names of fields; other fields begin with that of their section."""


def sections(fields: Iterable[str]) -> dict[str, dict[str, str]]:
    """Section -> key -> field, for all ``fields`` that a file may set."""
    found = {name: {key: key for key in keys} for name, keys in _LISTED.items()}
    for role in _ROLES:
        found[f"{role}_sampling"] = {key: f"{role}_{key}" for key in ROLE_KEYS}
    elsewhere = {field for keys in found.values() for field in keys.values()}
    for field in fields:
        if field not in elsewhere and not field.endswith("api_key"):
            words = 2 if field.startswith("action_check_") else 1
            section = "_".join(field.split("_")[:words])
            found.setdefault(section, {})[field.removeprefix(f"{section}_")] = field
    return found


def read_sections(path: Path, fields: Collection[str]) -> dict[str, object]:
    """Return the fields that the sections of ``path`` set.

    Raises:
        ConfigurationError: naming the file, the key and the nearest known one.
    """
    try:
        document = tomllib.loads(read_regular(path).decode())
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"No configuration file at {path}: create it or name another."
        ) from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"Cannot read {path}: {reason(error)}") from error
    values: dict[str, object] = {}
    known = sections(fields)
    for section, table in _table(path, _table(path, document, "tool"), "zorkgpt").items():
        if section not in known or not isinstance(table, dict):
            where = f"[tool.zorkgpt] of {path}"
            raise ConfigurationError(f"Unknown key '{section}' in {where}: {near(section, known)}")
        for key, value in table.items():
            if key not in known[section]:
                hint = _NO_KEYS_HERE if key.endswith("api_key") else near(key, known[section])
                where = f"[tool.zorkgpt.{section}] of {path}"
                raise ConfigurationError(f"Unknown key '{key}' in {where}: {hint}")
            values[known[section][key]] = value
    return values


def plain_only(path: Path, values: dict[str, object]) -> dict[str, object]:
    """Return ``values`` without those that only a trusted file may set, unless it is one."""
    asked = {name: it for name, it in values.items() if not is_plain(PREFIX + name, str(it))}
    is_trusted = may_use(path, {name: json.dumps(it) for name, it in asked.items()})
    return {name: it for name, it in values.items() if is_trusted or name not in asked}


def refuse_unknown_variables(fields: Iterable[str]) -> None:
    """Refuse a mistyped name, which would go unnoticed: all variables with our prefix are ours.

    Raises:
        ConfigurationError: naming the variable, where it is, and the nearest known one.
    """
    known = [PREFIX + name.upper() for name in fields]
    for source, names in (("the environment", os.environ), (DOTENV, names_in_dotenv(PREFIX))):
        for name in names:
            if name.upper().startswith(PREFIX) and name.upper() not in known:
                raise ConfigurationError(
                    f"Unknown variable {name} in {source}: {near(name, known)}"
                )


def near(key: str, known: Iterable[str]) -> str:
    """Return a hint naming the known name that was probably meant."""
    names = list(known)
    return did_you_mean(key, names) or f"choose from {', '.join(names)}."


def _origin(field: str, fields: Iterable[str], file: Path | None) -> str:
    """Tell how a person calls the field where it may have come from, the first that has it."""
    variable = PREFIX + field.upper()
    for place, names in (("", os.environ), (f" in {DOTENV}", names_in_dotenv(PREFIX))):
        if found := next((name for name in names if name.upper() == variable), None):
            return found + place
    for section, keys in sections(fields).items() if file else ():
        for key, name in keys.items():
            if name == field:
                return f"[tool.zorkgpt.{section}] {key} in {file}"
    return field


def explain(
    error: ValidationError,
    fields: Mapping[str, FieldInfo],
    given: Collection[str],
    file: Path | None,
) -> str:
    """Say what is wrong with which values; those of fields that are not to be shown are not.

    ``given`` are the fields that a flag or the caller set, ``file`` is the file of settings.
    """
    lines = ["Invalid settings:"]
    for problem in error.errors(include_url=False):
        name = ".".join(map(str, problem["loc"]))
        field = fields.get(name)
        if field is None:
            lines.append(f"  {name}: {problem['msg']}")
            continue
        value = repr(problem["input"]) if field.repr else "the given value"  # which is secret
        wrong_type = _WRONG_TYPES.get(problem["type"])
        says = (
            f"{value} is {wrong_type}" if wrong_type else f"{_demand(problem, field)}, not {value}"
        )
        lines.append(f"  {name if name in given else _origin(name, fields, file)}: {says}")
    return "\n".join(lines)


def problems_of(error: ValidationError) -> str:
    """Say in one line where a document is wrong, and how."""
    return "; ".join(
        f"{'.'.join(map(str, it['loc']))}: {it['msg'].removeprefix('Value error, ')}"
        for it in error.errors()
    )


def _demand(problem: ErrorDetails, field: FieldInfo) -> str:
    limits = problem.get("ctx", {})
    if "ge" in limits:
        return f"must be {limits['ge']:g} or more"
    if limits.get("gt") == 0 and field.annotation is int:
        return "must be 1 or more"
    if "gt" in limits:
        return f"must be more than {limits['gt']:g}"
    if "le" in limits:
        return f"must be {limits['le']:g} or less"
    return problem["msg"].replace("Input should", "must")


def _table(path: Path, table: dict[str, Any], name: str) -> dict[str, Any]:
    inner = table.get(name, {})
    if not isinstance(inner, dict):
        raise ConfigurationError(f"'{name}' in {path} is not a table: use [tool.zorkgpt.SECTION].")
    return inner


def names_in_dotenv(prefix: str = "") -> Iterable[str]:
    """Return what ``.env`` sets with that prefix.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return read_env_file(prefix)
    except EnvFileError as error:
        raise ConfigurationError(str(error)) from error
