"""An evaluation of branches: each begins like one episode, which stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_ghost.testing import ModelServer
from scripts.evaluate import main
from session.record.event_log import EVENTS_FILE
from tests.evaluation.evaluations import Evaluation, Model
from tests.support.episodes import answer, played

pytestmark = pytest.mark.mcp


@pytest.mark.soak
def test_branches_of_an_episode_are_played_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["north", "north", "wait"]
    whole = played(
        tmp_path,
        [answer(word) for word in words],
        episode="trunk",
        max_turns_per_episode=3,
        observation_level="status",
    )
    before = (whole.folder / EVENTS_FILE).read_bytes()
    with ModelServer(Model()) as server:
        evaluation = Evaluation(tmp_path, server.base_url)
        flags = ["--fork", "trunk@2", "--episodes", "2", "--turns", "4"]
        asked = ["--base-url", server.base_url, "--model", "scripted"]
        assert evaluation.run_here(monkeypatch, *flags, *asked) == 0
    assert (whole.folder / EVENTS_FILE).read_bytes() == before
    episodes = evaluation.episodes()
    assert sorted(episodes) == [f"whole/seed-7/episodes/episode-{n}" for n in (1, 2)]
    for events in episodes.values():
        turns = [it["command"] for it in events if it["event_type"] == "turn"]
        assert (turns[:2], len(turns)) == (words[:2], 4)
        (resumed,) = (it for it in events if it["event_type"] == "episode_resumed")
        assert resumed["settings"]["observation_level"] == "status"
    results = evaluation.results
    assert results["settings"]["fork"] == {"trunk": "trunk", "uid": whole.start["uid"], "turn": 2}
    assert results["provenance"]["requests"] == 4  # of the branches' own turns
    assert results["provenance"]["disagreements"] == {}


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--fork", "trunk@9", "--turns", "20"], "has no turn 9"),
        (["--fork", "trunk@2", "--turns", "2"], "No turn would be played"),
        (["--fork", "trunk@2", "--seeds", "3"], "--seeds is for new games"),
        (["--fork", "nothing@2"], "There is no episode 'nothing'"),
    ],
)
def test_what_no_branch_can_be_is_refused(
    tmp_path: Path,
    flags: list[str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played(tmp_path, [answer("north")] * 2, episode="trunk", max_turns_per_episode=2)
    monkeypatch.chdir(tmp_path)
    assert main([*flags, "--base-url", "http://127.0.0.1:1/v1", "--model", "x"]) == 2
    assert why in " ".join(capsys.readouterr().err.split())
