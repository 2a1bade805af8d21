"""What is learned at one level of telling is not carried over to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from session.knowledge import ClaimChange, Edits
from session.levels import ObservationLevel as Level
from storage.store import Store
from tests.support import postgres
from tests.support.stored import STORY, LoggedEpisode, claim, configuration, reflection, walk


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "sqlite" else postgres.new_database()


def episode(workdir: Path, uid: str, level: Level | None) -> LoggedEpisode:
    """One that learned something; before levels could be set, where there is none."""
    settings: dict[str, Any] = {"settings": {"observation_level": str(level)}} if level else {}
    logged = LoggedEpisode(workdir, uid, **settings)
    return logged.add(*walk(1, 2), reflection(uid, 1)).end()


def test_knowledge_stays_at_the_level_where_it_was_learned(tmp_path: Path, url: str | None) -> None:
    uids = dict(
        zip([*Level, None], ["aaaaaa", "bbbbbb", "cccccc", "dddddd", "eeeeee"], strict=True)
    )
    with Store(configuration(tmp_path, url)) as store:
        for level, uid in uids.items():
            store.take_in_log(episode(tmp_path, uid, level).folder)
        for level in Level:
            carried = store.carried_over(STORY, level=level)
            own = [uids[level], *([uids[None]] if level is Level.FACTS_EXITS else [])]
            assert carried.episodes == len(own)
            assert {it.evidence.episode for it in carried.memories} == set(own)
            assert {it.id for it in carried.claims} == {f"{uid}-c1" for uid in own}
        assert store.carried_over(STORY, level=Level.TEXT).passages == ()
        (way,) = store.carried_over(STORY, level=Level.STATUS).passages
        assert way.to is not None
        assert (way.room.label, way.to.label) == ("Room 1", "Room 2")
        assert store.carried_over(STORY).episodes == len(uids)


def test_what_people_wrote_counts_at_every_level(tmp_path: Path, url: str | None) -> None:
    gone = ClaimChange(id="aaaaaa-c1", kind="removed")
    edits = Edits(claims=(claim("editor", 1, "By hand."),), changes=(gone,))
    with Store(configuration(tmp_path, url)) as store:
        store.take_in_log(episode(tmp_path, "aaaaaa", Level.TEXT).folder)
        for level in Level:
            carried = store.carried_over(STORY, edits, level=level)
            assert [it.text for it in carried.claims] == ["By hand."]


def test_a_database_of_an_earlier_version_is_brought_up_to_date(
    tmp_path: Path, url: str | None
) -> None:
    config = configuration(tmp_path, url)
    with Store(config) as store:
        store.take_in_log(episode(tmp_path, "aaaaaa", Level.TEXT).folder)
    address = url or f"sqlite:///{config.workdir}/knowledge.db"
    engine = create_engine(address.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE zorkgpt_episodes DROP COLUMN level"))
    engine.dispose()
    with Store(config) as store:
        assert store.carried_over(STORY, level=Level.TEXT).episodes == 0
        assert store.carried_over(STORY, level=Level.FACTS_EXITS).episodes == 1
