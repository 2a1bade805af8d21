"""Build the bundled story and its profile; the same source gives the same bytes.

    python scripts/build_story.py                      # write the .z5 and .profile.json in stories/
    python scripts/build_story.py --check              # exit 1 when the committed files differ
    python scripts/build_story.py --debug-info PATH    # also write the compiler's debug information

Debian's compiler and library are the reference: `apt install inform6-compiler inform6-library`.
"""

import argparse
import contextlib
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # run from a checkout

from scripts import make_profile

STORIES = Path(__file__).resolve().parent.parent / "stories"
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
    """Compile the story and return the files made; write the debug information where asked.

    Raises:
        BuildError: The tools are missing, or the compiler reported an error or a warning.
    """
    if reason := missing_tools():
        raise BuildError(reason)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / STORY.name
        command = ["inform6", "-k", f"+include_path={LIBRARY}", str(SOURCE), str(output)]
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        report = (run.stdout + run.stderr).strip()
        if run.returncode or "Error" in report or "Warning" in report:
            raise BuildError(f"inform6 refused {SOURCE.name}:\n{report}")
        compiled_debug_info = Path(folder) / "gameinfo.dbg"
        if debug_info:
            shutil.copyfile(compiled_debug_info, debug_info)
        return {STORY: output.read_bytes(), PROFILE: profile_of(output, compiled_debug_info)}


def profile_of(story: Path, debug_info: Path) -> bytes:
    """Make the profile that goes with a compiled story.

    Raises:
        BuildError: The debug information lacks something that a profile needs.
    """
    profile = story.with_suffix(".profile.json")
    with contextlib.redirect_stdout(io.StringIO()):
        code = make_profile.main([str(story), str(debug_info), "--output", str(profile)])
    if code:
        raise BuildError("no profile could be made")
    return profile.read_bytes()


def check(built: dict[Path, bytes]) -> str | None:
    """Say which committed file differs from the built one, or None when none does."""
    for path, content in built.items():
        if not path.is_file() or path.read_bytes() != content:
            hint = other_versions() or "run scripts/build_story.py and commit the result"
            return f"{path.name} is not what {SOURCE.name} gives; {hint}"
    return None


def main() -> int:
    """Build or check the story; return the exit code."""
    parser = argparse.ArgumentParser(description="Build the bundled story with Inform 6.")
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when the committed file differs"
    )
    parser.add_argument(
        "--debug-info", type=Path, metavar="PATH", help="also write gameinfo.dbg here"
    )
    options = parser.parse_args()
    try:
        built = build(options.debug_info)
    except BuildError as error:
        print(f"build_story: {error}", file=sys.stderr)
        return 2
    if options.check:
        if problem := check(built):
            print(f"build_story: {problem}", file=sys.stderr)
            return 1
        return 0
    for path, content in built.items():
        path.write_bytes(content)
        print(f"{path.name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
