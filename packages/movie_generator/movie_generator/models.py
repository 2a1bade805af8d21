"""The video script: what is said and shown, section by section; as YAML and as JSON."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from mcp_ghost.config import problem
from mcp_ghost.files import read_regular, write_whole
from movie_generator.errors import ScriptError
from movie_generator.settings import read_yaml

INSEPARABLE = "its reading cannot be separated from that of a sentence left out"
"""Why a sentence is left out that the page does support."""
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")
_FOLDED = re.compile("[\x85\u2028\u2029\ufeff]")
"""What YAML reads as the end of a line, or not at all, if it is not escaped."""


class _Part(BaseModel):
    # Models whose servers know no strict schemas add fields of their own.
    model_config = ConfigDict(extra="ignore")

    @field_validator("*", mode="after")
    @classmethod
    def _whole_characters(cls, value: object) -> object:
        """Half a character, which models send now and then, can be written to no file."""
        if not isinstance(value, str):
            return value
        return _HALF_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", value)


class Source(_Part):
    """The words of the page that a narration rests on."""

    start: int = 0
    """Where they begin in the page's text, in characters."""
    end: int = 0
    """Where they end."""
    quote: str
    """The words themselves."""


class Narration(_Part):
    """What one voice says without a break."""

    text: str
    """As it is shown."""
    reading: str
    """As it is spoken: in Japanese the katakana of ``text``."""
    persona_id: str | None = None
    """Who says it, in a dialogue."""
    source: Source | None = None
    """Found on the page; None if the model named none that is there."""

    @field_validator("source", mode="before")
    @classmethod
    def _usable(cls, value: object) -> object:
        """A source of another shape is none: old models make up their own."""
        if not isinstance(value, dict):
            return value if isinstance(value, Source) else None
        if not isinstance(value.get("quote"), str):
            return None
        numbers = {key: value[key] for key in ("start", "end") if type(value.get(key)) is int}
        return {"quote": value["quote"], **numbers}


class ScriptSection(_Part):
    """One part of the video, with one picture."""

    title: str
    narrations: list[Narration]
    slide_prompt: str | None = None
    """For a model that draws the picture."""
    source_image_url: str | None = None
    """An image of the page to show instead."""


class RoleAssignment(_Part):
    """What one persona does in a dialogue."""

    persona_id: str
    role: str
    description: str


class SourcePage(_Part):
    """The page that a script was written from; None for what it does not say."""

    url: str
    """Its own address, without what led to it."""
    title: str | None = None
    language: str | None = None
    """As "en" or "pt-BR"."""
    author: str | None = None
    date: str | None = None
    """When it was published, as YYYY-MM-DD."""
    text: str | None = None
    """As the writer was given it: sources have their places in it."""
    others: list[str] | None = None
    """The addresses of further pages whose texts are in ``text``."""


class Dropped(_Part):
    """A sentence that was left out, because the page does not support it."""

    section: str
    """The title of the section in which it stood."""
    text: str
    reasons: list[str]
    """What the page does not have, such as ``number “412 tonnes”``; or `INSEPARABLE` alone."""

    @property
    def why(self) -> str:
        """The end of ``left out, because …``."""
        reasons = ", ".join(self.reasons)
        whole = all(it.startswith((INSEPARABLE, "the page ")) for it in self.reasons)
        return reasons if whole else f"the page does not have the {reasons}"


class VideoScript(_Part):
    """A whole video."""

    title: str
    description: str
    sections: list[ScriptSection]
    role_assignments: list[RoleAssignment] | None = None
    dropped: list[Dropped] | None = None
    """What the model wrote, but the page does not support."""
    page: SourcePage | None = None
    """Of the program, not of the model."""

    def narrations(self) -> Iterator[tuple[int, int, Narration]]:
        """Yield each narration after the number of its section and its place there, both from 0."""
        for number, section in enumerate(self.sections):
            for place, narration in enumerate(section.narrations):
                yield number, place, narration

    def replaced(self, change: Callable[[int, int, Narration], Narration | None]) -> Self:
        """Return the script with what ``change`` leaves of each narration; empty sections go."""
        sections: list[ScriptSection] = []
        for number, section in enumerate(self.sections):
            changed = (change(number, *it) for it in enumerate(section.narrations))
            its = [it for it in changed if it is not None]
            if its or not section.narrations:
                sections.append(section.model_copy(update={"narrations": its}))
        return self.model_copy(update={"sections": sections})

    def to_json(self) -> str:
        """Return the script as JSON, indented."""
        return self.model_dump_json(indent=2) + "\n"

    def to_yaml(self) -> str:
        """Return the script as YAML, in the order of the fields."""
        import yaml

        class Dumper(yaml.SafeDumper):
            """Writes nothing that would be read back as something else."""

        def quoted(dumper: Dumper, text: str) -> yaml.ScalarNode:
            style = '"' if _FOLDED.search(text) else None
            return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

        Dumper.add_representer(str, quoted)
        return yaml.dump(
            self.model_dump(), Dumper=Dumper, allow_unicode=True, sort_keys=False, width=100
        )

    def save(self, path: str | Path) -> None:
        """Write JSON if the name ends in .json, else YAML; the whole file or none of it."""
        write_whole(Path(path), self.text_for(path))

    def text_for(self, path: str | Path) -> str:
        """Return what ``save`` writes to ``path``."""
        return self.to_json() if Path(path).suffix.lower() == ".json" else self.to_yaml()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote.

        Raises:
            ScriptError: It is not a video script; the message says where.
            OSError: It cannot be read.
        """
        path = Path(path)
        try:
            text = read_regular(path).decode()
            if path.suffix.lower() == ".json":  # YAML refuses characters that JSON allows
                return cls.model_validate_json(text)
            return cls.model_validate(read_yaml(text))
        except ValueError as error:
            reason = str(error)
            if isinstance(error, UnicodeDecodeError):
                reason = "it is not UTF-8"
            elif isinstance(error, ValidationError):
                first = error.errors(include_url=False)[0]
                is_empty = first["type"] == "model_type"
                reason = "it has no title and no sections" if is_empty else problem(dict(first), [])
            raise ScriptError(
                f"{path} is not a video script: {reason}. "
                "Name a file that `script` or `result` has saved."
            ) from error
