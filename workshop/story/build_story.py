"""Build the bundled story and its profile; the same source gives the same bytes.

    uv run python workshop/story/build_story.py           # write .z5 and .profile.json in stories/
    uv run python workshop/story/build_story.py --check   # exit 1 when the committed files differ
    uv run python workshop/story/build_story.py --debug-info PATH  # and the compiler's notes

Debian's compiler and library are the reference: `apt install inform6-compiler inform6-library`.
"""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run from a checkout

from game_interface.errors import StoryFormatError
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, FAILED, Errors, complain, program
from scripts.story.source import LIBRARY, SOURCE, BuildError, TemplateError, compiled
from stories.profile import PROFILE_SUFFIX

_PROGRAM = "build_story.py"
STORY = SOURCE.with_suffix(".z5")
PROFILE = SOURCE.with_suffix(PROFILE_SUFFIX)
# The compiler writes its version into the story, and the library its own: others give other bytes.
COMPILER_VERSION = "Inform 6.41"
LIBRARY_RELEASE = '"6.12.6"'


def original(_label: str | None, text: str) -> str:
    """What the original says at a mark."""
    return text


def other_versions() -> str | None:
    """Say which tool is not the version that the committed story was built with, if any."""
    banner = subprocess.run(["inform6", "-h1"], capture_output=True, text=True, check=False).stdout
    if COMPILER_VERSION not in banner:
        return f"the compiler is not {COMPILER_VERSION}"
    if LIBRARY_RELEASE not in (LIBRARY / "version.h").read_text():
        return f"the library is not {LIBRARY_RELEASE}"
    return None


def check(built: dict[Path, bytes]) -> str | None:
    """Say which committed file differs from the built one, or None when none does."""
    for path, content in built.items():
        if not path.is_file() or path.read_bytes() != content:
            hint = other_versions() or "run workshop/story/build_story.py and commit the result"
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
    return program(_PROGRAM, lambda: _build(options), lambda: errors)


def _build(options: argparse.Namespace) -> int:
    built = dict(zip((STORY, PROFILE), compiled(original, options.debug_info), strict=True))
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
