"""The command ``script``: one page, shown as it goes, and saved."""

import asyncio
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mcp_ghost.cli.screen import Screen, standard_screen
from mcp_ghost.text import address, counted, duration
from movie_generator.cli.flags import Flags
from movie_generator.cli.saving import check_writable, save_or_print
from movie_generator.environment import Environment
from movie_generator.generate import generate_as_configured


def make_script(flags: Flags, on_closed: Callable[[], None]) -> None:
    """Write the script of a page to the named file, or to standard output as YAML.

    Flags beat the environment; if no MCP servers are named, the page is read without an agent.

    Raises:
        SettingsError: A setting cannot be used, or the file could not be written.
        UnsavedError: The file could be written before, but not now; the script was printed.
    """
    output = flags.output
    if output:
        check_writable(output, "-o")
    environment = Environment.read()
    environment = replace(
        environment,
        config_path=flags.config or environment.config_path,
        mcp_config_path=flags.mcp_config or environment.mcp_config_path,
    )
    logging.getLogger("movie_generator").setLevel(logging.ERROR)  # warnings are shown as progress
    screen = standard_screen(on_closed, sys.stderr)
    screen.heading("movie_generator", address(flags.url))
    started = time.monotonic()
    try:
        told = partial(_show, screen)
        script = asyncio.run(generate_as_configured(flags.url, told, environment=environment))
    finally:
        screen.idle()
    save_or_print(script, output)
    narrations = sum(len(section.narrations) for section in script.sections)
    parts = [
        (output or "done", "bold green"),
        (script.title, ""),
        (counted(len(script.sections), "section"), ""),
        (counted(narrations, "narration"), ""),
        (duration(time.monotonic() - started), ""),
    ]
    screen.parts(parts, mark="✓", style="green")


def _show(screen: Screen, fraction: float, message: str) -> None:
    screen.parts([(f"{fraction:4.0%}", "cyan"), (message, "")])
    screen.busy(message)
