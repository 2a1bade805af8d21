"""The command ``script``: one page, shown as it goes, and saved."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.screen import Screen, standard_screen
from mcp_ghost.text import address, counted, duration, harmless
from movie_generator.environment import Environment
from movie_generator.errors import SettingsError
from movie_generator.generate import generate_script_from_url, generate_script_from_url_with_agent

if TYPE_CHECKING:
    from movie_generator.models import VideoScript


def make_script(
    url: str,
    output: str | None,
    *,
    config: str | None,
    mcp_config: str | None,
    on_closed: Callable[[], None],
) -> None:
    """Write the script of ``url`` into the file ``output``, else to standard output as YAML.

    Flags go before the environment; with no MCP servers named, the page is read without an agent.

    Raises:
        SettingsError: A setting cannot be used, or the file could not be written.
    """
    if output:
        _check_writable(Path(output))
    environment = Environment.read()
    environment = replace(
        environment,
        config_path=config or environment.config_path,
        mcp_config_path=mcp_config or environment.mcp_config_path,
    )
    screen = standard_screen(on_closed, sys.stderr)
    screen.heading("movie_generator", address(url))
    started = time.monotonic()
    try:
        script = asyncio.run(_generate(url, environment, screen))
    finally:
        screen.idle()
    if output:
        script.save(output)
    else:
        print(harmless(script.to_yaml()), end="")
    narrations = sum(len(section.narrations) for section in script.sections)
    parts = [
        (output or "done", "bold green"),
        (script.title, ""),
        (counted(len(script.sections), "section"), ""),
        (counted(narrations, "narration"), ""),
        (duration(time.monotonic() - started), ""),
    ]
    screen.parts(parts, mark="✓", style="green")


async def _generate(url: str, environment: Environment, screen: Screen) -> VideoScript:
    def show(fraction: float, message: str) -> None:
        screen.parts([(f"{fraction:4.0%}", "cyan"), (message, "")])
        screen.busy(message)

    logging.getLogger("movie_generator").setLevel(logging.ERROR)  # warnings are shown as progress
    if environment.mcp_config_path is None:
        return await generate_script_from_url(
            url, config_path=environment.config_path, on_progress=show
        )
    return await generate_script_from_url_with_agent(
        url, environment.mcp_config_path, environment.config_path, on_progress=show
    )


def _check_writable(path: Path) -> None:
    """A file that cannot be written is better noticed before the script is paid for."""
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SettingsError(f"{path} cannot be written. Give another file with -o.")
