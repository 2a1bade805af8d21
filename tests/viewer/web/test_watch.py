from __future__ import annotations

import os
import socket
import stat
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support import PATIENCE
from tests.support.viewing import TURNS, play, recorded, streamed
from viewer.web.watch import watching


def names_of_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


@pytest.fixture
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"):
        monkeypatch.delenv(name, raising=False)


def test_a_game_can_be_watched_from_within_its_own_process(tmp_path: Path) -> None:
    with watching(tmp_path, open_browser=False) as address:
        play(tmp_path, 2, reflection_enabled=False)
        with httpx2.Client(base_url=address, trust_env=False) as client:
            summary = client.get("data/played/episode.json").json()["summary"]
    assert (summary["turns"], summary["end_reason"]) == (2, "max_turns")


def test_it_is_gone_with_the_episode_even_with_open_streams(tmp_path: Path) -> None:
    recorded(tmp_path)
    with watching(tmp_path, open_browser=False) as address:
        assert "viewer" in names_of_threads()
        with (
            httpx2.Client(base_url=address, trust_env=False) as client,
            streamed(client, after=TURNS) as told,
        ):
            told.until("end")
            # The client is still connected when the server is told to go.
            assert urlsplit(address).port in ports()
    assert "viewer" not in names_of_threads()
    assert urlsplit(address).port not in ports()


def ports() -> set[int]:
    """Where this process listens; on a port that it gave back another test may listen by now."""
    found = set()
    for file in Path("/dev/fd").iterdir():
        with suppress(OSError), socket.socket(fileno=os.dup(int(file.name))) as it:
            if it.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                found.add(it.getsockname()[1])
    return found


def test_an_episode_that_ends_at_once_does_not_wait_for_the_server_to_start(
    tmp_path: Path,
) -> None:
    for _ in range(3):
        with watching(tmp_path, open_browser=False):
            pass
    assert "viewer" not in names_of_threads()


@pytest.mark.usefixtures("no_screen")
def test_a_machine_without_a_screen_is_a_notice_and_no_failure(tmp_path: Path) -> None:
    notices: list[str] = []
    with watching(tmp_path, notice=notices.append) as address:
        assert httpx2.get(address, trust_env=False).status_code == 200
    assert notices == ["There is no display to open a browser on."]


def test_the_page_of_the_episode_is_opened_in_the_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new\nmv {opened}.new {opened}\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with watching(tmp_path, episode="played") as address:
        patience = threading.Event()
        assert any(opened.exists() or patience.wait(0.02) for _ in range(50 * PATIENCE))
    assert opened.read_text() == f"{address}\n"
    assert address.endswith("/#/played")
