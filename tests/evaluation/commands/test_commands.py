"""What all commands have in common."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.plan import CHOICES
from scripts.evaluate import COMMANDS, main
from tests.support import ROOT


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_complete_and_the_documentation_knows_the_command_and_its_flags(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    said = capsys.readouterr().out
    documentation = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    flags = set(re.findall(r"--[a-z-]+", said)) - {"--help"}
    assert {flag for flag in flags if flag not in documentation} == set()
    assert "exit code: 0 " in said
    assert command == "play" or f"evaluate.py {command} " in documentation


def test_the_first_help_names_every_command_and_every_part_that_can_be_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    said = capsys.readouterr().out
    for command in COMMANDS:
        assert command == "play" or f"evaluate.py {command} " in said
    documentation = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert [part for part in CHOICES if part not in said or f"`{part}`" not in documentation] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_misspelt_flag_is_a_line_and_no_traceback(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main([command, "a", "b", "--hlep"])
    assert "unrecognized arguments: " in (said := capsys.readouterr().err)
    assert "did you mean '--help'?" in said


def test_ctrl_c_while_the_program_is_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "rich.py").write_text("import signal\nsignal.raise_signal(signal.SIGINT)\n")
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, str(ROOT / "scripts" / "evaluate.py"), "--help"]
    done = subprocess.run(command, env=paths, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
