"""The lists of words and units that the check goes by; they are kept as data."""

import tomllib
from importlib.resources import files
from typing import Any


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads(files("movie_generator.grounding").joinpath(name).read_text("utf-8"))


WORDS = _data("words.toml")
UNITS = _data("units.toml")
