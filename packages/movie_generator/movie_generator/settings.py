"""config.yaml: which model writes what, in which language and style, within which limits."""

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from mcp_ghost.config import problem
from mcp_ghost.files import read_regular
from mcp_ghost.providers.common import WireChoice
from mcp_ghost.text import reason
from movie_generator.errors import SettingsError
from movie_generator.grounding.language import language_name


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
    """Text of the page that the writer sees; any cut is reported."""
    page_bytes: int = Field(default=10_000_000, ge=1_000)
    """Bytes of a page that are read without an agent."""
    page_timeout: float = Field(default=30.0, gt=0)
    """Seconds for a page without an agent, parsed, and for each call of a tool."""
    startup_timeout: float = Field(default=60.0, gt=0)
    """Seconds for the MCP servers to start."""
    model_timeout: float = Field(default=300.0, gt=0)
    """Seconds for one reply of the model."""
    answer_tokens: int = Field(default=16_000, ge=256)
    """Length of the script as the model writes it."""


_PARTS: dict[str | int, type[_Settings]] = {"limits": Limits, "personas": Persona}


class AppConfig(_Settings):
    """All settings; every one has a default."""

    model: str | None = Field(default=None, min_length=1)
    """Its name at the provider; by default the provider's own choice."""
    wire: WireChoice = "auto"
    """Which of OpenAI's formats the model is asked in, where its provider speaks one of them."""
    language: str = "en"
    """Of the script, whatever that of the page is: a code such as en, ja or pt-BR."""
    style: Literal["single", "dialogue"] = "single"
    """One speaker, or the personas in conversation."""
    sections: int = Field(default=6, ge=1, le=50)
    """How many sections the writer is asked for."""
    minutes: float | None = Field(default=None, gt=0, le=240)
    """About how long the script should take to speak; by default as long as the page needs."""
    check: Literal["rules", "model"] = "rules"
    """Whether the model judges each sentence, too, with one more call."""
    personas: list[Persona] = Field(
        default=[
            Persona(id="host", name="Mika", description="Curious; asks what viewers would ask."),
            Persona(id="expert", name="Ken", description="Knows the topic; explains it plainly."),
        ]
    )
    """The speakers of a dialogue."""
    obey_robots: bool = True
    """Whether a page is left alone when its site's robots.txt says so."""
    limits: Limits = Limits()

    @field_validator("language")
    @classmethod
    def _known_language(cls, language: str) -> str:
        language_name(language)
        return language

    @model_validator(mode="after")
    def _check_personas(self) -> Self:
        ids = [persona.id for persona in self.personas]
        if len(set(ids)) < len(ids):
            raise ValueError("each persona needs its own id")
        if self.style == "dialogue" and len(ids) < 2:
            raise ValueError("a dialogue needs at least two personas")
        return self

    @classmethod
    def load(cls, path: str | Path | None) -> Self:
        """The settings in the file ``path``; without one, or in an empty one, the defaults.

        Raises:
            SettingsError: It cannot be read or used; the message names file and key.
        """
        if path is None or not str(path).strip():
            return cls()
        try:
            data = read_yaml(read_regular(Path(path)).decode("utf-8-sig"))
        except FileNotFoundError as error:
            raise SettingsError(
                f"Configuration not found: {path}. Create it ('{{}}' is enough), or unset "
                "CONFIG_PATH."
            ) from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"Configuration {path} is not UTF-8. Save it as UTF-8.") from error
        except (OSError, ValueError) as error:
            raise SettingsError(f"Configuration {path} cannot be read: {reason(error)}.") from error
        if not isinstance(data, dict | None):
            raise SettingsError(
                f"Configuration {path} holds no settings. Write one on each line, such as "
                "'language: en'."
            )
        try:
            return cls.model_validate(data or {})
        except ValidationError as error:
            problems = "; ".join(
                problem(dict(it), _PARTS.get((*it["loc"], "")[0], AppConfig).model_fields)
                for it in error.errors()
            )
            raise SettingsError(f"Configuration {path}: {problems}.") from error


def read_yaml(text: str) -> object:
    """What ``text`` holds, which is YAML.

    Raises:
        ValueError: It cannot be read; the message says where it is wrong first.
    """
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{where}{error.problem or error.context}") from error
    except yaml.YAMLError as error:  # of a character, which names no line
        raise ValueError(str(error).partition(":")[0]) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:  # of Python's own dates and numbers
        said = str(error).partition(";")[0]
        raise ValueError(f"a date or number in it is impossible ({said})") from error
