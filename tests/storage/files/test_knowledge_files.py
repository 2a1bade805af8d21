from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from game_interface.story import BUNDLED_STORY
from session.knowledge import Edits
from storage.errors import StorageError
from storage.files.edits import MOST_BYTES, MOST_CLAIMS
from storage.files.knowledge_files import KnowledgeFiles, log_import
from storage.store import Store
from tests.support import ROOT
from tests.support.program import Program
from tests.support.stored import (
    STORY,
    LoggedEpisode,
    configuration,
    confirmed,
    dump,
    reflection,
    walk,
)

TEXT = "Rule 1 holds, says aaaaaa."


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """Two episodes, as logs."""
    folder = tmp_path / "game_files"
    LoggedEpisode(folder, "aaaaaa", day=1).add(*walk(1, 2), reflection("aaaaaa", 1)).end()
    change = confirmed("aaaaaa-c1")
    later = reflection("bbbbbb", 1, claims=(), claim_changes=(change,))
    LoggedEpisode(folder, "bbbbbb", day=2).add(*walk(1, 3), later)
    return folder


@pytest.fixture
def store(workdir: Path) -> Iterator[Store]:
    with Store(configuration(workdir)) as opened:
        for folder in sorted((workdir / "episodes").iterdir()):
            opened.take_in_log(folder)
        yield opened


@pytest.fixture
def files(workdir: Path, store: Store) -> KnowledgeFiles:
    return KnowledgeFiles(configuration(workdir), store)


@pytest.fixture
def program(workdir: Path) -> Program:
    it = Program(workdir.parent, "-m", "storage")
    it.env["PYTHONPATH"] = str(ROOT)
    return it


def edit(files: KnowledgeFiles, before: str = TEXT, after: str = "By hand.") -> Path:
    path = files.path("cave", STORY)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    return path


def test_edits_are_read_stored_and_then_nothing_is_left_to_read(
    files: KnowledgeFiles, store: Store, workdir: Path
) -> None:
    assert files.write("cave", STORY)
    edit(files)
    edits = files.read_edits("cave", STORY)
    assert [it.text for it in edits.changes] == ["By hand."]
    store.take_in_log(LoggedEpisode(workdir, "cccccc", day=3, edits=edits).folder)
    assert files.read_edits("cave", STORY) == Edits()  # also when nobody wrote it anew yet
    assert files.write("cave", STORY)
    assert "By hand." in files.path("cave", STORY).read_text()
    assert [it.text for it in store.carried_over(STORY).claims] == ["By hand."]


def test_edits_that_nobody_read_are_never_overwritten(
    files: KnowledgeFiles, store: Store, workdir: Path
) -> None:
    files.write("cave", STORY)
    path = edit(files)
    edited = path.read_text()
    store.take_in_log(LoggedEpisode(workdir, "cccccc").add(reflection("cccccc", 1)).folder)
    assert not files.write("cave", STORY)
    assert path.read_text() == edited
    assert [it.id for it in files.read_edits("cave", STORY).changes] == ["aaaaaa-c1"]


def test_stories_of_one_name_have_files_of_their_own(files: KnowledgeFiles, store: Store) -> None:
    files.write("cave", STORY)
    other = "cd" * 32
    assert files.path("cave", other).name == "cave-cdcdcdcd.md"
    assert files.path("../a b", other).parent == files.folder


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_whatever_encoding_an_editor_saves_in_edits_are_read(
    files: KnowledgeFiles, encoding: str
) -> None:
    files.write("cave", STORY)
    path = edit(files, after="Caf\u00e9s are safe.")
    path.write_bytes(path.read_text().replace("\n", "\r\n").encode(encoding))
    assert [it.text for it in files.read_edits("cave", STORY).changes] == ["Caf\u00e9s are safe."]


def test_a_file_of_bytes_that_are_not_text_is_not_an_error(files: KnowledgeFiles) -> None:
    path = files.path("cave", STORY)
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00\xd8\x01" + bytes(range(256)))
    assert files.read_edits("cave", STORY) == Edits()
    assert files.write("cave", STORY)
    assert TEXT in path.read_text()


def test_a_file_that_cannot_be_written_is_a_clear_error(files: KnowledgeFiles) -> None:
    files.folder.write_text("no folder")
    with pytest.raises(StorageError, match="cannot be read or written"):
        files.write("cave", STORY)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("x" * (MOST_BYTES + 1), "2 MiB"),
        ("## Tested\n" + "- a\n" * (MOST_CLAIMS + 1), "5,000 claims"),
    ],
)
def test_a_file_that_is_too_large_is_left_alone_with_a_clear_line(
    files: KnowledgeFiles, text: str, limit: str
) -> None:
    files.write("cave", STORY)
    path = edit(files, after="Lamps burn.")
    path.write_text(text)
    said = f"cave.md cannot be read or written: it has more than {limit}, so none of it is read;"
    for use in (files.read_edits, files.write, files.odd_lines):
        with pytest.raises(StorageError, match=said):
            use("cave", STORY)
    assert path.read_text() == text


def test_writing_leaves_no_other_files(files: KnowledgeFiles) -> None:
    files.write("cave", STORY)
    edit(files, "## Notes", "## Notes\n\nMine.")
    assert files.write("cave", STORY)
    assert "Mine." in files.path("cave", STORY).read_text()
    assert [path.name for path in files.folder.iterdir()] == ["cave.md"]


def test_a_key_in_edits_is_not_kept(store: Store, workdir: Path) -> None:
    files = KnowledgeFiles(configuration(workdir, client_api_key="k-made-up"), store)
    files.write("cave", STORY)
    edit(files, after="The key is k-made-up.")
    edits = files.read_edits("cave", STORY)
    assert [it.text for it in edits.changes] == ["The key is ***."]
    store.put(log_import(files.folder, edits, "cave", STORY))
    assert files.write("cave", STORY)
    assert "k-made-up" not in files.path("cave", STORY).read_text()


def test_rebuilding_from_logs_gives_the_same_again(program: Program, workdir: Path) -> None:
    first = program.run("rebuild")
    assert first.returncode == 0, first.stderr
    assert "Read 2 episodes" in first.stdout
    config = configuration(workdir)
    once = dump(config)
    assert len(once["zorkgpt_episodes"]) == 2
    assert program.run("rebuild").returncode == 0
    assert dump(config) == once
    (workdir / "knowledge.db").unlink()
    assert program.run("rebuild").returncode == 0
    assert dump(config) == once


@pytest.mark.parametrize(
    ("player", "model"), [("model", "m"), ("chat", "m"), ("mcp", "a guest"), ("random", "")]
)
def test_what_was_played_without_storage_is_not_taken_in_by_a_rebuild(
    program: Program, workdir: Path, player: str, model: str
) -> None:
    off = {"storage_enabled": False}
    other = LoggedEpisode(workdir, "cccccc", player=player, model=model, settings=off)
    other.add(*walk(1, 2, 3)).end()
    done = program.run("rebuild")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Read 2 episodes" in done.stdout
    other.log("episode_resumed", turn=2, model="m", settings={"storage_enabled": True})
    if player == "model":
        assert "Read 3 episodes" in program.run("rebuild").stdout


def test_damaged_logs_are_named_and_left_out(program: Program, workdir: Path) -> None:
    LoggedEpisode(workdir, "cccccc").log("turn", turn=1)
    done = program.run("rebuild")
    assert done.returncode == 1
    assert "left out: Line 3 of game_files/episodes/episode-cccccc/events.jsonl" in done.stderr
    assert "Read 2 episodes" in done.stdout


def test_imported_edits_survive_a_rebuild(program: Program, workdir: Path) -> None:
    program.run("rebuild")
    path = workdir / "knowledge" / "cave.md"
    path.write_text(path.read_text().replace(TEXT, "By hand.").replace("## Inferred", "Odd.\n"))
    kept = program.run("export")
    assert kept.returncode == 1
    assert "contains edits" in kept.stderr
    imported = program.run("import")
    assert imported.returncode == 0, imported.stderr
    assert "0 new claims, 1 change" in imported.stdout
    assert "line 13 is not a claim" in imported.stderr
    before = dump(configuration(workdir))
    (workdir / "knowledge.db").unlink()
    assert program.run("rebuild").returncode == 0
    assert dump(configuration(workdir)) == before
    assert "By hand." in program.run("show").stdout
    assert "Odd." in path.read_text()


def test_a_rebuild_keeps_edits_that_nobody_read(program: Program, workdir: Path) -> None:
    program.run("rebuild")
    path = workdir / "knowledge" / "cave.md"
    path.write_text(path.read_text().replace(TEXT, "By hand."))
    done = program.run("rebuild")
    assert done.returncode == 1
    assert "python -m storage import" in done.stderr
    assert "By hand." in path.read_text()


def test_what_is_known_is_shown(program: Program) -> None:
    program.run("rebuild")
    shown = program.run("show", "cave").stdout
    assert "cave (abababab): 2 episodes" in shown
    assert f"aaaaaa-c1  {TEXT}" in shown
    assert "Room 1 (1): Thing 1" in shown
    assert ": m, 1 turn, score 1, Turn limit\n" in shown
    assert ": m, 1 turn, score 1, Interrupted\n" in shown
    wire = program.run("show", "abababab", "--json").stdout
    assert '"story": "cave"' in wire
    assert '"direction": "east"' in wire


def test_an_export_without_anything_learned_says_so(program: Program, tmp_path: Path) -> None:
    LoggedEpisode(tmp_path / "other" / "game_files", "cccccc", day=1).add(*walk(1, 2)).end()
    program.folder = tmp_path / "other"
    program.run("rebuild")
    done = program.run("export")
    assert (done.returncode, done.stdout.count("nothing to write")) == (0, 1), done


def test_forgetting_wants_to_be_meant(program: Program, workdir: Path) -> None:
    program.run("rebuild")
    asked = program.run("forget", "--episode", "aaaaaa")
    assert asked.returncode == 2
    assert "--yes" in asked.stderr
    assert len(dump(configuration(workdir))["zorkgpt_episodes"]) == 2
    done = program.run("forget", "--episode", "aaaaaa", "--yes")
    assert done.returncode == 0, done.stderr
    assert TEXT not in (workdir / "knowledge" / "cave.md").read_text()
    assert program.run("forget", "--story", "cave", "--yes").returncode == 0
    assert not any(dump(configuration(workdir)).values())
    assert "Nothing is known yet" in program.run("show").stdout


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["show"], 1, "python -m storage rebuild"),
        (["show", "--workdir", "nowhere"], 1, "nowhere/knowledge.db"),
        (["rebuild", "--config", "none.toml"], 2, "none.toml"),
        (["rebuild", "--workdir", "nowhere"], 1, "no folder nowhere"),
        (["forget"], 2, "--episode"),
        (["dance"], 2, "invalid choice"),
    ],
)
def test_mistakes_are_told_with_what_to_do(
    program: Program, flags: list[str], code: int, said: str
) -> None:
    done = program.run(*flags)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert not (program.folder / "nowhere").exists()


def test_the_bundled_story_is_known_by_the_name_with_which_it_is_played(
    program: Program, workdir: Path
) -> None:
    played = LoggedEpisode(workdir, "cccccc", story=BUNDLED_STORY, story_sha256="e" * 64)
    played.add(reflection("cccccc", 1))
    program.run("rebuild")
    shown = program.run("show", "bundled").stdout
    assert f"{BUNDLED_STORY} (eeeeeeee): 1 episode" in shown
    assert "cave" not in shown


def test_an_unknown_story_or_episode_is_wrong_use(program: Program) -> None:
    program.run("rebuild")
    for flags in (["show", "nope"], ["forget", "--episode", "nope", "--yes"]):
        done = program.run(*flags)
        assert done.returncode == 2
        assert "nope" in done.stderr
