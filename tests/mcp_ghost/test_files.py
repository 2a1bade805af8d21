"""Files are written whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_ghost.files import write_whole


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / ("n" * 240)
    for content, expected in (("first ☂", "first ☂".encode()), (b"\0second", b"\0second")):
        assert write_whole(path, content)
        assert path.read_bytes() == expected
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_changed_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "edited"
    path.write_text("by hand")
    assert not write_whole(path, "by us", only_if=lambda: path.read_text() != "by hand")
    assert path.read_text() == "by hand"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.mkdir()
    with pytest.raises(OSError, match="old"):
        write_whole(path, "new")
    assert list(tmp_path.iterdir()) == [path]
