"""Build the bundled story and its profile; the same source gives the same bytes.

    uv run python scripts/story/build_story.py           # write .z5 and .profile.json in stories/
    uv run python scripts/story/build_story.py --check   # exit 1 when the committed files differ
    uv run python scripts/story/build_story.py --debug-info PATH  # and the compiler's notes

Debian's compiler and library are the reference: `apt install inform6-compiler inform6-library`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface.errors import StoryFormatError
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, FAILED, Errors, complain, program
from scripts.story.make_profile import DebugInfo, as_json, make_profile
from scripts.story.template import TemplateError, Value, original, render_folder
from stories.memory import StoryImage

_PROGRAM = "build_story.py"
STORIES = Path(__file__).resolve().parents[2] / "stories"
SOURCE = STORIES / "weatherworks.inf"
STORY = STORIES / "weatherworks.z5"
PROFILE = STORIES / "weatherworks.profile.json"
LIBRARY = Path("/usr/share/inform6/library")
# The compiler writes its version into the story, and the library its own: others give other bytes.
COMPILER_VERSION = "Inform 6.41"
LIBRARY_RELEASE = '"6.12.6"'
INSTALL_HINT = "install them with: sudo apt install inform6-compiler inform6-library"


class BuildError(Exception):
    """Raised when the story cannot be built; the message says what to do."""


def missing_tools() -> str | None:
    """Say why this machine cannot build the reference story, or None when it can."""
    if shutil.which("inform6") is None:
        return f"the Inform 6 compiler is missing; {INSTALL_HINT}"
    if not (LIBRARY / "version.h").is_file():
        return f"the Inform 6 library is missing from {LIBRARY}; {INSTALL_HINT}"
    return None


def other_versions() -> str | None:
    """Say which tool is not the version that the committed story was built with, if any."""
    banner = subprocess.run(["inform6", "-h1"], capture_output=True, text=True, check=False).stdout
    if COMPILER_VERSION not in banner:
        return f"the compiler is not {COMPILER_VERSION}"
    if LIBRARY_RELEASE not in (LIBRARY / "version.h").read_text():
        return f"the library is not {LIBRARY_RELEASE}"
    return None


def build(debug_info: Path | None = None) -> dict[Path, bytes]:
    """Compile the bundled story and return the files made; write debug information where asked.

    Raises: as `compiled`.
    """
    story, profile = compiled(original, debug_info)
    return {STORY: story, PROFILE: profile}


def compiled(value: Value, debug_info: Path | None = None) -> tuple[bytes, bytes]:
    """The story with these values at its marks, and its profile.

    Raises:
        BuildError: The tools are missing, or the compiler reported an error or a warning.
        TemplateError: A mark in the source cannot be read.
        StoryFormatError: The debug information lacks something that a profile needs.
    """
    if reason := missing_tools():
        raise BuildError(reason)
    with tempfile.TemporaryDirectory() as folder:
        source = render_folder(SOURCE, Path(folder), value)
        output = Path(folder) / STORY.name
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


def check(built: dict[Path, bytes]) -> str | None:
    """Say which committed file differs from the built one, or None when none does."""
    for path, content in built.items():
        if not path.is_file() or path.read_bytes() != content:
            hint = other_versions() or "run scripts/story/build_story.py and commit the result"
            return f"{path.name} does not match what {SOURCE.name} compiles to; {hint}"
    return None


def main() -> int:
    """Build or check the story; return the exit code."""
    parser = Parser(description="Build the bundled story with Inform 6.")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when the committed file differs"
    )
    parser.add_argument(
        "--debug-info", type=Path, metavar="PATH", help="also write gameinfo.dbg here"
    )
    options = parser.parse_args()
    errors = Errors(wrong_use=(BuildError, StoryFormatError, TemplateError))
    return program(_PROGRAM, lambda _: _build(options), lambda: errors)


def _build(options: argparse.Namespace) -> int:
    built = build(options.debug_info)
    if options.check:
        if problem := check(built):
            complain(_PROGRAM, problem)
        return FAILED if problem else DONE
    for path, content in built.items():
        path.write_bytes(content)
        print(f"{path.name}: {len(content):,} bytes")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
