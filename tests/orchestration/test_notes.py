"""The player's notes, through whole episodes: the real server, a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import tool_reply
from orchestration.replay import replay
from session.record.branch import branch_off
from session.record.folder import NOTES_FILE
from tests.support import ROOT
from tests.support.episodes import Played, answer, played

if TYPE_CHECKING:
    from mcp_ghost.testing import ModelRequest, Reply

pytestmark = pytest.mark.mcp

Calls = dict[int, tuple[str, dict[str, str]]]


def noting(calls: Calls, first: int = 1) -> Any:  # noqa: ANN401  a script
    """A model that uses one tool in some turns, and waits in all."""
    turn = first

    def model(request: ModelRequest) -> Reply:
        nonlocal turn
        if request.last["role"] != "tool" and turn in calls:
            name, arguments = calls[turn]
            return tool_reply([(f"notes.{name}", arguments)])
        turn += 1
        return answer("wait")

    return model


def play(folder: Path, calls: Calls, *, turns: int, first: int = 1, **settings: Any) -> Played:  # noqa: ANN401  of the configuration
    values = {
        "mcp_enabled": True,
        "mcp_config_file": str(ROOT / "mcp_config.json"),
        "mcp_servers": ("notes",),
        "max_turns_per_episode": turns,
        "action_check_enabled": False,
    }
    return played(folder, noting(calls, first), **{**values, **settings})


def results(episode: Played) -> dict[int, str]:
    """Turn -> what its tool call returned."""
    return {turn.turn: tool.result for turn in episode.turns for tool in turn.tools}


def test_a_note_is_read_seven_turns_later_and_with_carry_over_in_the_next_episode(
    tmp_path: Path,
) -> None:
    note = {"title": "The gate", "text": "It wants the brass key."}
    reading: Calls = {2: ("write", note), 9: ("read", {"title": "the gate"})}
    first = play(tmp_path, reading, turns=9)
    assert results(first)[9] == "The gate (turn 2):\nIt wants the brass key."
    assert first.start["mcp"] == "notes"
    asked: Calls = {1: ("search", {"query": "key"})}
    second = play(tmp_path, asked, turns=1, episode="second")
    assert results(second)[1] == "The gate (an earlier episode):\nIt wants the brass key."
    others: dict[str, dict[str, Any]] = {
        "alone": {"storage_carry_over": False},
        "other-level": {"observation_level": "text"},
    }
    for name, settings in others.items():
        other = play(tmp_path, asked, turns=1, episode=name, **settings)
        assert results(other)[1] == "No note has any of these words. Notes: 0."
    assert replay(first.folder).turns == 9
    assert replay(second.folder).turns == 1


def test_a_resumed_episode_and_a_branch_see_the_notes_of_their_turn(tmp_path: Path) -> None:
    write = {turn: ("write", {"title": "Day", "text": f"{turn}"}) for turn in (1, 2, 3)}
    settings: dict[str, Any] = {"mcp_session": "episode"}
    trunk = play(tmp_path, write, turns=3, **settings)
    lost = {"id": "a", "replaces": "", "title": "Lost", "text": "In a turn cut off.", "turn": 4}
    with (trunk.folder / NOTES_FILE).open("a") as notes:
        notes.write(json.dumps(lost) + "\n")
    branch_off(trunk.folder, 2, trunk.folder.parent / "branch")
    for name, turn, day in (("played", 4, 3), ("branch", 3, 2)):
        read: Calls = {turn: ("read", {})}
        resumed = play(
            tmp_path, read, turns=turn, first=turn, episode=name, resume=True, **settings
        )
        assert results(resumed)[turn] == f"Day (turn {day}): {day}"


def test_nobody_is_warned_of_the_server_that_is_used_only_when_named(tmp_path: Path) -> None:
    episode = play(tmp_path, {}, turns=1, mcp_servers=())
    assert episode.start["mcp"] == "thoughtbox"
    assert episode.events("mcp_servers_ignored") == []
    assert not (episode.folder / NOTES_FILE).exists()
