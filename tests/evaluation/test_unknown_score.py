"""An evaluation of a story whose score cannot be read is refused before anything is played."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from scripts.evaluate import main
from tests.support.games import written
from tests.support.tiny_story import READ_KEYS, Object, build, say
from workshop.scripted_model import action_reply


def test_a_score_that_cannot_be_read_is_not_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    story = written(
        tmp_path, build([Object("x")], version=5, code=say("Hi.\n") + READ_KEYS), "a.z5"
    )
    with ModelServer(lambda _request: action_reply("look", "Let us see.")) as model:
        code = main(["--story", str(story), "--base-url", model.base_url, "--out", "out"])
        assert model.requests == []
    assert code == 2
    assert "The score of a cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
