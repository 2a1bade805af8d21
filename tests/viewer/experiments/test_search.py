from __future__ import annotations

import json
from pathlib import Path

import pytest

from session.record import schema
from tests.support.viewing import append, log_of, recorded, served, write_log
from viewer.experiments import search
from viewer.experiments.search import MOST_TURNS, turns_with


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An episode in whose third turn something special was said, and nowhere else."""
    events = log_of(recorded(tmp_path / "source"))
    for event in events:
        if event["event_type"] == "turn" and event["turn"] == 3:
            event["thinking"] = 'Über den "Fluß"\n and   SOMETHING strange'
    return write_log(tmp_path / "work" / "episodes" / "special", events)


@pytest.mark.parametrize("text", ["something strange", "  FLUß", '"fluß" and', "ÜBER"])
def test_words_are_found_in_either_case_across_lines_and_beyond_ascii(
    folder: Path, text: str
) -> None:
    found = turns_with(folder, text)
    assert [it["turn"] for it in found["turns"]] == [3]
    assert 'Über den "Fluß" and SOMETHING strange' in found["turns"][0]["excerpt"]
    assert found["more"] is False


def test_what_is_in_prompts_only_or_nowhere_is_not_found(folder: Path) -> None:
    for text in ("strange something", "event_type", "snapshot", "", "   "):
        assert turns_with(folder, text) == {"turns": [], "more": False}


def test_only_lines_that_hold_the_words_are_parsed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[object] = []

    def counted(fields: dict[str, object]) -> schema.Entry:
        parsed.append(fields["turn"])
        return schema.parse(fields)

    monkeypatch.setattr(search, "parse", counted)
    turns_with(folder, "something strange")
    assert parsed == [3]


def test_a_long_episode_tells_of_its_first_turns_and_that_there_are_more(folder: Path) -> None:
    (turn,) = [it for it in log_of(folder) if it["event_type"] == "turn" and it["turn"] == 3]
    for number in range(20, 20 + 2 * MOST_TURNS):
        append(folder, json.dumps({**turn, "turn": number}).encode() + b"\n")
    found = turns_with(folder, "something strange")
    assert [it["turn"] for it in found["turns"]] == [3, *range(20, 19 + MOST_TURNS)]
    assert found["more"] is True


def test_an_excerpt_begins_and_ends_with_a_word(folder: Path) -> None:
    (turn,) = [it for it in log_of(folder) if it["event_type"] == "turn" and it["turn"] == 3]
    long = {**turn, "turn": 20, "thinking": "alphabet " * 30 + "needle" + " alphabet" * 30}
    append(folder, json.dumps(long).encode() + b"\n")
    (found,) = turns_with(folder, "needle")["turns"]
    assert set(found["excerpt"].split()) == {"…", "alphabet", "needle"}


def test_damaged_and_unfinished_lines_are_passed_over(folder: Path) -> None:
    append(folder, b'{"event_type": "turn", "something strange\n', b'{"event_type": "turn"')
    assert len(turns_with(folder, "something strange")["turns"]) == 1


def test_the_server_looks_through_episodes_for_a_bounded_time_but_at_least_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(folder.parents[1]) as client:
        asked = {"find": "something strange", "episodes": "nobody,special"}
        nobody, special = client.get("search.json", params=asked).json()
        assert (nobody, [it["turn"] for it in special["turns"]]) == (None, [3])
        monkeypatch.setattr("viewer.web.server._SEARCH_SECONDS", 0)  # the rest is asked for again
        assert client.get("search.json", params=asked).json() == [None]
