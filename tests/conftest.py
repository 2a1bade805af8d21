"""Every test runs in a folder of its own and without the keys of whoever runs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about us.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

PREFIXES = ("LANGFUSE_", "MOVIE_", "OPENROUTER_", "ZORKGPT_")
NAMES = frozenset({"CONFIG_PATH", "MCP_CONFIG_PATH"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record-golden", action="store_true", help="record the goldens anew")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--record-golden"):
        return
    for item in items:
        if item.get_closest_marker("record_golden"):
            item.add_marker(pytest.mark.skip(reason="records only with --record-golden"))


@pytest.fixture(scope="session", autouse=True)
def no_keys() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            ours = name.startswith(PREFIXES) or name in NAMES or name.endswith("_API_KEY")
            if ours:
                patch.delenv(name)
        # Requests of the model are those of the turns; tests of reflections switch them on.
        patch.setenv("ZORKGPT_REFLECTION_ENABLED", "false")
        yield


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
