from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from session.record.event_log import EVENTS_FILE, EventLog
from tests.support.viewing import KEY, TURNS, append, entered, log_of, recorded, served, write_log
from viewer.web.cockpit import Cockpit
from viewer.web.server import is_own_name
from viewer.web.site import STATIC
from viewer.web.watch import watching
from workshop.benchmarks.viewer import write_long_log

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    recorded(tmp_path / "work")
    return tmp_path / "work"


@pytest.fixture
def client(workdir: Path) -> Iterator[httpx2.Client]:
    with served(workdir) as client:
        yield client


def raw_answer(client: httpx2.Client, request: str) -> str:
    """What the server says to these bytes, which no well-behaved client would send."""
    place = urlsplit(str(client.base_url))
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(request.encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer.decode()


def test_the_index_lists_the_episodes_of_the_folder(client: httpx2.Client, workdir: Path) -> None:
    index = client.get("data/episodes.json").json()
    assert (index["chunk"], index["workdir_name"], index["groups"]) == (50, "work", [])
    (row,) = index["episodes"]
    assert (row["id"], row["turns"], row["running"], row["group"]) == ("played", TURNS, False, None)
    shutil.copytree(workdir / "episodes" / "played", workdir / "episodes" / "another")
    ids = [row["id"] for row in client.get("data/episodes.json").json()["episodes"]]
    assert sorted(ids) == ["another", "played"]
    shutil.rmtree(workdir / "episodes" / "another")
    assert len(client.get("data/episodes.json").json()["episodes"]) == 1


def test_episodes_of_an_evaluation_are_found_in_their_groups(tmp_path: Path) -> None:
    source = recorded(tmp_path / "source")
    for variant, seed in (("whole", 1), ("whole", 2), ("without map", 1)):
        folder = tmp_path / "evaluation" / variant / f"seed-{seed}" / "episodes"
        folder.mkdir(parents=True)
        shutil.copytree(source, folder / "e1")
    with served(tmp_path / "evaluation") as client:
        index = client.get("data/episodes.json").json()
        rows = {row["id"]: row["group"] for row in index["episodes"]}
        assert rows == {
            "whole~seed-1~e1": "whole",
            "whole~seed-2~e1": "whole",
            "without_map~seed-1~e1": "without map",
        }
        whole, other = index["groups"]
        score = index["episodes"][0]["score"]
        assert (whole["name"], whole["episodes"], whole["turns"]) == ("whole", 2, 2 * TURNS)
        assert whole["score"] == dict.fromkeys(("median", "q1", "q3", "best"), score)
        assert (other["name"], other["episodes"]) == ("without map", 1)
        for episode in rows:
            assert client.get(f"data/{episode}/episode.json").json()["summary"]["id"] == episode


def test_the_latest_episode_is_the_one_played_last_even_before_it_begins(
    client: httpx2.Client, workdir: Path
) -> None:
    shutil.copytree(workdir / "episodes" / "played", workdir / "episodes" / "another")
    append(workdir / "episodes" / "another", b"\n")
    latest = client.get("data/latest/episode.json").json()
    assert latest["summary"]["id"] == "another"
    append(workdir / "episodes" / "played", b"\n")
    latest = client.get("data/latest/episode.json").json()
    assert latest["summary"]["id"] == "played"
    player = EventLog(workdir / "episodes" / "to-come")
    for name in ("latest", "to-come"):
        assert client.get(f"data/{name}/episode.json").status_code == 202
    player.close()
    latest = client.get("data/latest/episode.json").json()
    assert latest["summary"]["id"] == "played", "not the start that failed"
    answer = client.get("data/nobody/episode.json")
    assert (answer.status_code, answer.text) == (404, "There is no episode “nobody” here.")


def test_an_episode_names_its_group_and_what_it_was_played_without(
    client: httpx2.Client, workdir: Path
) -> None:
    events = log_of(workdir / "episodes" / "played")
    for event in events:
        if event["event_type"] == "episode_start":
            event |= {"group": "sizes/small", "parts_off": ["map", "memories"]}
    write_log(workdir / "episodes" / "played", events)
    index = client.get("data/episodes.json").json()
    (row,) = index["episodes"]
    assert (row["group"], row["parts_off"]) == ("sizes/small", ["map", "memories"])
    assert index["groups"][0]["name"] == "sizes/small"


def test_an_episode_comes_whole_and_its_turns_in_chunks(
    client: httpx2.Client, workdir: Path
) -> None:
    write_long_log(workdir / "episodes" / "played", workdir / "episodes" / "long", turns=120)
    whole = client.get("data/long/episode.json").json()
    assert whole["summary"]["turns"] == 120
    assert "Weatherworks" in whole["opening"]
    assert whole["first"]["room"]["name"] == "Landing Stage"
    turns = [client.get(f"data/long/turns/{chunk}.json").json() for chunk in range(3)]
    assert [len(chunk) for chunk in turns] == [50, 50, 20]
    assert [turn["turn"] for chunk in turns for turn in chunk] == list(range(1, 121))


HOSTILE_PATHS = (
    "data/nobody/episode.json",
    "data/played/turns/1.json",
    "data/played/turns/-1.json",
    "data/played/turns/0",
    "data/played/turns/x.json",
    "data/played/tools/1-0.json",
    "data/played/tools/99999999999999999999-0.json",
    "data/nobody/stream",
    "data/played/events.jsonl",
    "data/played/",
    "data/",
    "nothing",
    "static/",
    "data/..%2fsecret/episode.json",
    "data/%2e%2e/episode.json",
    "data/.../episode.json",
    "data/%2fetc/passwd",
    "data/..%2f..%2f..%2fetc%2fpasswd/episode.json",
    "data/played%00/episode.json",
    "data/played/..%2f..%2fsecret%2fevents.jsonl",
    "static/..%2fserver.py",
    "static/%2e%2e/__init__.py",
    "static//etc/passwd",
    "data/linked/episode.json",
    "data/with-linked-log/episode.json",
    "data/%ff/episode.json",
)


def test_there_is_no_way_out_of_the_folder(
    tmp_path: Path, workdir: Path, client: httpx2.Client
) -> None:
    secret = recorded(tmp_path / "elsewhere", "secret")
    (workdir / "episodes" / "linked").symlink_to(secret)
    (workdir / "episodes" / "with-linked-log").mkdir()
    (workdir / "episodes" / "with-linked-log" / EVENTS_FILE).symlink_to(secret / EVENTS_FILE)
    for path in HOSTILE_PATHS:
        answer = raw_answer(client, f"GET /{path} HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert answer.startswith("HTTP/1.1 404 "), path
        assert "secret" not in answer, path
    assert len(client.get("data/episodes.json").json()["episodes"]) == 1


def test_there_is_only_reading(client: httpx2.Client) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        for path in ("", "data/episodes.json", "data/played/stream", "static/main.js"):
            answer = client.request(method, path)
            assert answer.status_code == 405
            assert answer.headers["allow"] == "GET, HEAD"


def test_thousands_of_episodes_can_be_chosen_for_a_curve(client: httpx2.Client) -> None:
    ids = ",".join(f"evaluation~all_parts~seed-{number}~played" for number in range(10_000))
    path = f"/curves/model/score.json?episodes={ids},played"
    answer = raw_answer(
        client, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert answer.startswith("HTTP/1.1 200 ")


OWN_NAMES = (
    "localhost",
    "localhost:1234",
    "LOCALHOST",
    "127.0.0.1:8723",
    "127.0.0.2",
    "[::1]:80",
)
FOREIGN_NAMES = (
    "evil.example",
    "localhost.evil",
    "127.0.0.1.evil.example:80",
    "localhost@evil.example",
    "xn--lcalhost-54a",
    "10.0.0.1",
    "0.0.0.0",  # noqa: S104  nothing is bound
    "[::1",
    "",
)


def test_a_page_elsewhere_cannot_give_its_name_to_us(client: httpx2.Client) -> None:
    for host in (*OWN_NAMES, *FOREIGN_NAMES):
        answer = raw_answer(client, f"GET /data/episodes.json HTTP/1.0\r\nHost: {host}\r\n\r\n")
        assert answer.startswith(f"HTTP/1.1 {200 if host in OWN_NAMES else 403} "), host
        assert ("played" in answer) == (host in OWN_NAMES), host


def test_a_host_that_was_asked_for_is_our_name_too() -> None:
    assert is_own_name("viewer.lan:8723", "viewer.lan")
    assert not is_own_name("other.lan", "viewer.lan")
    assert is_own_name("192.168.1.7:8723", "0.0.0.0")  # noqa: S104  compared with, not bound to
    assert is_own_name(socket.gethostname(), "::")
    assert not is_own_name("evil.example", "0.0.0.0")  # noqa: S104  compared with, not bound to


def test_every_answer_has_the_headers_that_keep_a_page_in_its_place(client: httpx2.Client) -> None:
    for path in ("", "data/episodes.json", "data/nobody/episode.json", "static/nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_the_page_and_its_parts_are_served_with_types_that_browsers_take(
    client: httpx2.Client,
) -> None:
    page = client.get("")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'name="zorkgpt-mode" content="live"' in page.text
    assert client.get("index.html").text == page.text
    types = {".js": "text/javascript", ".css": "text/css", ".woff2": "font/woff2"}
    for file in (file for file in STATIC.rglob("*") if file.suffix in types):
        answer = client.get(f"static/{file.relative_to(STATIC).as_posix()}")
        assert answer.content == file.read_bytes()
        assert answer.headers["content-type"].startswith(types[file.suffix])


def test_what_is_known_already_is_not_sent_again(client: httpx2.Client, workdir: Path) -> None:
    for path in ("data/episodes.json", "data/played/episode.json", "data/played/turns/0.json"):
        first = client.get(path)
        known = {"if-none-match": first.headers["etag"]}
        again = client.get(path, headers=known)
        assert (again.status_code, again.content) == (304, b"")
        assert client.head(path).headers["content-length"] == str(len(first.content))
    episode = client.get("data/played/episode.json")
    append(workdir / "episodes" / "played", b'{"event_type": "episode_resumed"}\n')
    known = {"if-none-match": episode.headers["etag"]}
    changed = client.get("data/played/episode.json", headers=known)
    assert changed.json()["summary"]["end_reason"] is None
    player = EventLog(workdir / "episodes" / "played")
    known = {"if-none-match": changed.headers["etag"]}
    running = client.get("data/played/episode.json", headers=known)
    player.close()
    assert running.json()["summary"]["running"] is True


def test_a_damaged_and_truncated_log_is_shown_as_far_as_it_can_be(
    client: httpx2.Client, workdir: Path
) -> None:
    folder = workdir / "episodes" / "played"
    lines = (folder / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    turns = [number for number, line in enumerate(lines) if b'"snapshot"' in line][1:]
    lines[turns[2]] = lines[turns[2]][: len(lines[turns[2]]) // 2] + b"\n"
    (folder / EVENTS_FILE).write_bytes(b"".join(lines[: turns[9]]) + lines[turns[9]][:99])
    whole = client.get("data/played/episode.json").json()
    assert (whole["summary"]["turns"], whole["summary"]["end_reason"]) == (9, None)
    assert [mark["turn"] for mark in whole["marks"] if mark["kind"] == "damaged"] == [2]
    shown = [turn["turn"] for turn in client.get("data/played/turns/0.json").json()]
    assert shown == [1, 2, 4, 5, 6, 7, 8, 9]


def test_text_that_could_do_harm_comes_as_data(client: httpx2.Client, workdir: Path) -> None:
    hostile = "</script><script>alert(1)</script>\x1b[31m\u202e\0\u2028\ud800"
    tool = {"name": hostile, "arguments": {"a": float("nan"), "b": [[[]]]}, "result": hostile}
    events = log_of(workdir / "episodes" / "played")
    for event in events:
        if event["event_type"] == "turn":
            event |= {"thinking": hostile, "response": hostile, "command": hostile}
            event["tools"] = [{**tool, "is_error": False, "duration_ms": 1}]
    write_log(workdir / "episodes" / "hostile", events)
    answer = client.get("data/hostile/turns/0.json")
    assert answer.headers["content-type"] == "application/json"
    turn = json.loads(answer.content, parse_constant=pytest.fail)[0]
    assert (
        turn["thinking"]
        == turn["tools"][0]["result"]
        == hostile.replace("\ud800", "\N{REPLACEMENT CHARACTER}")
    )
    assert client.get("data/hostile/episode.json").status_code == 200


def test_keys_and_what_is_none_of_the_business_of_the_page_are_never_sent(
    client: httpx2.Client, workdir: Path
) -> None:
    events = log_of(workdir / "episodes" / "played")
    events[-1]["client_api_key"] = "sk-left-in-by-mistake"
    for event in events:
        if event["event_type"] in ("episode_start", "turn"):
            event["client_api_key"] = "sk-left-in-by-mistake"
    write_log(workdir / "episodes" / "careless", events)
    for episode in ("played", "careless"):
        for path in ("episode.json", "turns/0.json"):
            text = client.get(f"data/{episode}/{path}").text
            assert KEY not in text
            assert "sk-left-in-by-mistake" not in text
            assert "story_path" not in text
            assert "base_url" not in text


def test_a_folder_that_cannot_be_written_to_is_no_hindrance(workdir: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in workdir.rglob("*")}
    for path in before:
        path.chmod(0o555 if path.is_dir() else 0o444)
    workdir.chmod(0o555)
    with served(workdir) as client:
        assert client.get("data/played/episode.json").json()["summary"]["running"] is False
    assert {path: path.stat().st_mtime_ns for path in workdir.rglob("*")} == before
    for path in [workdir, *before]:
        path.chmod(0o755)


def test_a_folder_without_episodes_is_an_empty_index(tmp_path: Path) -> None:
    with served(tmp_path / "not there yet") as client:
        assert client.get("data/episodes.json").json()["episodes"] == []


def test_a_page_with_the_token_deletes_episodes_and_nothing_else(
    workdir: Path, tmp_path: Path
) -> None:
    episodes, elsewhere, cockpit = workdir / "episodes", tmp_path / "elsewhere", Cockpit()
    for folder in (episodes / "gone", episodes / "playing", elsewhere / "episodes" / "far"):
        shutil.copytree(episodes / "played", folder)
    (episodes / "gone" / "far").symlink_to(elsewhere)
    (episodes / "linked").symlink_to(elsewhere / "episodes" / "far")
    (workdir / "more").symlink_to(elsewhere)
    player = EventLog(episodes / "playing")
    with (
        watching(workdir, open_browser=False, cockpit=cockpit) as address,
        entered(address, timeout=30) as client,
    ):
        size = client.get("size.json", params={"episodes": "gone,nobody"}).json()["bytes"]
        assert size > (episodes / "played" / EVENTS_FILE).stat().st_size
        ids = ["gone", "playing", "linked", "more~far", "nobody", "..", "../played", ""]
        sent = {"episodes": ids}
        assert client.post("data/delete", json=sent).status_code == 403
        key = {"authorization": f"Bearer {cockpit.token}"}
        cross = {**key, "sec-fetch-site": "cross-site"}
        assert client.post("data/delete", json=sent, headers=cross).status_code == 403
        assert client.post("data/delete", json=ids, headers=key).status_code == 400
        answer = client.post("data/delete", json=sent, headers=key)
        assert answer.json() == {"playing": "It is being played."}
    player.close()
    assert sorted(it.name for it in episodes.iterdir()) == ["linked", "played", "playing"]
    assert (elsewhere / "episodes" / "far" / EVENTS_FILE).is_file()
