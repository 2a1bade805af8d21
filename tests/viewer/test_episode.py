from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.achievements.achievement import Achievements, shipped
from evaluation.figures import EpisodeFigures
from mcp_ghost.testing import content_reply
from session.game_state import Place
from session.knowledge import CarriedOver, Claim, Evidence, Memory
from session.record.event_log import EVENTS_FILE
from tests.support.episodes import answer, played
from tests.support.viewing import TURNS, Event, append, log_of, play, recorded, write_log
from viewer.episode import Episode
from viewer.turns import SHOWN_CHARACTERS
from workshop.benchmarks.viewer import write_long_log


def seen(folder: Path) -> Episode:
    episode = Episode(folder.name, folder)
    episode.refresh()
    return episode


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return recorded(tmp_path)


def turns_of(folder: Path) -> list[Event]:
    return [event for event in log_of(folder) if event["event_type"] == "turn"]


def test_a_summary_adds_up_what_was_logged(folder: Path) -> None:
    events = log_of(folder)
    turns, end = turns_of(folder), events[-1]
    summary = seen(folder).summary()
    assert {key: summary[key] for key in ("id", "turns", "score", "end_reason", "running")} == {
        "id": "played",
        "turns": TURNS,
        "score": end["score"],
        "end_reason": "max_turns",
        "running": False,
    }
    start = next(event for event in events if event["event_type"] == "episode_start")
    for key in ("uid", "story", "title", "model", "seed", "engine"):
        assert summary[key] == start[key]
    assert summary["started"] == start["time"]
    assert summary["calls"] == end["usage"]["calls"], "those of looking back are among them"
    assert summary["prompt_tokens"] == end["usage"]["prompt_tokens"]
    kinds = [event["event_type"] for event in events]
    assert summary["reflections"] == kinds.count("reflection") > 0
    assert summary["max_score"] == turns[-1]["after"]["max_score"]
    rooms = {start["observation"]["room"]["id"], *(it["after"]["room"]["id"] for it in turns)}
    assert summary["rooms"] == len(rooms)


def test_a_turn_that_was_not_played_is_a_mark_and_is_paid_for(tmp_path: Path) -> None:
    rambling = content_reply("Hm.", usage={"prompt_tokens": 7, "cost": 0.5})
    script = [answer("wait"), rambling, answer("wait")]
    folder = played(tmp_path, script, max_turns_per_episode=2).folder
    episode = seen(folder)
    summary = episode.summary()
    assert (summary["turns"], summary["calls"], summary["cost"]) == (2, 3, 0.5)
    (mark,) = (it for it in episode.json()["marks"] if it["kind"] == "failure")
    assert (mark["turn"], mark["text"][:28]) == (1, "Turn 2 was not played: an an")
    assert [(it[0], it[3]) for it in episode.took_by_turn()] == [(1, None), (2, 0.5)]
    assert episode.took_by_turn()[1][4] >= turns_of(folder)[1]["seconds"]


def test_what_stopped_an_episode_is_told_with_its_place_and_how_often_it_was_tried(
    folder: Path,
) -> None:
    failed = {"event_type": "turn_failed", "turn": TURNS + 1, "failure": "No key.", "seconds": 1}
    off = {"event_type": "mcp_disabled_fallback", "turn": 3, "message": "Continuing without tools"}
    write_log(folder, [*log_of(folder), off, failed, failed])
    assert seen(folder).json()["failures"] == [
        {"after": 3, "what": "Tools failed", "why": "Continuing without tools", "times": 1},
        {"after": TURNS, "what": "Turn 13 was not played", "why": "No key.", "times": 2},
    ]


def test_the_steps_of_a_turn_fill_its_time_in_their_order(folder: Path) -> None:
    for turn in seen(folder).chunk(0):
        kinds = [kind for kind, *_ in turn["steps"]]
        assert (kinds[0], kinds[-1]) == ("model", "game")
        starts = [start for _, _, start, _ in turn["steps"]]
        assert starts == sorted(starts)
        _, _, start, seconds = turn["steps"][-1]
        assert start + seconds <= turn["seconds"] + 0.5, "logging takes a little, too"


def test_settings_come_with_their_defaults_and_what_a_resumed_episode_changed(
    folder: Path,
) -> None:
    start = next(it for it in log_of(folder) if it["event_type"] == "episode_start")
    later = {**start["settings"], "max_turns_per_episode": 99}
    resumed = {"event_type": "episode_resumed", "turn": TURNS, "settings": later}
    write_log(folder, [*log_of(folder), resumed])
    told = seen(folder).settings_json()
    assert told is not None
    assert json.loads(told["line"]) == start
    settings = {it["name"]: it for it in told["settings"]}
    limit = {"name": "max_turns_per_episode", "value": 99, "default": 500, "before": TURNS}
    assert settings["max_turns_per_episode"] == limit
    changed = {name for name, it in settings.items() if it["value"] != it["default"]}
    assert {"story", "seed", "client_base_url"} <= changed < settings.keys()
    assert told["prompts"] == start["prompts"]
    assert dict(told["facts"])["Code"] == start["code"]


def test_the_score_line_has_the_first_the_last_and_every_change(folder: Path) -> None:
    line = seen(folder).summary()["scores"]
    scores = [0, *(it["after"]["score"] for it in turns_of(folder))]
    changes = [(n, it) for n, it in enumerate(scores) if n == 0 or scores[n - 1] != it]
    assert line == (changes if changes[-1][0] == TURNS else [*changes, (TURNS, scores[-1])])


def test_the_progress_line_has_the_share_of_the_achievements_as_evaluations_count_it(
    folder: Path,
) -> None:
    line = seen(folder).summary()["progress"]
    file = shipped()[next(it for it in log_of(folder) if "story_sha256" in it)["story_sha256"]]
    figures = EpisodeFigures.read(folder, Achievements.read(file))
    assert line[0] == (0, 0.0)
    assert len(line) > 1, "the recorded commands earn one"
    for turn, share in line:
        assert share == round(figures.progress_at(turn) or 0, 1)
    assert line[-1][1] == round(figures.progress_at(TURNS) or 0, 1)


def test_turns_come_without_what_only_the_engine_needs(folder: Path) -> None:
    turns = seen(folder).chunk(0)
    logged = turns_of(folder)
    assert [it["turn"] for it in turns] == list(range(1, TURNS + 1))
    for turn, event in zip(turns, logged, strict=True):
        assert not {"snapshot", "message", "event_type"} & turn.keys()
        assert "world_hash" not in turn["after"]
        for key in ("time", "command", "thinking", "response", "place", "usage", "scored"):
            assert turn[key] == event[key]


def test_the_map_has_the_rooms_the_ways_and_the_path_that_was_walked(folder: Path) -> None:
    whole = seen(folder).json()
    rooms = {room["id"]: room for room in whole["map"]["rooms"]}
    walked = [whole["first"]["room"]["id"]]
    walked += [it["after"]["room"]["id"] for it in turns_of(folder)]
    path = [(n, it) for n, it in enumerate(walked) if n == 0 or walked[n - 1] != it]
    assert whole["path"] == path
    assert set(walked) == rooms.keys()
    assert len({(room["x"], room["y"]) for room in rooms.values()}) == len(rooms)
    ways = {(way["from"], way["direction"]): way for way in whole["map"]["passages"]}
    for event in turns_of(folder):
        if event["place"]["id"] != event["after"]["room"]["id"]:
            way = ways[event["place"]["id"], event["command"]]
            assert way["to"] == event["after"]["room"]["id"]
            start, end = rooms[way["from"]], rooms[way["to"]]
            if event["command"] == "north":
                assert end["y"] < start["y"], "a page's y grows to the south"
            assert end["first_turn"] <= event["turn"]


def test_marks_name_scores_rooms_things_and_reflections(folder: Path) -> None:
    marks = seen(folder).json()["marks"]
    found = {(mark["turn"], mark["kind"]) for mark in marks}
    for event in turns_of(folder):
        assert ((event["turn"], "score") in found) == bool(event["scored"])
    assert {"room", "item", "reflection"} <= {kind for _, kind in found}
    assert (8, "reflection") in found


def test_what_was_learned_comes_with_the_turns_in_which_it_held(folder: Path) -> None:
    whole = seen(folder).json()
    first = whole["reflections"][0]
    assert first["turn"] == 8
    assert first["memories"]
    by_id = {memory["id"]: memory for memory in whole["memories"]}
    for memory_id in first["memories"]:
        assert by_id[memory_id]["from"] == 8
        assert by_id[memory_id]["carried"] is False
    (claim,) = whole["claims"]
    assert (claim["from"], claim["to"], claim["id"]) == (8, None, first["claims"][0])
    (objective,) = whole["objectives"]
    assert (objective["opened"], objective["closed"], objective["id"]) == (
        8,
        None,
        first["objectives"][0],
    )


def test_what_was_carried_over_holds_from_the_start_until_it_is_refuted(folder: Path) -> None:
    evidence = Evidence(episode="aaaaaa", turn=1, quote="So it is.")
    old = Memory(
        id="aaaaaa-m1",
        room=Place(id=1, name="Cell"),
        category="note",
        title="A door",
        text="There is a door.",
        persistence="core",
        evidence=evidence,
    )
    claim = Claim(id="aaaaaa-c1", text="Doors open.", basis="tested")
    carried = CarriedOver(episodes=1, memories=(old,), claims=(claim,)).model_dump(mode="json")
    events = log_of(folder)
    for event in events:
        if event["event_type"] == "knowledge_loaded":
            event["carried"] = carried
        if event["event_type"] == "reflection" and event["number"] == 1:
            change = {"id": old.id, "status": "invalidated", "reason": "It is a wall.", "turn": 7}
            event["memory_changes"] = [change]
            event["claim_changes"] = [{"id": claim.id, "kind": "contradicted", "reason": "No."}]
    whole = seen(write_log(folder, events)).json()
    memory = next(it for it in whole["memories"] if it["id"] == old.id)
    assert (memory["from"], memory["to"], memory["carried"]) == (0, 7, True)
    assert (memory["status"], memory["reason"]) == ("invalidated", "It is a wall.")
    refuted = next(it for it in whole["claims"] if it["id"] == claim.id)
    assert (refuted["from"], refuted["to"], refuted["status"]) == (0, 8, "retired")


def test_an_episode_that_goes_on_has_not_ended(tmp_path: Path) -> None:
    folder = play(tmp_path, 2)
    episode = seen(folder)
    assert episode.end_reason == "max_turns"
    play(tmp_path, 4)
    episode.refresh()
    assert (episode.end_reason, episode.turn_count) == ("max_turns", 4)
    kinds = [event["event_type"] for event in log_of(folder)]
    write_log(folder, log_of(folder)[: kinds.index("episode_resumed") + 1])
    episode.refresh()
    assert episode.summary()["end_reason"] is None
    assert (episode.turn_count, episode.generation) == (2, 1)


@pytest.mark.parametrize(
    "damage",
    [{"after": None}, {"turn": 0}, {"turn": "x"}, {"tools": [1]}, {"usage": {"calls": "many"}}],
)
def test_a_turn_that_cannot_be_read_is_a_mark_and_a_gap(
    folder: Path, damage: dict[str, object]
) -> None:
    events = log_of(folder)
    spoilt = next(n for n, it in enumerate(events) if it.get("turn") == 6 and "snapshot" in it)
    events[spoilt] |= damage
    episode = seen(write_log(folder, events))
    assert [it["turn"] for it in episode.chunk(0)] == [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]
    (mark,) = (it for it in episode.json()["marks"] if it["kind"] == "damaged")
    assert (mark["turn"], mark["text"]) == (5, f"Line {spoilt + 1} of the log is damaged")


@pytest.mark.parametrize("kind", ["episode_start", "knowledge_loaded", "reflection", "episode_end"])
def test_any_other_event_without_its_fields_does_no_harm(folder: Path, kind: str) -> None:
    append(folder, json.dumps({"event_type": kind}).encode() + b"\n")
    episode = seen(folder)
    assert episode.turn_count == TURNS
    assert [it["kind"] for it in episode.json()["marks"]].count("damaged") == 1


def test_a_long_result_of_a_tool_is_cut_and_can_be_had_whole(folder: Path) -> None:
    events = log_of(folder)
    text = "<script>alert(1)</script>\x1b[31m\u202e" * 200_000
    tool = {"name": "a.b", "arguments": {}, "is_error": False, "duration_ms": 1.5}
    for event in events:
        if event["event_type"] == "turn" and event["turn"] == 3:
            event["tools"] = [{**tool, "result": "short"}, {**tool, "result": text}]
    episode = seen(write_log(folder, events))
    short, long = episode.chunk(0)[2]["tools"]
    assert (short["result"], short["cut"], short["length"]) == ("short", False, 5)
    assert (long["result"], long["cut"]) == (text[:SHOWN_CHARACTERS], True)
    assert long["length"] == len(text)
    assert episode.tool_result(3, 1) == text
    assert episode.tool_result(3, 2) is None
    assert episode.tool_result(99, 0) is None


def test_a_long_episode_is_read_by_ranges(folder: Path, tmp_path: Path) -> None:
    long = write_long_log(folder, tmp_path / "long", turns=2000)
    episode = seen(long)
    assert episode.chunks() == list(range(40))
    assert [it["turn"] for it in episode.chunk(39)] == list(range(1951, 2001))
    assert episode.chunk(40) == []
    assert (long / EVENTS_FILE).stat().st_size > 2_000_000
