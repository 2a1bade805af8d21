"""config.yaml: which model writes what, in which language and style, within which limits."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from movie_generator.errors import SettingsError
from movie_generator.llm import OpenRouter


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Persona(_Settings):
    """One voice of a dialogue."""

    id: str = Field(min_length=1)
    name: str = Field(min_length=1)
    description: str = ""
    """Character and manner of speaking, for the writer."""


class Limits(_Settings):
    """What may be spent on one script."""

    iterations: int = Field(default=10, ge=1, le=100)
    """Replies of the agent while it reads."""
    page_characters: int = Field(default=60_000, ge=1_000, le=1_000_000)
    """Text of the page that the writer sees; what is cut off is said."""
    page_bytes: int = Field(default=10_000_000, ge=1_000)
    """Bytes of a page that are read without an agent."""
    page_timeout: float = Field(default=30.0, gt=0)
    """Seconds for a page without an agent, and for each call of a tool."""
    startup_timeout: float = Field(default=60.0, gt=0)
    """Seconds for the MCP servers to start."""
    model_timeout: float = Field(default=300.0, gt=0)
    """Seconds for one reply of the model."""
    answer_tokens: int = Field(default=16_000, ge=256)
    """Length of the script as the model writes it."""


class AppConfig(_Settings):
    """All settings; every one has a default."""

    model: str = Field(default=OpenRouter.default_model, min_length=1)
    """The name at OpenRouter, or at the address that OPENROUTER_BASE_URL gives."""
    language: Literal["en", "ja"] = "en"
    style: Literal["single", "dialogue"] = "single"
    """One speaker, or the personas in conversation."""
    sections: int = Field(default=6, ge=1, le=50)
    """How many sections the writer is asked for."""
    personas: list[Persona] = Field(
        default=[
            Persona(id="host", name="Mika", description="Curious; asks what viewers would ask."),
            Persona(id="expert", name="Ken", description="Knows the topic; explains it plainly."),
        ]
    )
    """The speakers of a dialogue."""
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _check_personas(self) -> AppConfig:
        ids = [persona.id for persona in self.personas]
        if len(set(ids)) < len(ids):
            raise ValueError("each persona needs an id of its own")
        if self.style == "dialogue" and len(ids) < 2:
            raise ValueError("a dialogue needs at least two personas")
        return self

    @classmethod
    def load(cls, path: str | Path | None) -> AppConfig:
        """The settings in the file ``path``; without one, or in an empty one, the defaults.

        Raises:
            SettingsError: It cannot be read or used; the message names file and key.
        """
        if path is None or not str(path).strip():
            return cls()
        data = _read(Path(path))
        try:
            return cls.model_validate({} if data is None else data)
        except ValidationError as exc:
            problems = "; ".join(_problem(dict(error)) for error in exc.errors())
            raise SettingsError(f"Configuration {path}: {problems}.") from exc


_FIELDS = {
    "": [*AppConfig.model_fields],
    "limits": [*Limits.model_fields],
    "personas": [*Persona.model_fields],
}


def _read(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as exc:
        raise SettingsError(
            f"Configuration not found: {path}. Create it ('{{}}' is enough), or unset CONFIG_PATH."
        ) from exc
    except (OSError, UnicodeDecodeError) as exc:
        raise SettingsError(f"Configuration {path} cannot be read: {exc}") from exc
    except yaml.YAMLError as exc:
        raise SettingsError(f"Configuration {path} is no YAML: {exc}") from exc


def _problem(error: dict[str, Any]) -> str:
    place = [str(part) for part in error["loc"]]
    field = ".".join(place)
    if error["type"] == "extra_forbidden":
        known = _FIELDS[place[0] if len(place) > 1 else ""]
        near = difflib.get_close_matches(place[-1], known, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else f"; known are {', '.join(known)}"
        return f"unknown key '{field}'{hint}"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"'{field}': {message}" if field else message
