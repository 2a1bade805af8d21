"""Tables that are kept as data: TOML files, in which regular expressions stand in parts."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(package: str, path: str) -> dict[str, Any]:
    """Return what the file at ``path`` in ``package`` holds."""
    return tomllib.loads(files(package).joinpath(path).read_text("utf-8"))


def compiled(patterns: Mapping[str, list[str]]) -> dict[str, re.Pattern[str]]:
    """Return regular expressions by their names, each joined from its parts."""
    return {name: re.compile("".join(parts)) for name, parts in patterns.items()}


@cache
def patterns(package: str, path: str, section: str = "") -> dict[str, re.Pattern[str]]:
    """Return the regular expressions in a table, or in a section of it."""
    whole = table(package, path)
    return compiled(whole[section] if section else whole)
