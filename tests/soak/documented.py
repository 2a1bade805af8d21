"""The pages that show commands, and what a newcomer who types them has: nothing but a clone."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.support import FOREVER, ROOT
from tests.support.program import MARK

PAGES = [
    *("README.md", "CONTRIBUTING.md", "tests/README.md", "packages/mcp_ghost/README.md"),
    "packages/movie_generator/README.md",
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "docs").glob("*.md"))),
    *(str(page.relative_to(ROOT)) for page in sorted((ROOT / "packages").glob("*/docs/*.md"))),
]
_BLOCK = re.compile(r"^```(bash|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PORT = 9419
_KEPT = re.compile(
    r"PATH|LANG|TERM|USER|TMPDIR|.*_proxy|SSL_.*|PIP_.*|UV_.*|.*_STORY|STORIES_DIR", re.IGNORECASE
)


class Shown(NamedTuple):
    """A command of a page, as it is typed."""

    page: str
    text: str
    """With the comment after it."""

    @property
    def command(self) -> str:
        """Without the comment and in single spaces, to look it up."""
        return " ".join(re.sub(r"\s+#.*", "", self.text).split())


def shown(page: str) -> list[Shown]:
    """The commands in the page's blocks, in order; of a console's, those after the prompt."""
    found = []
    for kind, block in _BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        lines = block.replace("\\\n", "").splitlines()
        if kind == "console":
            lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        found += [Shown(page, line) for line in lines if line.strip()]
    return found


class Newcomer:
    """Somebody with a clone, an empty home and uv, who keeps one shell open."""

    def __init__(self, folder: Path, mark: str, provider: dict[str, str]) -> None:
        """Make the clone and the home in ``folder``.

        Args:
            folder: Where there is room for them.
            mark: What tells the processes of this newcomer from others.
            provider: Variables with the address of a provider, for whoever has exported a key.
        """
        self.clone = folder / "clone"
        self.here = self.clone
        self._home = folder / "home"
        self._home.mkdir()
        self._mark = mark
        self._provider = provider
        self._exported: list[str] = []
        kept = {name: it for name, it in os.environ.items() if _KEPT.fullmatch(name)}
        self.env = kept | {"HOME": str(self._home), MARK: mark}
        self.env["UV_CACHE_DIR"] = _output("uv", "cache", "dir")
        uv = Path(shutil.which("uv") or "uv").parent
        self.env["PATH"] = f"{uv}:{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin"
        _clone(self.clone)
        self.address = f"git://127.0.0.1:{_PORT}/clone"
        """From which git clones the clone, while ``serves`` is on."""

    @contextmanager
    def serves(self) -> Iterator[None]:
        """Offer the clone to git on loopback: pip takes no address of a folder."""
        daemon = ["git", "daemon", "--export-all", f"--base-path={self.clone.parent}"]
        address = ["--listen=127.0.0.1", f"--port={_PORT}", "--reuseaddr"]
        with subprocess.Popen([*daemon, *address], env=self.env) as process:
            try:
                yield
            finally:
                process.terminate()

    def types(self, text: str, *, until: str = "", says: str = "") -> str:
        """Run a command to its end, or until it prints ``until``, and then press Ctrl-C.

        Args:
            text: What is typed.
            until: What the program prints before it is interrupted.
            says: What is typed into the program.
        """
        if text.startswith("export "):
            self._exported.append(text)
            self.env |= self._provider if "_API_KEY=" in text else {}
            return ""
        script = "\n".join([*self._exported, text])
        began = time.monotonic()
        output = self._home / "output.txt"
        with output.open("wb") as written:
            process = subprocess.Popen(
                ["bash", "-c", script],
                cwd=self.here,
                env=self.env,
                stdin=subprocess.PIPE,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            code = self._ended(process, output, until, says)
        printed = output.read_text(encoding="utf-8", errors="replace")
        took = time.monotonic() - began
        print(f"{took:6.1f} s  {'interrupted' if until else f'exit code {code}'}  $ {text}")
        assert "Traceback" not in printed, printed
        assert code in ({0, 130, -signal.SIGINT} if until else {0}), printed[-4000:]
        return printed

    def _ended(self, process: subprocess.Popen[bytes], output: Path, until: str, says: str) -> int:
        deadline = time.monotonic() + FOREVER
        try:
            if not until:
                process.communicate(says.encode(), timeout=FOREVER)
                return process.returncode
            while until not in output.read_text(encoding="utf-8", errors="replace"):
                assert process.poll() is None, output.read_text(encoding="utf-8")
                assert time.monotonic() < deadline, output.read_text(encoding="utf-8")[-4000:]
                time.sleep(0.2)
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=FOREVER)
            return process.returncode
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def leaves(self) -> None:
        """End whatever a command has left running, such as a cluster's daemons."""
        for number in _numbers(self._mark):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _numbers(mark: str) -> Iterator[int]:
    """The processes that have the mark in their environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                yield int(folder.name)
        except OSError:
            continue  # gone, or somebody else's


def _clone(target: Path) -> None:
    """A clone of the repository as it lies here, with what is not committed yet."""
    _output("git", "clone", "--quiet", str(ROOT), str(target))
    changed = _output("git", "-C", str(ROOT), "ls-files", "-mo", "--exclude-standard")
    for name in changed.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def _output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=FOREVER)
    return done.stdout.strip()
