"""Who may read what the page shows: whoever may read it on the disk, and whoever has the token."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from starlette.testclient import TestClient

from session.listener import kept_token
from tests.support.viewing import recorded, streamed
from viewer.library import Library
from viewer.web.cockpit import Cockpit
from viewer.web.server import Viewer
from viewer.web.watch import watching

TOKEN = "the-token-of-this-test"
PRIVATE_PATHS = (
    "data/episodes.json",
    "data/played/episode.json",
    "data/played/calls/1.json",
    "data/played/next.json",
    "data/played/stream",
    "data/latest/turns/0.json",
    "search.json?find=a&episodes=played",
    "curves/model/score.json",
    "size.json?episodes=played",
    "nothing",
)
PROGRAM = ("", "index.html", "alive", "static/main.js")


@pytest.fixture
def workdir() -> Iterator[Path]:
    """Below folders that are open to all, as those of pytest are not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        work = Path(folder)
        recorded(work)
        for path in (work, *work.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield work


def served(workdir: Path, host: str = "127.0.0.1", token: str = TOKEN) -> TestClient:
    viewer = Viewer(Library(workdir), host, token=token)
    return TestClient(viewer, f"http://{host}")


def statuses(client: TestClient) -> set[int]:
    return {client.get(path).status_code for path in PRIVATE_PATHS if "stream" not in path}


@pytest.mark.parametrize("closed", [".", "episodes", "episodes/played"])
def test_what_the_disk_does_not_show_to_everybody_needs_the_token(
    workdir: Path, closed: str
) -> None:
    client = served(workdir)
    assert statuses(client) == {200, 404}
    (workdir / closed).chmod(0o750)
    assert statuses(client) == {401}
    (workdir / closed).chmod(0o755)
    (workdir / "episodes" / "played" / "events.jsonl").chmod(0o600)
    assert statuses(client) == {401}
    assert {client.get(path).status_code for path in PROGRAM} == {200, 204}
    client.headers["authorization"] = f"Bearer {TOKEN}"
    assert statuses(client) == {200, 404}


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "viewer.lan"])  # noqa: S104
def test_off_this_machine_everything_needs_the_token(workdir: Path, host: str) -> None:
    client = served(workdir, "192.168.1.7" if host in ("0.0.0.0", "::") else host)  # noqa: S104
    assert statuses(client) == {401}


def test_a_page_shows_the_token_once_and_reads_with_a_cookie_that_changes_nothing(
    workdir: Path,
) -> None:
    workdir.chmod(0o700)
    client = served(workdir)
    for shown in ("", "Bearer ", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN):
        assert client.post("enter", headers={"authorization": shown}).status_code == 403
    elsewhere = {"authorization": f"Bearer {TOKEN}", "origin": "http://elsewhere.example"}
    assert client.post("enter", headers=elsewhere).status_code == 403
    assert client.get("enter").status_code == 401
    assert statuses(client) == {401}
    answer = client.post("enter", headers={"authorization": f"Bearer {TOKEN}"})
    cookie = answer.headers["set-cookie"].lower()
    assert answer.status_code == 204
    assert {"httponly", "samesite=strict", "path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    kept, client = client.cookies, served(workdir, token="that of a later start")
    client.cookies = kept
    assert statuses(client) == {200, 404}
    assert client.post("data/played/notes", json={"note": "", "tags": []}).status_code == 403


def test_a_stream_needs_the_token_too(workdir: Path) -> None:
    workdir.chmod(0o700)
    cockpit = Cockpit()
    with (
        watching(workdir, open_browser=False, cockpit=cockpit) as address,
        httpx2.Client(base_url=address.partition("#")[0], trust_env=False) as client,
    ):
        assert client.get("data/played/stream").status_code == 401
        client.headers["authorization"] = f"Bearer {cockpit.token}"
        with streamed(client) as told:
            assert told.next()[:2] == ("turn", 1)


def test_a_token_is_kept_for_its_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    token = kept_token("page")
    assert (len(token), kept_token("page")) == (32, token)
    assert kept_token("game_server") != token
    (file,) = tmp_path.glob("*/page_token")
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    (tmp_path / "elsewhere").write_text(token)
    file.symlink_to(tmp_path / "elsewhere")
    assert kept_token("page") != token, "a link is not followed"
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null/nowhere")
    assert kept_token("page") != kept_token("page")
