"""The commands on files: init, script, show, export; and where a script goes.

A file or setting that cannot be used ends each of them with an error that says so.
"""

import asyncio
import logging
import os
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from mcp_ghost.cli.screen import standard_screen
from mcp_ghost.files import write_whole
from mcp_ghost.text import address, counted, duration, harmless, reason
from movie_generator.cli.flags import Flags
from movie_generator.environment import Environment
from movie_generator.errors import SettingsError, UnsavedError
from movie_generator.models import VideoScript
from movie_generator.pages.page import Saved
from movie_generator.settings import AppConfig

_EXAMPLES = ("config.yaml", "mcp.jsonc")
_KINDS = {".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown"}
_ABOUT_A_SCRIPT = 256 * 1024
"""Bytes."""


def init(_: Flags) -> None:
    """Write both files into the working directory, or neither where one is there already."""
    if there := [name for name in _EXAMPLES if Path(name).exists()]:
        raise SettingsError(f"{there[0]} already exists; nothing was written.")
    for name in _EXAMPLES:
        try:
            with Path(name).open("xb") as file:
                file.write(files("movie_generator").joinpath(name).read_bytes())
        except OSError as error:
            raise SettingsError(f"{name} cannot be written: {error}") from error
        print(name)


def script(flags: Flags) -> None:
    """Write the script of the pages to the named file, or to standard output as YAML.

    Flags beat the environment; if no MCP servers are named, the page is read without an agent.
    """
    from movie_generator.generate import generate_as_configured

    if flags.output:
        check_writable(flags.output, "-o")
    environment = Environment.read()
    named = {"config_path": flags.config, "mcp_config_path": flags.mcp_config}
    environment = environment.model_copy(update={key: it for key, it in named.items() if it})
    source, *more = _sources(flags)
    config = AppConfig.load(environment.config_path)
    names = ("language", "style", "sections", "minutes", "model", "wire", "check")
    given = {name: value for name in names if (value := getattr(flags, name)) is not None}
    try:
        config = AppConfig.model_validate({**config.model_dump(), **given})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        flag = f"--{first['loc'][0]}: " if first["loc"] else ""
        said = first["msg"].removeprefix("Value error, ")
        raise SettingsError(f"{flag}{said}.") from error
    logging.getLogger("movie_generator").setLevel(logging.ERROR)  # warnings are shown as progress
    screen = standard_screen(sys.stderr)
    where = source.url if isinstance(source, Saved) else address(source)
    screen.heading("movie_generator", where)
    started = time.monotonic()

    def tell(fraction: float, message: str) -> None:
        screen.parts([(f"{fraction:4.0%}", "cyan"), (message, "")])
        screen.busy(message)

    try:
        made = asyncio.run(
            generate_as_configured(source, tell, environment=environment, config=config, more=more)
        )
    finally:
        screen.idle()
    save_or_print(made, flags.output)
    parts = [
        (flags.output or "done", "bold green"),
        (made.title, ""),
        (counted(len(made.sections), "section"), ""),
        (counted(len([*made.narrations()]), "narration"), ""),
        (duration(time.monotonic() - started), ""),
    ]
    screen.parts(parts, mark="✓", style="green")


def _sources(flags: Flags) -> list[str | Saved]:
    """What the pages are read from: addresses, saved files, standard input."""
    first, *others = flags.urls or [""]
    if not first and flags.html is None:
        raise SettingsError("Name a page: a URL, a saved file, or --html FILE (- reads a pipe).")
    sources: list[str | Saved] = []
    if flags.html is not None:
        there = "about:blank" if flags.html == "-" else Path(flags.html).absolute().as_uri()
        sources.append(Saved(first or there, _read(flags.html)))
    for name in others if flags.html is not None else flags.urls:
        path = Path(name)
        if "://" in name or not path.is_file():
            sources.append(name)
        else:
            kind = _KINDS.get(path.suffix.lower(), "")
            sources.append(Saved(path.absolute().as_uri(), _read(name), kind))
    return sources


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name} cannot be read: {reason(error)}.") from error


def export(flags: Flags) -> None:
    """Print a script in another form, or write that to a file."""
    from movie_generator.show.export import exported

    text = exported(_loaded(flags.file), flags.format)
    if flags.output is None:
        _print(text)
    else:
        _write(flags.output, text, flags.file, "-o")


def _write(output: str, text: str, file: str, flag: str) -> None:
    """Write what was made of the script in ``file`` to the file that ``flag`` names."""
    if Path(output).exists() and Path(output).samefile(file):
        raise SettingsError(f"{output} is the script itself. Choose another file with {flag}.")
    check_writable(output, flag)
    write_whole(Path(output), text)


def _loaded(file: str) -> VideoScript:
    try:
        return VideoScript.load(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {reason(error)}.") from error


def show(flags: Flags) -> None:
    """Show a script, or write it to a file with its page beside it."""
    from movie_generator.show import document, lines

    loaded = _loaded(flags.file)
    if flags.html is None:
        lines.show(loaded, standard_screen(sys.stdout))
        return
    _write(flags.html, document.document(loaded), flags.file, "--html")
    print(f"{flags.html}: open it in a browser")


def check_writable(name: str, flag: str) -> None:
    """Write as much as a script to where ``name`` will be, before the script is paid for."""
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
        raise SettingsError(
            f"{path} cannot be written ({reason(error)}). Choose another file with {flag}."
        ) from error


def save_or_print(script: VideoScript, name: str | None) -> None:
    """Save ``script`` in the file ``name``; print it if none is named, or before an error."""
    if not name:
        _print(script.to_yaml())
        return
    try:
        script.save(name)
    except OSError as error:
        _print(script.text_for(name))
        raise UnsavedError(
            f"{name} could not be written ({reason(error)}). The script was printed to standard "
            "output instead."
        ) from error


def _print(text: str) -> None:
    print(harmless(text), end="", flush=True)
