from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.viewing import Event, log_of, recorded, served, write_log
from viewer.episode import Episode
from viewer.experiments.alignment import aligned


def episode(folder: Path, events: list[Event]) -> Episode:
    episode = Episode(folder.name, write_log(folder, events))
    episode.refresh()
    return episode


def rows_of(one: Episode, other: Episode) -> list[tuple[str, list[int | None]]]:
    rows: list[Any] = aligned(one, other)["rows"]
    return [(it["kind"], [cell and cell["turn"] for cell in it["cells"]]) for it in rows]


def test_turns_are_aligned_again_after_a_detour_and_after_another_command(tmp_path: Path) -> None:
    events = log_of(recorded(tmp_path))
    at = next(i for i, it in enumerate(events) if it["event_type"] == "turn" and it["turn"] == 5)
    later = [{**it, "turn": it["turn"] + 1} for it in events[at:]]
    waited = {**events[at], "command": "wait", "after": {**events[at]["after"], "room": None}}
    plain = episode(tmp_path / "plain", events)
    assert rows_of(plain, episode(tmp_path / "detour", [*events[:at], waited, *later])) == [
        *(("", [turn, turn]) for turn in range(1, 5)),
        ("one", [None, 5]),
        *(("", [turn, turn + 1]) for turn in range(5, 13)),
    ]
    events[at] = {**events[at], "command": "sing"}
    rows = rows_of(plain, episode(tmp_path / "other", events))
    assert rows == [("command" if turn == 5 else "", [turn, turn]) for turn in range(1, 13)]


def test_words_that_differ_are_marked_unless_nearly_all_do(tmp_path: Path) -> None:
    answers = ("The lamp is on, and it is warm here.", "The lamp is off, and it is warm here.")
    both = []
    for name, said in zip(("one", "other"), answers, strict=True):
        events = [
            {**it, "response": said if it["turn"] == 1 else name}
            if it["event_type"] == "turn"
            else it
            for it in log_of(recorded(tmp_path / "source" / name))
        ]
        both.append(episode(tmp_path / name, events))
    first, second, *_ = aligned(*both)["rows"]
    assert first["kind"] == second["kind"] == "answer"
    assert [it["answer"] for it in first["cells"]] == [
        [("The lamp is ", False), (word, True), ("and it is warm here.", False)]
        for word in ("on, ", "off, ")
    ]
    assert second["cells"][0]["answer"] == [("one", False)]


def test_the_server_aligns_two_of_its_episodes(tmp_path: Path) -> None:
    recorded(tmp_path, "one")
    recorded(tmp_path, "other")
    with served(tmp_path) as client:
        rows = client.get("aligned/one/other.json").json()["rows"]
        assert [it["kind"] for it in rows] == [""] * 12
        assert client.get("aligned/one/nosuch.json").status_code == 404
