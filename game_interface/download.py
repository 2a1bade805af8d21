"""Zork I from its publisher's repository: one pinned file, checked, or nothing."""

import os
import queue
import tempfile
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from game_interface.errors import StoryDownloadError

if TYPE_CHECKING:
    import httpx

ZORK1_URL = (
    "https://raw.githubusercontent.com/historicalsource/zork1/"
    "97b7b3d68c075dd9af7da499c3e9690ada3471fd/COMPILED/zork1.z3"
)
ZORK1_SHA256 = "37084966477dff679282de42974b2077156b1bd68fad92a65d4ea94d8eb64d79"
DOWNLOAD_SECONDS = 5.0
_MAX_BYTES = 1 << 20


def download_story(
    url: str, target: Path, *, expected_sha256: str, seconds: float = DOWNLOAD_SECONDS
) -> None:
    """Bring the file at `url` to `target`, whole and checked, within `seconds` in all.

    Raises: StoryDownloadError; `target` is then as it was before.
    """
    data = _fetch_within(url, seconds)
    digest = sha256(data).hexdigest()
    if digest != expected_sha256:
        raise StoryDownloadError(f"{url} is not the expected file (sha256 {digest[:12]}...)")
    try:
        _store(data, target)
    except OSError as exc:
        raise StoryDownloadError(f"the story cannot be stored as {target}: {exc}") from exc


def _fetch_within(url: str, seconds: float) -> bytes:
    """Fetch in a thread, for looking up a host name knows no time limit of its own."""
    answers: queue.Queue[bytes | Exception] = queue.Queue()
    deadline = time.monotonic() + seconds
    threading.Thread(
        target=_fetch, args=(url, deadline, answers), name="story-download", daemon=True
    ).start()
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        answer = StoryDownloadError(f"{url} took longer than {seconds:g} seconds")
    if isinstance(answer, StoryDownloadError):
        raise answer
    if isinstance(answer, Exception):
        raise StoryDownloadError(f"{url} cannot be downloaded: {answer}") from answer
    return answer


def _fetch(url: str, deadline: float, answers: "queue.Queue[bytes | Exception]") -> None:
    import httpx

    try:
        timeout = max(0.1, deadline - time.monotonic())
        with httpx.stream("GET", url, timeout=timeout, follow_redirects=True) as response:
            response.raise_for_status()
            answers.put(_read(response, deadline))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, StoryDownloadError) as exc:
        answers.put(exc)


def _read(response: "httpx.Response", deadline: float) -> bytes:
    data = bytearray()
    for chunk in response.iter_bytes():
        data += chunk
        if len(data) > _MAX_BYTES:
            raise StoryDownloadError(f"{response.url} is too large to be the story")
        if time.monotonic() > deadline:
            raise StoryDownloadError(f"{response.url} was too slow")
    return bytes(data)


def _store(data: bytes, target: Path) -> None:
    """Write beside the target and rename: whoever reads it finds all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
