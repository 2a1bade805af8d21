"""A pytest plug-in: tests that record a run with ``--record-golden``, and replay it without.

    def test_notes(golden):
        result = golden(server_config=..., system_prompt="", provider="openai", user_prompt="...")

It is loaded into every run of pytest where this package is installed, so it imports nothing that
somebody who does not use it would wait for.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from mcp_ghost.golden.comparison import SameAnswer

_FLAG = "--record-golden"
_MARKER = "record_golden: asks a model and writes a golden; runs only with --record-golden"
_OF_THE_RECORDING = ("api_key", "base_url", "transport")
"""Arguments that a replay does without: nothing is sent anywhere."""
_RECORDERS = pytest.StashKey[dict[Path, str]]()
"""Which test has recorded a golden under its own name."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flag."""
    group = parser.getgroup("mcp_ghost")
    group.addoption(_FLAG, action="store_true", help="ask the models, and record the goldens again")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what only records, unless the flag is given."""
    if config.getoption(_FLAG):
        return
    for item in items:
        if item.get_closest_marker("record_golden"):
            item.add_marker(pytest.mark.skip(reason=f"runs only with {_FLAG}"))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> GoldenRun:
    """Run ``mcp_ghost()`` from a golden, or into one with ``--record-golden``."""
    if sys.platform == "win32":
        from mcp_ghost.errors import POSIX_ONLY

        pytest.fail(POSIX_ONLY, pytrace=False)
    name = re.sub(r"[^\w.-]+", "_", request.node.name).strip("_")
    return GoldenRun(
        request.path.parent / "goldens" / f"{name}.json",
        is_recording=request.config.getoption(_FLAG),
        test=request.node.nodeid,
        recorders=request.config.stash.setdefault(_RECORDERS, {}),
    )


class GoldenRun:
    """The fixture ``golden``: call it in plain tests, and await ``run`` in coroutines."""

    def __init__(
        self,
        path: Path,
        *,
        is_recording: bool,
        test: str = "",
        recorders: dict[Path, str] | None = None,
    ) -> None:
        self.path = path
        """Where the golden is, unless a call says otherwise: ``goldens/NAME_OF_THE_TEST.json``."""
        self.is_recording = is_recording
        self._test = test
        self._recorders = {} if recorders is None else recorders
        self._has_recorded = False

    def __call__(self, path: str | Path | None = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        """Do what ``run`` does, for tests without an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(path, **options))
        raise RuntimeError("This test already runs an event loop: use 'await golden.run(...)'.")

    async def run(
        self,
        path: str | Path | None = None,
        *,
        servers: Literal["live", "recorded"] = "live",
        same_answer: SameAnswer | None = None,
        volatile: Iterable[str] = (),
        **arguments: Any,  # noqa: ANN401  those of mcp_ghost
    ) -> dict[str, Any]:
        """Return the result of ``mcp_ghost(**arguments)``, which has to match the golden.

        ``path`` is relative to the folder of the test; ``servers`` means what it does in
        :func:`mcp_ghost.golden.replay_golden`, ``same_answer`` what it does in
        :func:`mcp_ghost.golden.compare_golden`, and ``volatile`` is recorded. With
        ``--record-golden``, the model is asked, the golden is written, and nothing is compared.

        Raises:
            AssertionError: The run differs from the golden; the message says how.
            GoldenError: It cannot be read, written or replayed.
        """
        from mcp_ghost.golden import assert_matches_golden, record_golden, replay_golden

        is_its_own = path is None
        path = self.path if path is None else self.path.parent.parent / path
        if self.is_recording:
            test = self._recorders.setdefault(self.path, self._test) if is_its_own else self._test
            if is_its_own and (test != self._test or self._has_recorded):
                # Instead of writing over what another call or test has just recorded.
                advice = "give this call another path, before its other arguments"
                pytest.fail(f"{test} has just recorded {self.path}: {advice}.", pytrace=False)
            self._has_recorded |= is_its_own
            recorded = await record_golden(path, volatile=volatile, **arguments)
            if recorded.fault:
                raise recorded.fault
            return recorded
        if not path.exists():
            pytest.fail(f"No golden at {path}. Record it with {_FLAG}.", pytrace=False)
        given = {key: it for key, it in arguments.items() if key not in _OF_THE_RECORDING}
        result = await replay_golden(path, servers=servers, **given)
        assert_matches_golden(result, path, same_answer=same_answer)
        return result
