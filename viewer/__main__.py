"""The viewer's command line: flags in, exit code out."""

from __future__ import annotations

if __name__ == "__main__":  # before the imports that take their time
    from mcp_ghost.cli.interruption import leave_at_once

    leave_at_once()

import gc
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.cli.program import DONE, Errors, program
from viewer.flags import PROGRAM, Flags, parse_flags

if TYPE_CHECKING:
    from mcp_ghost.cli.screen import Screen
    from viewer.library import Library

_QUIET = 3.0
"""Seconds of reading after which a line says so, where no bar can."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    flags = parse_flags(arguments)
    return program(PROGRAM, lambda: _do(flags), _errors)


def _errors() -> Errors:
    from session.game_configuration import ConfigurationError

    return Errors(wrong_use=(ConfigurationError,))


def _do(flags: Flags) -> int:
    # Imported only now, so that --help and wrong flags do not wait for it.
    from mcp_ghost.cli.screen import standard_screen
    from session.game_configuration import ConfigurationError, GameConfiguration
    from viewer.library import Library

    workdir = flags.workdir
    if workdir is None:
        workdir = Path(GameConfiguration.at_hand(flags.config).workdir)
    elif not workdir.is_dir():
        raise ConfigurationError(f"There is no folder {workdir}: choose another with --workdir.")
    screen = standard_screen(sys.stderr)
    library = Library(workdir, _Reading(screen).advance)
    try:
        match flags.command:
            case "export":
                _export(flags, library)
            case "show":
                _show(flags, library)
            case "map":
                from mcp_ghost.files import write_whole

                episode, output = library.find(flags.episode), flags.output
                if output.suffix.lower() == ".mmd":
                    write_whole(output, episode.map.mermaid() + "\n")
                else:
                    from viewer.drawing import draw_map

                    title = f"{episode.summary()['title']}: {episode.id}"
                    draw_map(episode.map.json(), title, output)
                print(f"Map of {episode.id}: {output}")
            case "plot":
                from mcp_ghost.text import counted
                from viewer.drawing import draw_scores

                episodes = [library.find(it) for it in flags.episodes]
                draw_scores([episode.json() for episode in episodes], flags.output)
                print(f"Scores of {counted(len(episodes), 'episode')}: {flags.output}")
            case _:
                _serve(flags, library)
    finally:
        screen.idle()
    return DONE


class _Reading:
    """Says on standard error that logs are read: by a bar, or by a line if it takes long."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._since: float | None = None
        self._was_said = False

    def advance(self, label: str, share: float | None) -> None:
        """Show how far the reading has come; 1 is its end."""
        if share == 1:
            self._since = None
            self._screen.idle()
        elif self._screen.is_live:
            self._screen.progress(label, share)
        elif self._since is None:
            self._since = time.monotonic()
        elif not self._was_said and time.monotonic() - self._since > _QUIET:
            self._was_said = True
            self._screen.text(f"{label} …")


def _serve(flags: Flags, library: Library) -> None:
    from session.listener import new_token
    from viewer.web.server import Server, Viewer
    from viewer.web.serving import address_of, is_local, listening, open_page

    with listening(flags.host, flags.port) as listener:
        token = new_token()
        address = f"{address_of(listener, flags.host)}#/?token={token}"  # no server is told it
        print(f"Episodes of {library.workdir} at {address} (end with Ctrl-C)", flush=True)
        if not is_local(flags.host):
            print(
                f"Open to the network: whoever reaches {flags.host} and has the token reads every "
                "prompt and changes notes, over a connection that is not encrypted.",
                flush=True,
            )
        if flags.open and not open_page(address):
            print("There is no display to open a browser on.", flush=True)
        viewer = Viewer(library, flags.host, token=token)
        gc.freeze()  # the modules stay: a collection amid a thousand logs need not walk them
        Server(viewer).run([listener])


def _export(flags: Flags, library: Library) -> None:
    from mcp_ghost.text import counted
    from viewer.web.site import export_site

    episodes = [library.find(it) for it in flags.episodes] or library.episodes()
    if not episodes:
        raise library.nothing_there()
    files = export_site(library, episodes, flags.folder, force=flags.force, prompts=flags.prompts)
    print(f"{counted(len(episodes), 'episode')} in {counted(files, 'file')}: {flags.folder}")
    look = shlex.join(
        ["uv", "run", "python", "-m", "http.server", "--directory", str(flags.folder)]
    )
    print(f"Browsers only show it from a web server, such as: {look}")


def _show(flags: Flags, library: Library) -> None:
    from mcp_ghost.cli.screen import standard_screen
    from mcp_ghost.text import counted
    from session.game_configuration import ConfigurationError
    from viewer.show import show_episode

    episode = library.find(flags.episode)
    if flags.plain:
        os.environ["NO_COLOR"] = "1"
    first, last = flags.turns or (0, None)
    if first > episode.turn_count:
        raise ConfigurationError(f"{episode.id} has {counted(episode.turn_count, 'turn')}.")
    show_episode(standard_screen(sys.stdout), episode.folder, first, last)


if __name__ == "__main__":
    sys.exit(main())
