"""Files are written whole, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_ghost.files import write_whole
from tests.support import PATIENCE, ROOT


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / ("n" * 240)
    for content, expected in (("first ☂", "first ☂".encode()), (b"\0second", b"\0second")):
        assert write_whole(path, content)
        assert path.read_bytes() == expected
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("umask", "before", "given", "after"),
    [
        (0o022, None, None, 0o644),
        (0o077, None, None, 0o600),
        (0o022, 0o600, None, 0o600),
        (0o077, 0o664, None, 0o664),
        (0o022, 0o644, 0o600, 0o600),
        (0o000, None, 0o600, 0o600),
    ],
)
def test_a_new_file_obeys_the_umask_and_an_old_one_keeps_its_mode(
    umask: int, before: int | None, given: int | None, after: int, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    if before is not None:
        path.touch()
        path.chmod(before)
    old = os.umask(umask)
    try:
        write_whole(path, "new", mode=given)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == after


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "edited"
    path.write_text("by hand")
    assert not write_whole(path, "by us", only_if=lambda: path.read_text() != "by hand")
    assert path.read_text() == "by hand"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.mkdir()
    with pytest.raises(OSError, match="old") as caught:
        write_whole(path, "new")
    assert (caught.value.filename, caught.value.filename2) == (str(path), None)
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_program_left_unfinished_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path, beside = tmp_path / "kept.json", tmp_path / ".other.json.x.tmp"
    beside.touch()
    inside = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    program = f"""
from pathlib import Path
from mcp_ghost.files import write_whole
def die():
    {inside}
write_whole(Path({str(path)!r}), "never", only_if=die)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False, timeout=PATIENCE)
        assert len(unfinished := set(tmp_path.iterdir()) - {beside}) == 1
    meanwhile: list[set[Path]] = []

    def look() -> bool:
        meanwhile.append(set(tmp_path.iterdir()) - {beside})
        return True

    assert write_whole(path, "new", only_if=look)
    assert len(meanwhile[0]) == 1  # its own
    assert not meanwhile[0] & unfinished
    assert set(tmp_path.iterdir()) == {path, beside}


def test_a_file_that_another_program_is_writing_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert write_whole(path, "outer", only_if=lambda: write_whole(path, "inner"))
    assert path.read_text() == "outer"
    assert list(tmp_path.iterdir()) == [path]
