"""The command ``init``: the two configuration files, to be changed where they are."""

from importlib.resources import files
from pathlib import Path

from movie_generator.errors import SettingsError

NAMES = ("config.yaml", "mcp.jsonc")


def write_examples() -> None:
    """Write both files into the working directory, or neither where one is there already.

    Raises:
        SettingsError: There is one already, or none can be written.
    """
    if there := [name for name in NAMES if Path(name).exists()]:
        raise SettingsError(f"{there[0]} already exists; nothing was written.")
    for name in NAMES:
        try:
            with Path(name).open("xb") as file:
                file.write(files("movie_generator").joinpath(name).read_bytes())
        except OSError as error:
            raise SettingsError(f"{name} cannot be written: {error}") from error
        print(name)
