"""The commands of docs/first-hour.md, in their order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT


@pytest.mark.soak
def test_every_command_of_the_first_hour_works_where_nothing_was_played(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
    commands = re.findall(r"^uv run python (.+)$", page, re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        first, *words = shlex.split(command)
        program = [first, *words] if first == "-m" else [str(ROOT / first), *words]
        done = subprocess.run(
            [sys.executable, *program],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
    assert "95% interval, 5 seeds" in done.stdout
