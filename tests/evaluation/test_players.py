"""Players side by side, by a protocol, as a user of the evaluation has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from evaluation.protocols.protocol import SHIPPED
from tests.evaluation.evaluations import COMMANDS, Evaluation, editable_sources

pytestmark = pytest.mark.mcp
PROMPT = Path("prompts", "chat_full.md")
PLAYERS = ["model", "chat", "random", "walkthrough", "first-exit"]


def short_protocol(folder: Path) -> Path:
    """That of TALES, with the bundled story, three turns and one seed."""
    text = SHIPPED["tales-100"].read_text(encoding="utf-8")
    text = re.sub(r"^suite = .*$", "stories = []", text, flags=re.MULTILINE)
    text = re.sub(r"^seeds = .*$", "seeds = [41]", text, flags=re.MULTILINE)
    text = text.replace('engine = "jericho"', 'engine = "auto"')
    path = folder / "short.toml"
    path.write_text(text.replace("max_turns_per_episode = 100", "max_turns_per_episode = 3"))
    return path


def test_players_stand_side_by_side_in_one_table_and_under_one_protocol(
    evaluation: Evaluation,
) -> None:
    folder = evaluation.program.folder
    walk = folder / "walk.txt"
    walk.write_text("\n".join(COMMANDS))
    words = [word for player in PLAYERS for word in ("--player", player)]
    protocol = ["--protocol", str(short_protocol(folder)), "--walkthrough", str(walk)]
    done = evaluation.run(*protocol, *words)
    assert done.returncode == 0, done.stderr
    results = evaluation.results
    assert [figures["variant"] for figures in results["variants"]] == PLAYERS
    assert [it["finished"] for it in results["variants"]] == [1] * 5
    assert "Protocol short (SHA-256 " in results["statement"]
    assert "Seeds are those of the model or the player" in results["statement"]
    assert results["provenance"]["players"] == sorted(PLAYERS)
    assert results["provenance"]["disagreements"] == {}
    agreed = json.loads((evaluation.out / "evaluation.json").read_text())
    assert (agreed["protocol"]["name"], len(agreed["protocol"]["sha256"])) == ("short", 64)
    for name, events in evaluation.episodes().items():
        (start,) = (event for event in events if event["event_type"] == "episode_start")
        player, seed = name.split("/")[:2]
        settings = start["settings"]
        assert (start["player"], start["seed"]) == (player, 0)  # Jericho knows no seed for it
        assert settings["player_seed"] == settings["agent_seed"] == int(seed.removeprefix("seed-"))
        given = [event["command"] for event in events if event["event_type"] == "turn"]
        assert given == COMMANDS or player in ("random", "first-exit")
    again = evaluation.run(*protocol, *words, "--episodes", "2")
    assert again.returncode == 2
    assert "--episodes contradicts the protocol short" in again.stderr


@pytest.mark.soak
def test_a_prompt_of_another_player_that_was_edited_is_refused(
    evaluation: Evaluation, tmp_path: Path
) -> None:
    base_url = evaluation._always[evaluation._always.index("--base-url") + 1]
    sources = editable_sources(tmp_path / "sources", "prompts")
    edited = Evaluation(tmp_path, base_url, sources)
    flags = ["--player", "chat", "--seeds", "1"]
    assert edited.run(*flags).returncode == 0
    with (sources / PROMPT).open("a", encoding="utf-8") as file:
        file.write("Go north.\n")
    refused = edited.run(*flags, "--seeds", "1,2")
    assert refused.returncode == 2
    assert "prompt chat_full was " in refused.stderr


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--player", "walkthrough"], "--walkthrough FILE"),
        (["--walkthrough", "walk.txt"], "add --player walkthrough"),
        (["--player", "random", "--hints", "walk.txt"], "add --player model"),
        (["--player", "walkthrough", "--walkthrough", "none.txt"], "cannot be read"),
        (["--player", "random", "--each"], "add --player model"),
        (["--protocol", "tales"], "tales-100"),
        (["--protocol", "tales-100"], "--turns contradicts the protocol tales-100"),
    ],
)
def test_what_no_player_can_play_is_refused_before_anything_is_played(
    evaluation: Evaluation, flags: list[str], hint: str
) -> None:
    refused = evaluation.run(*flags)
    assert refused.returncode == 2
    assert hint in refused.stderr
    assert not evaluation.out.exists()
