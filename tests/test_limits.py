"""docs/limits.md says what the code does: each constant that it names has the bound beside it."""

from __future__ import annotations

import importlib
import re

from tests.support import ROOT

ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
CONSTANT = re.compile(r"`((?:\w+\.)+[A-Z][A-Z_]+)`")


def written(value: float) -> set[str]:
    """The ways in which a table may write ``value``."""
    sizes = {"KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
    scaled = {f"{value / size:,g} {name}" for name, size in sizes.items() if value >= size}
    return {f"{value:,}", f"{value:,g}", *scaled}


def test_the_bounds_in_the_table_are_those_of_the_code() -> None:
    rows = ROW.findall((ROOT / "docs/limits.md").read_text(encoding="utf-8"))
    compared = 0
    for what, bound, setting, _ in rows:
        for name in CONSTANT.findall(setting):
            module, _, constant = name.rpartition(".")
            value = getattr(importlib.import_module(module), constant)
            assert any(
                re.search(rf"(?<![\d,.]){re.escape(it)}\b", bound) for it in written(value)
            ), f"{what}: {name} is {value:,}, not {bound}"
            compared += 1
    assert compared >= 10
