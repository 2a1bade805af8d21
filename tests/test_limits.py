"""docs/limits.md says what the code does: each constant that it names has the bound beside it."""

from __future__ import annotations

import importlib
import inspect
import re

from mcp_ghost import mcp_ghost
from mcp_ghost.config import ServerConfig
from movie_generator.settings import Limits
from session.game_configuration import GameConfiguration
from tests.support import ROOT

ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
SETTING = re.compile(r"`([a-z_]+)`")
CONSTANT = re.compile(r"`((?:\w+\.)+[A-Z][A-Z_]+)`")


def written(value: float) -> set[str]:
    """The ways in which a table may write ``value``."""
    sizes = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
    scaled = {f"{value / size:,g} {name}" for name, size in sizes.items() if value >= size}
    return {f"{value:,}", f"{value:,g}", *scaled}


def agree(bound: str, value: float) -> bool:
    return any(re.search(rf"(?<![\d,.]){re.escape(it)}\b", bound) for it in written(value))


def rows() -> list[tuple[str, str, str, str]]:
    return ROW.findall((ROOT / "docs/limits.md").read_text(encoding="utf-8"))


def test_the_bounds_in_the_table_are_those_of_the_code() -> None:
    compared = 0
    for what, bound, setting, _ in rows():
        for name in CONSTANT.findall(setting):
            module, _, constant = name.rpartition(".")
            value = getattr(importlib.import_module(module), constant)
            assert agree(bound, value), f"{what}: {name} is {value:,}, not {bound}"
            compared += 1
    assert compared >= 30


def test_the_bounds_in_the_table_are_the_defaults_of_their_settings() -> None:
    configured = {
        name: field.default
        for model in (GameConfiguration, Limits, ServerConfig)
        for name, field in model.model_fields.items()
    }
    taken = inspect.signature(mcp_ghost).parameters
    defaults = configured | {name: it.default for name, it in taken.items()}
    compared = 0
    for what, bound, setting, _ in rows():
        for name in SETTING.findall(setting):
            if name.isupper() or name == "include_tools":  # it chooses, and limits nothing
                continue
            value = defaults[name]
            if value is None:
                assert bound.startswith("unlimited"), what
                continue
            assert agree(bound, value), f"{what}: {name} is {value:,}, not {bound}"
            compared += 1
    assert compared >= 15
