"""The source of the bundled story: its marks, at which a variant differs, and what it compiles to.

`{{kipper}}` is a word of `words.toml`, and `{{hall>kitchen: west}}` has a label that says what the
text depends on. What a mark holds behind its label is the original's text, so that the source can
be read, and the original cannot drift from it. The compiler is Inform 6, with Debian's library.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from scripts.story.make_profile import DebugInfo, as_json, make_profile
from stories.memory import StoryImage
from stories.profile import STORIES

SOURCE = STORIES / "weatherworks.inf"
LIBRARY = Path("/usr/share/inform6/library")
_INSTALL_HINT = "install them with: sudo apt install inform6-compiler inform6-library"
_MARK = re.compile(r"\{\{(?:([\w.>' -]+): )?(.*?)\}\}", re.DOTALL)

Value = Callable[[str | None, str], str]
"""A variant's text for a label (None: a plain word) and the original's text."""


class TemplateError(Exception):
    """Raised when a mark cannot be read; the message names it."""


def render(source: str, value: Value) -> str:
    """The source with the value of each mark in its place.

    Raises: TemplateError when a mark is not closed, or stands in another one.
    """
    rendered = _MARK.sub(lambda mark: value(mark[1], mark[2]), source)
    if stray := re.search(r".*(\{\{|\}\}).*", rendered):
        raise TemplateError(f"a mark is not closed, or stands in another one: {stray[0].strip()}")
    return rendered


def render_folder(source: Path, target: Path, value: Value) -> Path:
    """Write the story and its parts, rendered, into a folder; returns the file to compile."""
    (target / source.stem).mkdir()
    for file in (source, *sorted((source.parent / source.stem).glob("*.inf"))):
        text = render(file.read_text(encoding="utf-8"), value)
        (target / file.relative_to(source.parent)).write_text(text, encoding="utf-8")
    return target / source.name


class BuildError(Exception):
    """Raised when the story cannot be built; the message says what to do."""


def missing_tools() -> str | None:
    """Say why this machine cannot build the story, or None when it can."""
    if shutil.which("inform6") is None:
        return f"the Inform 6 compiler is missing; {_INSTALL_HINT}"
    if not (LIBRARY / "version.h").is_file():
        return f"the Inform 6 library is missing from {LIBRARY}; {_INSTALL_HINT}"
    return None


def compiled(value: Value, debug_info: Path | None = None) -> tuple[bytes, bytes]:
    """The story with these values at its marks, and its profile.

    The compiler's debug information is also written to ``debug_info``.

    Raises:
        BuildError: The tools are missing, or the compiler reported an error or a warning.
        TemplateError: A mark in the source cannot be read.
        StoryFormatError: The debug information lacks something that a profile needs.
    """
    if reason := missing_tools():
        raise BuildError(reason)
    with tempfile.TemporaryDirectory() as folder:
        source = render_folder(SOURCE, Path(folder), value)
        output = source.with_suffix(".z5")
        command = ["inform6", "-k", f"+include_path={LIBRARY}", str(source), str(output)]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        report = (run.stdout + run.stderr).strip()
        if run.returncode or "Error" in report or "Warning" in report:
            raise BuildError(f"inform6 refused {SOURCE.name}:\n{report}")
        compiled_debug_info = Path(folder) / "gameinfo.dbg"
        if debug_info:
            shutil.copyfile(compiled_debug_info, debug_info)
        image = StoryImage(output.read_bytes())
        profile = make_profile(image, DebugInfo(compiled_debug_info, image))
        return output.read_bytes(), as_json(profile)
