"""The pytest plugin that repeats each fuzz suite until its time is over."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

SLOW = 20.0
ROUND = 500
"""Examples after which Hypothesis begins anew; a test may say fewer for itself."""
_EXAMPLES = "examples"


class Fuzzing:
    """The pytest plugin: repeats each suite until its share of ``minutes`` is over."""

    def __init__(self, minutes: float) -> None:
        self._seconds = minutes * 60
        self._share = self._seconds

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Divide the time among the suites that one worker runs."""
        workers = int(getattr(session.config, "workerinput", {}).get("workercount", 1))
        self._share = self._seconds / max(1, -(-len(session.items) // workers))

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Run the test in rounds, in place of the ordinary call."""
        test = pyfuncitem.obj
        if not hasattr(test, "hypothesis"):
            raise pytest.UsageError(f"{pyfuncitem.nodeid} is not a Hypothesis test.")
        bounded = _Bounded(test.hypothesis.inner_test, self._share)
        test.hypothesis.inner_test = bounded.run
        arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}  # noqa: SLF001  as pytest itself calls it
        try:
            while not bounded.is_over:
                test(**arguments)
        except pytest.skip.Exception:
            if not bounded.is_over:
                raise
        finally:
            test.hypothesis.inner_test = bounded.test
            pyfuncitem.user_properties.append((_EXAMPLES, bounded.examples))
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was tried."""
        reporter = terminalreporter
        reporter.section("examples tried")
        for outcome in ("passed", "failed"):
            for report in reporter.getreports(outcome):
                for name, count in report.user_properties:
                    if name == _EXAMPLES:
                        reporter.line(f"{count:>12,}  {outcome}  {report.nodeid}")


class _Bounded:
    """A test that ends its round when its time is over, unless a failure is being made small."""

    def __init__(self, test: Callable[..., object], seconds: float) -> None:
        self.test = test
        self.examples = 0
        self._seconds = seconds
        self._until = math.inf  # what Hypothesis does before the first example does not count
        self._has_failed = False
        from hypothesis.errors import UnsatisfiedAssumption  # see pytest_configure

        self._no_failure = UnsatisfiedAssumption

        @functools.wraps(test)
        def run(*arguments: Any, **more: Any) -> None:  # noqa: ANN401  whatever is tested
            self._try(*arguments, **more)
            # At its end, because Hypothesis keeps a book of what each example draws.
            if self.is_over:
                pytest.skip("its time is over")  # which it lets through at once

        self.run = run

    @property
    def is_over(self) -> bool:
        return not self._has_failed and time.monotonic() > self._until

    def _try(self, *arguments: Any, **more: Any) -> None:  # noqa: ANN401  whatever is tested
        if not self.examples:
            self._until = time.monotonic() + self._seconds
        self.examples += 1
        try:
            self.test(*arguments, **more)
        except Exception as error:
            self._has_failed |= not isinstance(error, self._no_failure)
            raise


def pytest_addoption(parser: pytest.Parser) -> None:
    """The time, for this process and the workers."""
    parser.addoption("--fuzz-minutes", type=float, default=1.0)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Replace the profile that `tests/support/plugin.py` chose."""
    from hypothesis import HealthCheck, settings  # only now: its own plugin comes first

    settings.register_profile(
        "fuzz",
        max_examples=ROUND,
        deadline=timedelta(seconds=SLOW),
        derandomize=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile("fuzz")
    config.pluginmanager.register(Fuzzing(config.getoption("--fuzz-minutes")))
