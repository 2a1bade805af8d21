import threading
from contextlib import ExitStack

import pytest

from mcp_ghost.breaker import CircuitBreaker
from tests.support import PATIENCE


class RefusedError(Exception):
    pass


class Harness:
    """A breaker of two failures and ten seconds, with a clock to turn by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.breaker = CircuitBreaker(
            2,
            10,
            is_failure=lambda exc: isinstance(exc, OSError),
            refusal=lambda seconds: RefusedError(seconds),
            clock=lambda: self.now,
        )

    def call(self, error: BaseException | None = None) -> None:
        with self.breaker.call():
            if error:
                raise error

    def fail(self, times: int = 1) -> None:
        for _ in range(times):
            with pytest.raises(OSError, match="down"):
                self.call(OSError("down"))


def test_it_opens_after_failures_in_a_row_and_says_how_long() -> None:
    harness = Harness()
    harness.fail(2)
    harness.now = 3
    with pytest.raises(RefusedError) as caught:
        harness.call()
    assert caught.value.args == (7.0,)
    assert harness.breaker.is_open


def test_a_success_between_failures_starts_the_count_anew() -> None:
    harness = Harness()
    harness.fail()
    harness.call()
    harness.fail()
    harness.call()
    assert not harness.breaker.is_open


@pytest.mark.parametrize("error", [ValueError("no failure"), KeyboardInterrupt()])
def test_what_is_not_a_failure_leaves_the_count_as_it_is(error: BaseException) -> None:
    harness = Harness()
    harness.fail()
    with pytest.raises(type(error)):
        harness.call(error)
    assert not harness.breaker.is_open
    harness.fail()
    assert harness.breaker.is_open


def test_a_probe_that_succeeds_closes_it() -> None:
    harness = Harness()
    harness.fail(2)
    harness.now = 10
    harness.call()
    harness.fail()
    assert not harness.breaker.is_open


def test_a_probe_that_fails_opens_it_for_the_whole_time_again() -> None:
    harness = Harness()
    harness.fail(2)
    harness.now = 10
    harness.fail()
    harness.now = 19
    with pytest.raises(RefusedError):
        harness.call()


def test_an_interrupted_probe_lets_the_next_call_probe() -> None:
    harness = Harness()
    harness.fail(2)
    harness.now = 10
    with pytest.raises(KeyboardInterrupt):
        harness.call(KeyboardInterrupt())
    harness.call()
    assert not harness.breaker.is_open


def test_a_call_from_before_that_ends_during_the_probe_does_not_let_in_a_second() -> None:
    harness = Harness()
    early = ExitStack()
    early.enter_context(harness.breaker.call())
    harness.fail(2)
    harness.now = 10
    with harness.breaker.call():
        with pytest.raises(ValueError, match="no failure"), early:
            raise ValueError("no failure")
        with pytest.raises(RefusedError):
            harness.call()


def test_one_call_at_a_time_may_probe() -> None:
    harness = Harness()
    harness.fail(2)
    harness.now = 10
    inside, leave = threading.Event(), threading.Event()

    def probe() -> None:
        with harness.breaker.call():
            inside.set()
            leave.wait(PATIENCE)

    thread = threading.Thread(target=probe)
    thread.start()
    assert inside.wait(PATIENCE)
    with pytest.raises(RefusedError):
        harness.call()
    leave.set()
    thread.join(PATIENCE)
    harness.call()
