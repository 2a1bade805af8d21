"""The command ``show``: a script beside its page, on the terminal or as an HTML file."""

from collections.abc import Callable
from pathlib import Path

from mcp_ghost.cli.screen import standard_screen
from mcp_ghost.files import write_whole
from movie_generator.cli.saving import check_writable
from movie_generator.errors import SettingsError
from movie_generator.models import VideoScript
from movie_generator.show.document import document
from movie_generator.show.lines import show


def show_script(file: str, html: str | None, on_closed: Callable[[], None]) -> None:
    """Show the script in ``file``, or write it to the file ``html`` with its page beside it.

    Raises:
        SettingsError: A file cannot be read or written.
        ScriptError: ``file`` holds no script.
    """
    try:
        script = VideoScript.load(file)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}.") from error
    if html is None:
        show(script, standard_screen(on_closed))
        return
    if Path(html).exists() and Path(html).samefile(file):
        raise SettingsError(f"{html} is the script itself. Choose another file with --html.")
    check_writable(html, "--html")
    write_whole(Path(html), document(script))
    print(f"{html}: open it in a browser")
