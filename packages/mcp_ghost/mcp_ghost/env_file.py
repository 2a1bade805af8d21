"""The file ``.env`` in the working directory, for all programs here."""

import json
import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from mcp_ghost.errors import EnvFileError
from mcp_ghost.files import read_regular
from mcp_ghost.trust import is_plain, may_use

ENV_FILE: Final = Path(".env")
_added: dict[str, str] = {}
"""What ``load_env_file`` put into the environment of this process."""


def read_env_file(prefix: str = "") -> dict[str, str]:
    """What it sets that begins with ``prefix``; nothing if there is none.

    What only a trusted file may set is left out.

    Raises:
        EnvFileError: It cannot be read.
    """
    found = _parsed(expands=False)
    wanted = {it for it in found if it.upper().startswith(prefix.upper())}
    asked = sorted(name for name in wanted if not is_plain(name, found[name]))
    if asked and may_use(ENV_FILE, {json.dumps(name): "" for name in asked}):
        found, asked = _parsed(expands=True), []
    return {name: value for name, value in found.items() if name in wanted - {*asked}}


def _parsed(*, expands: bool) -> dict[str, str]:
    if not ENV_FILE.exists() or ENV_FILE.is_dir():  # some keep a virtual environment there
        return {}
    try:
        return variables_of(ENV_FILE, expands=expands)
    except UnicodeDecodeError as error:
        raise EnvFileError("Cannot read .env: it is not UTF-8. Save it as UTF-8.") from error
    except OSError as error:
        raise EnvFileError(f"Cannot read .env: {error.strerror}.") from error


def variables_of(file: Path, *, expands: bool = False) -> dict[str, str]:
    """What a file of NAME=VALUE lines sets; ``expands``: also with the values of other variables.

    Raises:
        OSError: It cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    from dotenv import dotenv_values  # few need it

    text = read_regular(file).decode("utf-8-sig")
    found = dotenv_values(stream=StringIO(text), interpolate=expands)
    return {name: value for name, value in found.items() if value is not None}


def load_env_file() -> None:
    """Add to the environment what the file sets and the environment does not.

    Raises:
        EnvFileError: It cannot be read.
    """
    for name, value in read_env_file().items():
        if name not in os.environ:
            os.environ[name] = _added[name] = value


def setting(variables: Sequence[str]) -> str | None:
    """The first of ``variables`` that is set, in the environment or else in the file.

    Raises:
        EnvFileError: It cannot be read.
    """
    if here := next(filter(None, map(os.environ.get, variables)), None):
        return here
    # By name: nobody is asked about what else the file sets.
    return next(filter(None, (read_env_file(name).get(name) for name in variables)), None)


def place_of(variables: Sequence[str]) -> Path | None:
    """The file, if it is what sets the first of ``variables`` that is set in any case of letters.

    Raises:
        EnvFileError: It cannot be read.
    """
    wanted = {name.upper() for name in variables}
    own = {name.upper() for name, it in os.environ.items() if it and _added.get(name) != it}
    in_file = {name.upper() for name, value in _parsed(expands=False).items() if value}
    return ENV_FILE if wanted & in_file and not wanted & own else None
