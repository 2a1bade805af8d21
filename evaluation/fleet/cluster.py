"""Ray: imported when it is asked for, started with patience, and gone when the program ends."""

import importlib
import logging
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from evaluation.fleet.folder import own_folder
from mcp_ghost.servers import reaper
from mcp_ghost.text import one_line
from session.configuration_file import ConfigurationError

HERE = "ray"
STARTS = 3
"""Times that a local cluster is started before it is given up."""
_PREFIX = "zray-"
"""Short, because the path of a socket has to be."""
_WARM_UPS = 5
_HOLD_SECONDS = 0.5
_ENVIRONMENT = {
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # or each worker would be installed anew
    "RAY_USAGE_STATS_ENABLED": "0",  # or it would report to its makers
    "SPT_NOENV": "1",  # or its agents' titles would wipe out the mark by which strays are found
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # or it would warn of what it will do one day
}
_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"


def import_ray() -> ModuleType:
    """Import Ray.

    Raises:
        ConfigurationError: It is not installed.
    """
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module(HERE)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "--on ray needs Ray, which is not installed. Install it with: uv sync --extra fleet "
            "(or write `uv run --extra fleet python scripts/evaluate.py ...`)"
        ) from error


@contextmanager
def cluster(place: str, workers: int, say: Callable[[str], None]) -> Iterator[ModuleType]:
    """Ray, connected to the cluster at ``place``, or to one of ``workers`` that is started here.

    Raises:
        ConfigurationError: There is none, and none can be started.
    """
    _sign_in(place)
    ray = import_ray()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.CRITICAL}
    if place != HERE:
        try:
            _connect(ray, place, quiet, say)
            yield ray
        finally:
            ray.shutdown()
        return
    with own_folder(_PREFIX) as folder:
        options = {"num_cpus": workers, "include_dashboard": False, "_temp_dir": str(folder)}
        with _started(ray, {"address": "local", **options, **quiet}, say):
            # Every worker is started before anything is played: it takes each of them seconds.
            hold = ray.remote(num_cpus=1)(_hold)
            for _ in range(_WARM_UPS):
                if len({*ray.get([hold.remote() for _ in range(workers)])}) == workers:
                    break
            yield ray


def _sign_in(place: str) -> None:
    """Have Ray send a token: it asks for one by default, but its client sends none unless told.

    A cluster of our own gets one for itself, or Ray would leave one in the user's home directory,
    and clusters that are started later would ask for that.
    """
    if _MODE in os.environ:
        return
    if place == HERE:
        os.environ |= {_MODE: "token", _TOKEN: secrets.token_hex(32)}
        return
    file = Path(os.environ.get(f"{_TOKEN}_PATH") or Path.home() / ".ray" / "auth_token")
    if os.environ.get(_TOKEN) or file.is_file():
        os.environ[_MODE] = "token"


@contextmanager
def _nothing_left() -> Iterator[None]:
    """What Ray starts meanwhile is ended, also if this program is killed: Ray's agents are not."""
    mark = secrets.token_hex(8)
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True) as first:
        reaper.guard(first.pid, mark)
        os.environ[reaper.MARK] = mark
        try:
            yield
        finally:
            del os.environ[reaper.MARK]
            reaper.end_strays(first.pid, mark)
            first.communicate()  # which ends it
            reaper.release(first.pid)


def _connect(
    ray: ModuleType, place: str, quiet: dict[str, Any], say: Callable[[str], None]
) -> None:
    """Connect to a cluster; again, if it answered but did not let us in."""
    for left in reversed(range(STARTS)):
        try:
            ray.init(place, **quiet)
            break
        except ConnectionAbortedError as error:  # it answered, with a traceback
            ray.shutdown()
            why = str(error).strip().splitlines()[-1].rstrip(".")
            if not left:
                raise ConfigurationError(
                    f"The Ray cluster at {place} refused {STARTS} connections in a row ({why}). "
                    "Try again when its head is less busy, or look at the logs there."
                ) from error
            say(f"The Ray cluster at {place} refused the connection ({why}): trying again.")
        except Exception as error:  # of many types: none of them is documented
            raise ConfigurationError(
                f"There is no Ray cluster at {place} ({one_line(error)}). Start its head with: uv "
                "run --extra fleet ray start --head --ray-client-server-port 10001. If it is "
                "there, it may ask for a token: copy ~/.ray/auth_token from its head to this "
                "machine."
            ) from error


def _hold() -> int:
    """Keep a worker busy, so that the next task gets another; its process."""
    importlib.import_module("evaluation.fleet.worker")
    time.sleep(_HOLD_SECONDS)
    return os.getpid()


@contextmanager
def _started(
    ray: ModuleType, options: dict[str, Any], say: Callable[[str], None]
) -> Iterator[None]:
    """A cluster; of a try that failed nothing is left when the next one begins."""
    for left in reversed(range(STARTS)):
        with _nothing_left(), ExitStack() as leaving:
            leaving.callback(ray.shutdown)
            try:
                ray.init(**options)
            except Exception as error:  # of many types: none of them is documented
                why = one_line(error).partition(". ")[0].rstrip(".")
                if not left:
                    raise ConfigurationError(
                        f"Ray did not start in {STARTS} tries ({why}). Try again when the machine "
                        "is less busy, or leave out --on."
                    ) from error
                slow = "as happens on slow machines at first"
                say(f"Ray did not start ({why}), {slow}: trying again.")
                continue
            yield
            return
