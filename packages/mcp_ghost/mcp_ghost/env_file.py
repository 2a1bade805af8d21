"""The file ``.env`` in the working directory, for all programs here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from mcp_ghost.errors import EnvFileError


def read_env_file() -> dict[str, str]:
    """What it sets; nothing if there is none.

    Raises:
        EnvFileError: It cannot be read.
    """
    if not Path(".env").exists():
        return {}
    from dotenv import dotenv_values  # few need it

    try:
        found = dotenv_values(".env")
    except UnicodeDecodeError as error:
        raise EnvFileError("Cannot read .env: it is not UTF-8. Save it as UTF-8.") from error
    except OSError as error:
        raise EnvFileError(f"Cannot read .env: {error.strerror}.") from error
    return {name: value for name, value in found.items() if value is not None}


def load_env_file() -> None:
    """Add to the environment what the file sets and the environment does not.

    Raises:
        EnvFileError: It cannot be read.
    """
    for name, value in read_env_file().items():
        os.environ.setdefault(name, value)


def setting(variables: Sequence[str]) -> str | None:
    """The first of ``variables`` that is set, in the environment or else in the file.

    Raises:
        EnvFileError: It cannot be read.
    """
    here = next(filter(None, map(os.environ.get, variables)), None)
    return here or next(filter(None, map(read_env_file().get, variables)), None)
