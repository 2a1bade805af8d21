"""The viewer's command line: flags in, exit code out."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_ghost.interruption import Interruption
from viewer.flags import Flags, parse_flags

if TYPE_CHECKING:
    from viewer.library import Library

DONE, FAILED, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    flags = parse_flags(arguments)
    interruption = Interruption()
    interruption.install()
    try:
        _do(flags, interruption)
    except KeyboardInterrupt:
        return interruption.exit_code
    except Exception as error:  # noqa: BLE001  the edge of the process: a line, no traceback
        return _report(error)
    return DONE


def _do(flags: Flags, interruption: Interruption) -> None:
    # Imported only now: --help and wrong flags are not to wait for it.
    library = _library(flags)
    match flags.command:
        case "export":
            _export(flags, library)
        case "show":
            _show(flags, library, interruption)
        case "map":
            _map(flags, library)
        case "plot":
            _plot(flags, library)
        case _:
            _serve(flags, library)


def _library(flags: Flags) -> Library:
    from session.game_configuration import ConfigurationError, GameConfiguration
    from viewer.library import Library

    workdir = flags.workdir
    if workdir is None:
        at_hand = "pyproject.toml" if Path("pyproject.toml").is_file() else None
        workdir = Path(GameConfiguration.from_toml(flags.config or at_hand).workdir)
    if flags.workdir is not None and not workdir.is_dir():
        raise ConfigurationError(f"There is no folder {workdir}: give --workdir another one.")
    return Library(workdir)


def _serve(flags: Flags, library: Library) -> None:
    from viewer.server import Server, Viewer
    from viewer.serving import address_of, listening, open_page

    with listening(flags.host, flags.port) as listener:
        address = address_of(listener, flags.host)
        print(f"Episodes of {library.workdir} at {address} (end with Ctrl-C)", flush=True)
        if flags.open and not open_page(address):
            print("There is no screen to open a browser on.", flush=True)
        Server(Viewer(library, flags.host)).run([listener])


def _export(flags: Flags, library: Library) -> None:
    from mcp_ghost.text import counted
    from viewer.export import export_site

    episodes = [library.find(it) for it in flags.episodes] or library.episodes()
    if not episodes:
        raise library.nothing_there()
    files = export_site(library, episodes, flags.folder, force=flags.force)
    print(f"{counted(len(episodes), 'episode')} in {counted(files, 'file')}: {flags.folder}")
    look = shlex.join(["python", "-m", "http.server", "--directory", str(flags.folder)])
    print(f"Browsers show it from a web server only, such as: {look}")


def _show(flags: Flags, library: Library, interruption: Interruption) -> None:
    from mcp_ghost.screen import standard_screen
    from mcp_ghost.text import counted
    from session.game_configuration import ConfigurationError
    from viewer.show import show_episode

    episode = library.find(flags.episode)
    if flags.plain:
        os.environ["NO_COLOR"] = "1"
    first, last = flags.turns or (0, None)
    if first > episode.turn_count:
        raise ConfigurationError(f"{episode.id} has {counted(episode.turn_count, 'turn')}.")
    show_episode(standard_screen(interruption.output_closed), episode.folder, first, last)


def _map(flags: Flags, library: Library) -> None:
    episode, output = library.find(flags.episode), flags.output
    if output.suffix.lower() == ".mmd":
        output.write_text(episode.mermaid() + "\n", encoding="utf-8")
    else:
        from viewer.drawing import draw_map

        draw_map(episode.map_json(), f"{episode.summary()['title']}: {episode.id}", output)
    print(f"Map of {episode.id}: {output}")


def _plot(flags: Flags, library: Library) -> None:
    from mcp_ghost.text import counted
    from viewer.drawing import draw_scores

    episodes = [library.find(it) for it in flags.episodes]
    draw_scores([episode.json() for episode in episodes], flags.output)
    print(f"Scores of {counted(len(episodes), 'episode')}: {flags.output}")


def _report(error: Exception) -> int:
    """Say what went wrong and what to do, without a traceback; the exit code."""
    from mcp_ghost.text import plain
    from session.game_configuration import ConfigurationError

    wrong_use = isinstance(error, ConfigurationError)
    message = str(error) if wrong_use else f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    print(plain(f"python -m viewer: error: {message}"), file=sys.stderr)
    return WRONG_USE if wrong_use else FAILED


if __name__ == "__main__":
    sys.exit(main())
