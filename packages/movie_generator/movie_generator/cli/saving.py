"""Where scripts go: to the file that was named, or to standard output."""

import os
import tempfile
from pathlib import Path

from mcp_ghost.text import harmless
from movie_generator.errors import SettingsError, UnsavedError
from movie_generator.models import VideoScript

_ABOUT_A_SCRIPT = 256 * 1024
"""Bytes."""


def check_writable(name: str, flag: str) -> None:
    """It is better to notice that a file cannot be written before the script is paid for.

    Raises:
        SettingsError: It cannot, or there is no room for it.
    """
    path = Path(name)
    try:
        folder = path.parent
        while not folder.exists():
            folder = folder.parent
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(_ABOUT_A_SCRIPT))
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        reason = error.strerror or error
        raise SettingsError(
            f"{path} cannot be written ({reason}). Choose another file with {flag}."
        ) from error


def save_or_print(script: VideoScript, name: str | None) -> None:
    """Save ``script`` in the file ``name``; print it if none is named, or if that fails.

    Raises:
        UnsavedError: It could not be saved and was printed.
    """
    if not name:
        _print(script.to_yaml())
        return
    try:
        script.save(name)
    except OSError as error:
        _print(script.text_for(name))
        raise UnsavedError(
            f"{name} could not be written ({error.strerror or error}). The script was printed to "
            "standard output instead."
        ) from error


def _print(text: str) -> None:
    print(harmless(text), end="", flush=True)
