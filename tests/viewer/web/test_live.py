from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from session.record.event_log import EVENTS_FILE, EventLog
from tests.support import PATIENCE
from tests.support.servers import eventually
from tests.support.viewing import TURNS, append, playing, recorded, served, streamed
from viewer.library import Library
from viewer.web.live import LogWatchers, Stream
from viewer.web.server import MOST_STREAMS, Server, Viewer
from viewer.web.serving import address_of, listening

if TYPE_CHECKING:
    import httpx2


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def client(workdir: Path) -> Iterator[httpx2.Client]:
    with served(workdir) as client:
        yield client


def unfinished(folder: Path, turns: int) -> list[bytes]:
    """Cut a log off after ``turns`` turns; the lines of the turns that were to come."""
    lines = (folder / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    at = [number for number, line in enumerate(lines) if b'"event_type": "turn"' in line]
    (folder / EVENTS_FILE).write_bytes(b"".join(lines[: at[turns - 1] + 1]))
    return [lines[number] for number in at[turns:]]


def begun(client: httpx2.Client) -> bool:
    return client.get("data/played/episode.json").status_code == 200


def test_a_game_is_followed_turn_by_turn_to_its_end(client: httpx2.Client, workdir: Path) -> None:
    with playing(workdir, 4, reflection_enabled=False) as gate:
        assert eventually(lambda: begun(client))
        with streamed(client) as told:
            _, episode = told.until("episode")
            assert (episode["summary"]["running"], episode["summary"]["turns"]) == (True, 0)
            for turn in range(1, 5):
                gate.open()
                number, data = told.until("turn")
                assert number == data["turn"] == turn
            number, data = told.until("end")
            assert (number, data) == (4, {"reason": "max_turns"})
    shown = client.get("data/played/turns/0.json").json()
    assert [turn["command"] for turn in shown][-1] == data_of(workdir)[-1]


def data_of(workdir: Path) -> list[str]:
    """The commands that were played."""
    episode = Library(workdir).get("played")
    return [turn["command"] for turn in episode.chunk(0)] if episode else []


def test_a_stream_goes_on_after_the_turn_that_is_known(
    client: httpx2.Client, workdir: Path
) -> None:
    unfinished(recorded(workdir), 9)
    for after, headers in ((7, {}), (2, {"last-event-id": "7"}), (7, {"last-event-id": "x"})):
        with streamed(client, after=after, **headers) as told:
            assert [told.next()[1] for _ in range(2)] == [8, 9]
            assert told.next()[0] == "episode"
    with streamed(client, after=None) as told:
        assert told.next()[:2] == ("episode", 9)


def test_a_line_that_is_half_written_is_told_when_it_is_whole(
    client: httpx2.Client, workdir: Path
) -> None:
    folder = recorded(workdir)
    line, following = unfinished(folder, 4)[:2]
    with streamed(client, after=4) as told:
        told.until("episode")
        append(folder, line[:200])
        append(folder, line[200:])
        assert told.until("turn")[0] == 5
        append(folder, b"\0 not an event\n", following)
        assert told.until("turn")[0] == 6
        marks = told.until("episode")[1]["marks"]
        assert [mark["turn"] for mark in marks if mark["kind"] == "damaged"] == [5]


def test_what_is_learned_and_a_new_room_are_told_as_they_come(
    client: httpx2.Client, workdir: Path
) -> None:
    with playing(workdir, TURNS, reflection_enabled=True) as gate:
        assert eventually(lambda: begun(client))
        with streamed(client) as told:
            assert len(told.until("episode")[1]["map"]["rooms"]) == 1
            gate.open(9)
            while not (data := told.until("episode")[1])["reflections"]:
                pass
    assert data["reflections"][0]["turn"] == 8
    assert len(data["map"]["rooms"]) > 3
    assert not {"opening", "first"} & data.keys()


def test_a_player_that_vanishes_and_one_that_goes_on_are_noticed(
    client: httpx2.Client, workdir: Path
) -> None:
    folder = recorded(workdir)
    unfinished(folder, 4)
    player = EventLog(folder)
    with streamed(client, after=4) as told:
        assert told.until("episode")[1]["summary"]["running"] is True
        player.close()
        assert told.until("episode")[1]["summary"]["running"] is False
        player = EventLog(folder)
        assert told.until("episode")[1]["summary"]["running"] is True
        player.close()


def test_a_log_that_is_replaced_is_told_anew(client: httpx2.Client, workdir: Path) -> None:
    folder = recorded(workdir)
    other = recorded(workdir.parent / "other")
    unfinished(folder, 9)
    unfinished(other, 3)
    with streamed(client, after=9) as told:
        told.until("episode")
        (other / EVENTS_FILE).replace(folder / EVENTS_FILE)
        assert told.until("reset")[1] == {}
        assert [told.next()[:2] for _ in range(3)] == [("turn", 1), ("turn", 2), ("turn", 3)]
        assert told.next()[0] == "episode"


def test_an_episode_that_has_ended_says_so_at_once(client: httpx2.Client, workdir: Path) -> None:
    recorded(workdir)
    with streamed(client, after=TURNS) as told:
        assert [told.next()[0] for _ in range(2)] == ["episode", "end"]


def test_an_end_that_is_written_while_a_client_takes_its_time_is_told_after_the_last_turn(
    workdir: Path,
) -> None:
    folder = recorded(workdir)
    whole = (folder / EVENTS_FILE).read_bytes()
    unfinished(folder, 9)
    told: list[bytes] = []

    async def follow() -> None:
        episode = Library(workdir).get("played")
        assert episode
        async with aclosing(Stream(episode, LogWatchers(), after=8).events()) as events:
            while told[-1:] != [b"event: end"]:
                told.append((await anext(events)).partition(b"\n")[0])
                if told[-1] == b"event: episode" and not episode.end_reason:
                    append(folder, whole[(folder / EVENTS_FILE).stat().st_size :])
                    episode.refresh()

    asyncio.run(asyncio.wait_for(follow(), PATIENCE))
    turns = [at for at, name in enumerate(told) if name == b"event: turn"]
    assert len(turns) == TURNS - 8
    assert turns[-1] < told.index(b"event: end")


class _Running:
    """A server of its own, to look into."""

    def __init__(self, workdir: Path) -> None:
        self.viewer = Viewer(Library(workdir))
        self.server = Server(self.viewer)
        self.listener = listening("127.0.0.1", None)
        self.address = address_of(self.listener, "127.0.0.1")
        self._thread = threading.Thread(target=self.server.run, args=([self.listener],))

    def __enter__(self) -> _Running:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.server.should_exit = True
        self._thread.join(PATIENCE)
        self.listener.close()
        assert not self._thread.is_alive()


def test_many_watch_with_one_look_out_that_goes_with_the_last_of_them(workdir: Path) -> None:
    import httpx2

    folder = recorded(workdir)
    line = unfinished(folder, 4)[0]
    limits = httpx2.Limits(max_connections=None)
    with _Running(workdir) as running:
        log_watchers = running.viewer.log_watchers
        with httpx2.Client(base_url=running.address, limits=limits, trust_env=False) as client:
            with ExitStack() as stack:
                most = range(MOST_STREAMS)
                streams = [stack.enter_context(streamed(client, after=4)) for _ in most]
                for told in streams:
                    told.until("episode")
                assert [watcher.watchers for watcher in log_watchers.all.values()] == [MOST_STREAMS]
                append(folder, line)
                assert [told.until("turn")[0] for told in streams] == [5] * MOST_STREAMS
                assert client.get("data/played/stream").status_code == 503
            assert eventually(lambda: not log_watchers.all)


def test_a_server_that_ends_tells_the_rest_and_waits_for_nobody(workdir: Path) -> None:
    import httpx2

    folder = recorded(workdir)
    line = unfinished(folder, 4)[0]
    with ExitStack() as stack:
        with _Running(workdir) as running:
            client = stack.enter_context(httpx2.Client(base_url=running.address, trust_env=False))
            told = stack.enter_context(streamed(client, after=4))
            stack.enter_context(streamed(client, after=0))  # nobody reads this one
            told.until("episode")
            append(folder, line)
        assert "turn" in told.rest()
