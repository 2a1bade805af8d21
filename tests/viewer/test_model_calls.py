"""What models were sent and answered, read a turn at a time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from session.record.event_log import read
from session.record.schema import ModelCall
from tests.support.viewing import KEY, TURNS, log_of, recorded, write_log
from viewer import model_calls
from viewer.__main__ import main
from viewer.episode import Episode
from viewer.web.site import episode_data, episode_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return recorded(tmp_path)


def seen(folder: Path) -> Episode:
    episode = Episode(folder.name, folder)
    episode.refresh()
    return episode


def recorded_calls(folder: Path) -> dict[int, list[ModelCall]]:
    found: dict[int, list[ModelCall]] = {}
    for entry in read(folder):
        if isinstance(entry.event, ModelCall):
            found.setdefault(entry.turn or 0, []).append(entry.event)
    return found


def texts(call: dict[str, Any]) -> list[tuple[str, str]]:
    return [(it["role"], it["text"]) for it in call["messages"]]


def test_in_whatever_order_turns_are_looked_at_their_calls_are_those_of_the_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_calls, "_MARKED", 4)
    expected, episode = recorded_calls(folder), seen(folder)
    assert [it.role for it in expected[8]] == ["Agent", "Reflection"]
    for turn in random.Random(3).choices(range(1, TURNS + 1), k=40):
        shown = episode.model_calls(turn)
        assert [it["role"] for it in shown] == [it.role for it in expected[turn]]
        for call, logged in zip(shown, expected[turn], strict=True):
            assert logged.reply is not None
            assert call["reply"]["text"] == logged.reply.content
            assert call["reply"]["usage"]["prompt_tokens"] == logged.reply.spent.prompt_tokens
            sent = logged.request["messages"]
            assert [text for _, text in texts(call)] == [plain(it["content"]) for it in sent]
    assert episode.model_calls(TURNS + 1) == []


def plain(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "\n".join(it["text"] for it in content)


def test_a_request_that_builds_on_a_damaged_one_says_so(folder: Path, tmp_path: Path) -> None:
    events = log_of(folder)
    first = next(it for it in events if it["event_type"] == "model_call")
    first["request"] = {"sha256": "0", "parts": [[7, 99], 12345]}
    episode = seen(write_log(tmp_path / "episodes" / "torn", events))
    for turn in (1, 2):
        (call,) = episode.model_calls(turn)
        assert call["role"] == "Agent"
        assert "builds on a request that the log does not hold" in call["unreadable"]


def test_episodes_from_before_calls_were_logged_have_none(tmp_path: Path) -> None:
    events = [it for it in log_of(recorded(tmp_path)) if it["event_type"] != "model_call"]
    assert seen(write_log(tmp_path / "episodes" / "old", events)).model_calls(1) == []


def test_options_are_shown_as_they_were_sent_where_the_log_says_so() -> None:
    request: dict[str, Any] = {"model": "m", "options": {"temperature": 0.5, "seed": 7}}
    assert model_calls._options_json(request) == {"temperature": 0.5, "seed": 7}
    sent = {"model": "m", "max_tokens": 9, "thinking": {"type": "adaptive"}, "stop": ["END"]}
    assert model_calls._options_json({**request, "sent": sent}) == {
        "max_tokens": 9,
        "thinking.type": "adaptive",
        "stop": ["END"],
    }


def test_what_is_no_text_is_named_and_calls_of_tools_are_told() -> None:
    content = [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "x"}}]
    call = {"function": {"name": "a.b", "arguments": '{"x": 1}'}}
    message = {"role": "assistant", "content": content, "tool_calls": [call]}
    assert model_calls._message_json(message) == {
        "role": "assistant",
        "text": "See:\n[image_url]",
        "calls": [{"name": "a.b", "arguments": '{"x": 1}'}],
    }


def test_a_site_has_prompts_only_where_they_are_asked_for(folder: Path, tmp_path: Path) -> None:
    workdir = str(folder.parents[1])
    for flags, expected in (([], 0), (["--prompts"], TURNS)):
        site = tmp_path / f"site{expected}"
        assert main(["export", str(site), "--workdir", workdir, *flags]) == 0
        written = sorted(site.glob("data/played/calls/*.json"))
        assert len(written) == expected
        assert not [path for path in site.rglob("*.json") if KEY in path.read_text()]
    assert {*episode_paths(seen(folder), prompts=False)} < {
        *episode_paths(seen(folder), prompts=True)
    }
    assert episode_data(seen(folder), "calls/99999.json") == b"[]"
