"""The words, units and regular expressions that the check goes by; they are kept as data."""

import re
import tomllib
from importlib.resources import files
from typing import Any


def _data(name: str) -> dict[str, Any]:
    return tomllib.loads(files("movie_generator.grounding").joinpath(name).read_text("utf-8"))


WORDS = _data("words.toml")
UNITS = _data("units.toml")


def patterns(name: str) -> dict[str, re.Pattern[str]]:
    """Return the regular expressions of one module, by their names."""
    return {key: re.compile("".join(parts)) for key, parts in WORDS["patterns"][name].items()}
