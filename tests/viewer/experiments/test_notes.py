from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.support.viewing import append, entered, log_of, recorded
from viewer.experiments.notes import (
    FORMER_NOTES_FILE,
    MOST_BYTES,
    MOST_NOTE_CHARACTERS,
    MOST_TAG_CHARACTERS,
    MOST_TAGS,
    NOTES_FILE,
    Notes,
    NotesError,
)
from viewer.library import Library
from viewer.web.cockpit import Cockpit
from viewer.web.site import export_site
from viewer.web.watch import watching

WRITTEN = {"note": "Stuck at the door", "tags": ["stuck", "good start"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return recorded(tmp_path / "work")


@pytest.fixture
def cockpit() -> Cockpit:
    return Cockpit()


@pytest.fixture
def client(folder: Path, cockpit: Cockpit) -> Iterator[httpx2.Client]:
    with (
        watching(folder.parents[1], open_browser=False, cockpit=cockpit) as address,
        entered(address, timeout=30) as client,
    ):
        yield client


def test_notes_stand_beside_the_log_and_are_kept(folder: Path) -> None:
    before = log_of(folder)
    notes = Notes(folder)
    notes.write(3, "  The lamp!\x1b[2J ", ["lamp", "lamp", " two  words "])
    notes.write(None, "Whole", [])
    notes.write(5, "Gone", [])
    notes.write(5, " ", ["", " "])
    kept = Notes(folder).json()
    assert kept == {
        "name": "",
        "note": "Whole",
        "tags": [],
        "turns": {"3": {"note": "The lamp!", "tags": ["lamp", "two words"]}},
    }
    assert log_of(folder) == before
    assert {it.name for it in folder.iterdir()} == {"events.jsonl", NOTES_FILE}


def test_notes_of_older_episodes_are_read_and_move_when_one_is_written(folder: Path) -> None:
    former = folder / FORMER_NOTES_FILE
    former.write_text(json.dumps({"note": "Old", "turns": {"2": WRITTEN}}))
    notes = Notes(folder)
    assert (notes.row()["note"], notes.row()["noted_turns"]) == ("Old", 1)
    before = notes.state()
    notes.write(3, "New", [])
    assert notes.state() != before
    assert Notes(folder).json()["note"] == "Old"
    assert list(Notes(folder).json()["turns"]) == ["2", "3"]
    assert not former.exists()
    assert (folder / NOTES_FILE).is_file()


def test_a_former_file_that_was_not_read_is_never_removed(folder: Path) -> None:
    """As where an older version of the program has written one since."""
    Notes(folder).write(3, "New", [])
    former = folder / FORMER_NOTES_FILE
    former.write_text(json.dumps({"note": "Written by an older version"}))
    Notes(folder).write(4, "Newer", [])
    assert former.is_file()
    assert list(Notes(folder).json()["turns"]) == ["3", "4"]


def test_notes_are_seen_by_others_as_soon_as_they_are_written(folder: Path) -> None:
    library = Library(folder.parents[1])
    (episode,) = library.episodes()
    before = episode.state()
    Notes(folder).write(2, "", ["odd"])
    assert episode.state() != before
    row = library.index()["episodes"][0]
    assert (row["tags"], row["turn_tags"], row["noted_turns"]) == ([], ["odd"], 1)
    append(folder, b"\n")
    assert Library(folder.parents[1]).index()["episodes"][0]["turn_tags"] == ["odd"]


def test_an_episode_keeps_the_name_that_it_was_given(folder: Path) -> None:
    Notes(folder).write(None, "", [], "  The one\nwith the lamp ")
    Notes(folder).write(2, "Dark", [])
    assert Notes(folder).row()["name"] == "The one with the lamp"
    Notes(folder).write(None, "", [], "")
    assert "name" not in json.loads((folder / NOTES_FILE).read_text()), "older versions read it"


@pytest.mark.parametrize("damage", ["{", '{"note": 3}', "[]", " " * (MOST_BYTES + 1)])
@pytest.mark.parametrize("name", [NOTES_FILE, FORMER_NOTES_FILE])
def test_a_damaged_file_is_shown_as_none_and_never_overwritten(
    folder: Path, damage: str, name: str
) -> None:
    file = folder / name
    file.write_text(damage)
    notes = Notes(folder)
    assert notes.json() == {"name": "", "note": "", "tags": [], "turns": {}}
    with pytest.raises(NotesError, match="move it away"):
        notes.write(None, "new", [])
    assert file.read_text() == damage


def test_what_is_too_long_is_refused_with_the_bound(folder: Path) -> None:
    notes = Notes(folder)
    for note, tags, bound in (
        ("x" * (MOST_NOTE_CHARACTERS + 1), [], f"{MOST_NOTE_CHARACTERS:,}"),
        ("", [str(it) for it in range(MOST_TAGS + 1)], str(MOST_TAGS)),
        ("", ["x" * (MOST_TAG_CHARACTERS + 1)], str(MOST_TAG_CHARACTERS)),
        ("", ["a,b"], "comma"),
    ):
        with pytest.raises(NotesError, match=bound):
            notes.write(None, note, tags)
    assert not (folder / NOTES_FILE).exists()


def test_only_a_page_of_ours_with_the_token_writes_notes(
    client: httpx2.Client, cockpit: Cockpit, folder: Path
) -> None:
    path, key = "data/played/notes", {"authorization": f"Bearer {cockpit.token}"}
    assert client.post(path, json=WRITTEN).status_code == 403
    for wrong in (
        {"authorization": "Bearer x"},
        {**key, "origin": "http://elsewhere.example"},
        {**key, "sec-fetch-site": "cross-site"},
        {**key, "host": "elsewhere.example"},
    ):
        assert client.post(path, json=WRITTEN, headers=wrong).status_code == 403
    for body in (b"", b"[]", b'{"note": 1, "tags": []}', b'{"note": "x"}', b"x" * 70_000):
        assert client.post(path, content=body, headers=key).status_code == 400
    refused = client.post(path, json={**WRITTEN, "turn": 999}, headers=key)
    assert (refused.status_code, refused.text) == (422, "The episode has no turn 999.")
    assert client.request("PUT", path, headers=key).status_code == 405
    assert client.post("data/nobody/notes", json=WRITTEN, headers=key).status_code == 404
    assert not (folder / NOTES_FILE).exists(), "nothing of that was obeyed"
    answer = client.post(path, json={**WRITTEN, "turn": 4}, headers=key)
    assert answer.json()["turns"] == {"4": WRITTEN}
    assert client.get("data/played/notes.json").json() == answer.json()


def test_a_server_without_a_token_only_reads(folder: Path) -> None:
    with (
        watching(folder.parents[1], open_browser=False) as address,
        httpx2.Client(base_url=address, timeout=30, trust_env=False) as client,
    ):
        key = {"authorization": "Bearer x"}
        assert client.post("data/played/notes", json=WRITTEN, headers=key).status_code == 405


def test_notes_and_tags_are_exported(folder: Path, tmp_path: Path) -> None:
    Notes(folder).write(None, "Keep", ["best"])
    library = Library(folder.parents[1])
    export_site(library, library.episodes(), tmp_path / "site")
    assert json.loads((tmp_path / "site/data/played/notes.json").read_text())["note"] == "Keep"
    index = json.loads((tmp_path / "site/data/episodes.json").read_text())
    assert index["episodes"][0]["tags"] == ["best"]
