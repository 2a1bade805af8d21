"""A story is downloaded whole, checked and in time, or not at all."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from game_interface import open_game
from game_interface.errors import StoryDownloadError, StoryFormatError
from stories.download import download_story
from tests.support import PATIENCE, ROOT
from tests.support.games import ZORK1, needs_zork1
from tests.support.program import Program

STORY = (ROOT / "stories" / "weatherworks.z5").read_bytes()
DIGEST = sha256(STORY).hexdigest()


class StoryHandler(BaseHTTPRequestHandler):
    """Serves a story well and badly, by path."""

    data = STORY
    stop = threading.Event()

    def do_GET(self) -> None:
        path = self.path
        if path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/good")
            self.end_headers()
            return
        self.send_response(404 if path == "/missing" else 200)
        self.send_header("Content-Length", str(len(self.data)))
        self.end_headers()
        if path == "/slow":
            self._drip()
        elif path == "/cut":
            self.wfile.write(self.data[:5000])
        elif path == "/wrong":
            self.wfile.write(self.data[:-1] + b"?")
        else:
            self.wfile.write(self.data)

    def _drip(self) -> None:
        for byte in self.data:
            if self.stop.wait(0.02):
                return
            try:
                self.wfile.write(bytes((byte,)))
            except OSError:
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Keep the test's output clean."""


@contextmanager
def serving(data: bytes = STORY) -> Iterator[str]:
    """The address of a loopback server that has `data` for a story."""
    stop = threading.Event()
    handler = type("Handler", (StoryHandler,), {"data": data, "stop": stop})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        stop.set()
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@pytest.fixture
def server() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "story.z5"


@pytest.mark.parametrize("path", ["/good", "/moved"])
def test_a_good_file_is_stored_and_nothing_beside_it(server: str, target: Path, path: str) -> None:
    download_story(server + path, target, expected_sha256=DIGEST)

    assert target.read_bytes() == STORY
    assert list(target.parent.iterdir()) == [target]


def test_it_is_told_how_much_has_come_and_when_nothing_more_is_waited_for(
    server: str, target: Path
) -> None:
    told: list[tuple[str, float | None]] = []
    with pytest.raises(StoryDownloadError):
        download_story(
            f"{server}/slow",
            target,
            expected_sha256=DIGEST,
            seconds=4,
            on_progress=lambda label, share: told.append((label, share)),
        )
    shares = [share for _, share in told]
    assert {label for label, _ in told} == {"Downloading story.z5"}
    assert shares[0] is None
    assert 0 < max(share for share in shares[1:-1] if share is not None) < 0.01
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/missing", "404"), ("/wrong", "not the expected file"), ("/cut", "cannot be downloaded")],
)
def test_a_bad_answer_stores_nothing(server: str, target: Path, path: str, reason: str) -> None:
    with pytest.raises(StoryDownloadError, match=reason):
        download_story(server + path, target, expected_sha256=DIGEST)

    assert not target.parent.exists()


def test_a_bad_answer_leaves_an_older_file_alone(server: str, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"older")

    with pytest.raises(StoryDownloadError):
        download_story(f"{server}/wrong", target, expected_sha256=DIGEST)

    assert target.read_bytes() == b"older"


def test_the_time_limit_is_for_the_whole_download(server: str, target: Path) -> None:
    with pytest.raises(StoryDownloadError, match=r"slow|longer than"):
        download_story(f"{server}/slow", target, expected_sha256=DIGEST, seconds=0.5)

    assert not target.parent.exists()


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/story", "no-url", "http://[broken"])
def test_an_address_that_leads_nowhere_is_reported(url: str, target: Path) -> None:
    with pytest.raises(StoryDownloadError):
        download_story(url, target, expected_sha256=DIGEST)


def test_a_folder_that_cannot_be_written_is_reported(server: str, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")

    with pytest.raises(StoryDownloadError, match="cannot be stored"):
        download_story(f"{server}/good", blocked / "story.z5", expected_sha256=DIGEST)


KILLED = """
import sys
from pathlib import Path
from stories.download import download_story
print("started", flush=True)
download_story(sys.argv[1], Path(sys.argv[2]), expected_sha256=sys.argv[3], seconds=60)
"""


def test_a_kill_leaves_no_partial_file(server: str, target: Path) -> None:
    command = [sys.executable, "-c", KILLED, f"{server}/slow", str(target), DIGEST]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)

    assert not target.exists()
    assert not target.parent.exists()


@needs_zork1
def test_zork_1_is_downloaded_once_and_then_played_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Path(ZORK1).read_bytes()
    monkeypatch.delenv("ZORK1_STORY")
    notices: list[str] = []
    with serving(story) as address:
        try:
            open_game(
                "zork1",
                cache_dir=tmp_path,
                download_url=f"{address}/good",
                on_notice=notices.append,
            ).close()
        except StoryDownloadError:
            pytest.skip("ZORK1_STORY is not the release that the program downloads")
    assert len(notices) == 1
    assert "was downloaded" in notices[0]

    with open_game("zork1", cache_dir=tmp_path, download_url="http://127.0.0.1:9/") as game:
        assert game.story.title == "Zork I: The Great Underground Empire"
        assert game.story.path.parent == tmp_path
    assert len(notices) == 1


def test_a_story_is_fetched_from_an_address_once_and_kept_by_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as server:
        address = f"{server}/good/weather.z5"
        with open_game(address, cache_dir=tmp_path, seed=1) as game:
            assert game.start().startswith("Weather does not simply happen.")
            assert game.story.address == address
            assert game.story.path == tmp_path / "stories" / f"{DIGEST}.z5"
            assert game.story.profiled
    with open_game(address, cache_dir=tmp_path) as again:  # there is no server any more
        assert again.story.sha256 == game.story.sha256
    game.story.path.write_bytes(STORY[:-1] + b"?")
    with pytest.raises(StoryDownloadError, match="cannot be downloaded"):
        open_game(address, cache_dir=tmp_path)
    with serving(bytes(2**20)) as server, monkeypatch.context() as patch:
        patch.setattr("stories.download.MAX_STORY_BYTES", 2**19)
        with pytest.raises(StoryDownloadError, match="too large"):
            open_game(f"{server}/good", cache_dir=tmp_path)


def test_a_host_that_there_is_not_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoryDownloadError, match=r"cannot find the host unknown\.invalid: check"):
        open_game("http://unknown.invalid/weather.z5", cache_dir=tmp_path)


def test_a_file_that_is_not_a_story_is_refused_by_its_address_and_not_kept(tmp_path: Path) -> None:
    with serving(b"<html>Please log in.</html>") as server:
        address = f"{server}/weather.z5"
        with pytest.raises(StoryFormatError) as refused:
            open_game(address, cache_dir=tmp_path)
        with pytest.raises(StoryDownloadError) as missing:
            open_game(f"{server}/missing", cache_dir=tmp_path)
    assert str(refused.value).startswith(f"{address} cannot be played: it is a page of HTML")
    assert list(tmp_path.iterdir()) == []
    assert str(missing.value).splitlines() == [str(missing.value)]


def test_an_episode_names_the_address_and_the_hash_of_its_story(tmp_path: Path) -> None:
    with serving() as server:
        address = f"{server}/good/weather.z5"
        program = Program(tmp_path)
        program.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
        done = program.run("--story", address, "--max-turns", "1", "--player", "random")
        assert done.returncode == 0, done.stderr
    (log,) = tmp_path.rglob("events.jsonl")
    events = map(json.loads, log.read_text().splitlines())
    (start,) = (it for it in events if it["event_type"] == "episode_start")
    assert (start["story_address"], Path(start["story_path"]).stem) == (address, DIGEST)
