from __future__ import annotations

from pathlib import Path

import pytest

from session.knowledge import ClaimChange, Edits
from storage.errors import LogRefusedError, StorageError
from storage.selection import MOST_CLAIMS, MOST_MEMORIES
from storage.store import Store
from tests.support import postgres
from tests.support.stored import (
    STORY,
    LoggedEpisode,
    claim,
    configuration,
    confirmed,
    dump,
    memory,
    reflection,
    superseded,
    walk,
)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else postgres.new_database()


def test_nothing_is_carried_over_at_first(tmp_path: Path, url: str | None) -> None:
    with Store(configuration(tmp_path, url)) as store:
        carried = store.carried_over(STORY)
    assert (carried.episodes, carried.memories, carried.claims) == (0, (), ())


def test_a_link_in_the_place_of_the_database_is_not_followed(tmp_path: Path) -> None:
    config = configuration(tmp_path, None)
    Path(config.workdir).mkdir(exist_ok=True)
    Path(config.workdir, "knowledge.db").symlink_to(tmp_path / "another.db")
    with pytest.raises(StorageError, match="is a link, which is not followed"):
        Store(config)
    assert not (tmp_path / "another.db").exists()


def test_an_episode_hands_on_what_it_learned(tmp_path: Path, url: str | None) -> None:
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(*walk(1, 2, 2), reflection("aaaaaa", 1)).end()
    with Store(configuration(tmp_path, url)) as store:
        store.take_in_log(episode.folder)
        carried = store.carried_over(STORY)
        assert store.carried_over("another story").episodes == 0
    assert carried.episodes == 1
    assert [it.id for it in carried.memories] == ["aaaaaa-m1"]
    assert [it.id for it in carried.claims] == ["aaaaaa-c1"]
    ways = {(it.room.id, it.direction): it for it in carried.passages}
    assert ways[1, "east"].to is not None
    assert ways[1, "east"].to.id == 2
    assert ways[2, "east"].answer == "answer 2"


def test_taking_in_as_it_happens_gives_what_the_log_gives(tmp_path: Path, url: str | None) -> None:
    config = configuration(tmp_path, url)
    episode = LoggedEpisode(tmp_path, "aaaaaa")
    with Store(config) as store:
        store.take_in_log(episode.folder)
        for number in (1, 2):
            learned = reflection("aaaaaa", number)
            episode.add(learned)
            store.take_in("aaaaaa", learned)
        as_it_happened = dump(config)
        store.take_in("aaaaaa", learned)
        assert dump(config) == as_it_happened
        store.take_in_log(episode.folder)
        once = dump(config)
        store.take_in_log(episode.folder)
        assert dump(config) == once
    learned_rows = [name for name in once if name != "zorkgpt_episodes"]
    assert {name: once[name] for name in learned_rows} == {
        name: as_it_happened[name] for name in learned_rows
    }
    assert len(once["zorkgpt_memories"]) == 2


def test_the_present_is_a_fold_of_all_episodes(tmp_path: Path) -> None:
    first = LoggedEpisode(tmp_path, "bbbbbb", day=1).add(reflection("bbbbbb", 1))
    changes = {
        "memories": (memory("aaaaaa", 1, "The door is open."),),
        "memory_changes": (superseded("bbbbbb-m1", "aaaaaa-m1"),),
        "claims": (),
        "claim_changes": (confirmed("bbbbbb-c1", "aaaaaa"),),
    }
    later = LoggedEpisode(tmp_path, "aaaaaa", day=2).add(reflection("aaaaaa", 1, **changes))
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(later.folder)  # whose time counts, not when it was taken in
        store.take_in_log(first.folder)
        carried = store.carried_over(STORY)
        everything = store.memories(STORY)
    assert [it.id for it in carried.memories] == ["aaaaaa-m1"]
    assert [(it.id, it.status) for it in everything] == [
        ("bbbbbb-m1", "superseded"),
        ("aaaaaa-m1", "active"),
    ]
    (confirmed_claim,) = carried.claims
    assert confirmed_claim.basis == "tested"
    assert [it.episode for it in confirmed_claim.evidence] == ["bbbbbb", "aaaaaa"]


def test_only_what_holds_beyond_an_episode_is_carried_over(tmp_path: Path) -> None:
    memories = (
        memory("aaaaaa", 1, "Only now.", persistence="ephemeral"),
        memory("aaaaaa", 2, "From the start.", persistence="core"),
        memory("aaaaaa", 3, "Perhaps.", status="tentative"),
        memory("aaaaaa", 4, "Wrong.", status="invalidated"),
    )
    claims = (claim("aaaaaa", 1), claim("aaaaaa", 2, "Gone.", status="retired"))
    learned = reflection("aaaaaa", 1, memories=memories, claims=claims)
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(learned)
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(episode.folder)
        carried = store.carried_over(STORY)
    assert [it.id for it in carried.memories] == ["aaaaaa-m2", "aaaaaa-m3"]
    assert [it.id for it in carried.claims] == ["aaaaaa-c1"]


def test_what_several_episodes_remember_is_shown_once(tmp_path: Path) -> None:
    texts = {
        "aaaaaa": ("The door is locked.", "The north door leads to the hall."),
        "bbbbbb": ("The door here is locked!", "The south door leads to the hall."),
        "cccccc": ("The door is not locked.", "the NORTH door leads to the hall"),
    }
    with Store(configuration(tmp_path)) as store:
        for day, (uid, (one, two)) in enumerate(texts.items()):
            learned = reflection(uid, 1, memories=(memory(uid, 1, one), memory(uid, 2, two)))
            store.take_in_log(LoggedEpisode(tmp_path, uid, day=day).add(learned).folder)
        shown = [it.id for it in store.carried_over(STORY).memories]
    assert shown == ["bbbbbb-m1", "bbbbbb-m2", "cccccc-m1", "cccccc-m2"]


def test_what_is_carried_over_is_bounded_the_newest_and_best_confirmed_stay(tmp_path: Path) -> None:
    many = range(1, MOST_MEMORIES + 51)
    memories = tuple(memory("aaaaaa", n, f"Fact number {n}.") for n in many)
    claims = tuple(claim("aaaaaa", n, f"Rule number {n}.") for n in many)
    changes = (confirmed("aaaaaa-c440"), confirmed("aaaaaa-c450"), confirmed("aaaaaa-c450", turn=4))
    learned = reflection("aaaaaa", 1, memories=memories, claims=claims, claim_changes=changes)
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(learned)
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(episode.folder)
        carried = store.carried_over(STORY)
    assert len(carried.memories) == MOST_MEMORIES
    assert carried.memories[-1].id == "aaaaaa-m450"
    assert len(carried.claims) == MOST_CLAIMS
    assert [it.id for it in carried.claims[:3]] == ["aaaaaa-c450", "aaaaaa-c440", "aaaaaa-c1"]


def test_what_was_seen_last_of_a_passage_counts(tmp_path: Path) -> None:
    first = LoggedEpisode(tmp_path, "aaaaaa", day=1).add(*walk(1, 2, 3))
    second = LoggedEpisode(tmp_path, "bbbbbb", day=2).add(*walk(1, 3))
    with Store(configuration(tmp_path)) as store:
        for episode in (second, first):
            store.take_in_log(episode.folder)
        ways = {(it.room.id, it.direction): it.to for it in store.carried_over(STORY).passages}
    assert {way: to and to.id for way, to in ways.items()} == {(1, "east"): 3, (2, "east"): 3}


def test_edits_count_at_once_and_belong_to_the_episode_that_read_them(tmp_path: Path) -> None:
    removal = ClaimChange(id="aaaaaa-c1", kind="removed", reason="by hand")
    edits = Edits(claims=(claim("editor", 1, "Read the sign."),), changes=(removal,))
    first = LoggedEpisode(tmp_path, "aaaaaa", day=1).add(reflection("aaaaaa", 1))
    second = LoggedEpisode(tmp_path, "bbbbbb", day=2, edits=edits)
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(first.folder)
        at_once = store.carried_over(STORY, edits)
        assert [it.id for it in at_once.claims] == ["editor-c1"]
        store.take_in_log(second.folder)
        assert store.carried_over(STORY).claims == at_once.claims
        store.forget(["bbbbbb"])
        assert [it.id for it in store.carried_over(STORY).claims] == ["aaaaaa-c1"]


def test_a_log_from_before_there_were_uids_is_taken_in(tmp_path: Path) -> None:
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(*walk(1, 2))
    log = episode.folder / "events.jsonl"
    log.write_text(log.read_text().replace('"uid": "aaaaaa", ', ""))
    with Store(configuration(tmp_path)) as store:
        store.take_in_log(episode.folder)
        (stored,) = store.episodes()
    assert len(stored.uid) == 6
    assert (stored.turns, stored.score, stored.end_reason) == (1, 1, None)


def test_two_episodes_with_one_uid_are_told_apart(tmp_path: Path) -> None:
    one = LoggedEpisode(tmp_path, "aaaaaa", day=1)
    other = LoggedEpisode(tmp_path / "elsewhere", "aaaaaa", day=2).add(reflection("aaaaaa", 1))
    config = configuration(tmp_path)
    with Store(config) as store:
        store.take_in_log(one.folder)
        with pytest.raises(StorageError, match="both have the uid aaaaaa"):
            store.take_in_log(other.folder)
    assert dump(config)["zorkgpt_memories"] == []


def test_a_reflection_of_an_unknown_episode_says_what_to_do(tmp_path: Path) -> None:
    with (
        Store(configuration(tmp_path)) as store,
        pytest.raises(StorageError, match="python -m storage rebuild"),
    ):
        store.take_in("aaaaaa", reflection("aaaaaa", 1))


def test_a_damaged_log_leaves_what_is_stored_as_it_is(tmp_path: Path) -> None:
    episode = LoggedEpisode(tmp_path, "aaaaaa").add(reflection("aaaaaa", 1))
    config = configuration(tmp_path)
    with Store(config) as store:
        store.take_in_log(episode.folder)
        before = dump(config)
        episode.log("turn", turn=3)
        with pytest.raises(LogRefusedError, match=r"events\.jsonl"):
            store.take_in_log(episode.folder)
        with pytest.raises(LogRefusedError, match="nowhere"):
            store.take_in_log(tmp_path / "nowhere")
    assert dump(config) == before


def test_an_episode_that_never_began_is_not_an_episode(tmp_path: Path) -> None:
    folder = tmp_path / "episodes" / "empty"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("")
    with Store(configuration(tmp_path)) as store:
        assert store.take_in_log(folder) is None
        assert store.episodes() == ()


def test_no_key_reaches_the_database(tmp_path: Path) -> None:
    key = "k-made-up-key"
    config = configuration(tmp_path, client_api_key=key)
    episode = LoggedEpisode(tmp_path, "aaaaaa")
    with Store(config) as store:
        store.take_in_log(episode.folder)
        store.take_in("aaaaaa", reflection("aaaaaa", 1, memories=(memory("aaaaaa", 1, key),)))
    assert key not in str(dump(config))
    assert "***" in str(dump(config))
    files = list(tmp_path.glob("knowledge.db*"))
    assert files
    assert not any(key.encode() in path.read_bytes() for path in files)
