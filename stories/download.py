"""Stories from the network: Zork I, pinned and verified, or whatever address the user gives."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from mcp_ghost.files import write_whole
from mcp_ghost.text import one_line, reason
from stories.container import MAX_STORY_BYTES, open_story_file
from stories.errors import StoryDownloadError, StoryFormatError

if TYPE_CHECKING:
    import httpx2

OnProgress: TypeAlias = Callable[[str, float | None], None]
"""(what is waited for, the share of it that is done); no share where nobody can know it"""

ZORK1_URL = (
    "https://raw.githubusercontent.com/historicalsource/zork1/"
    "97b7b3d68c075dd9af7da499c3e9690ada3471fd/COMPILED/zork1.z3"
)
ZORK1_SHA256 = "37084966477dff679282de42974b2077156b1bd68fad92a65d4ea94d8eb64d79"
DOWNLOAD_SECONDS = 5.0
ADDRESS_SECONDS = 120.0
"""For a story from an address of the user's: some have pictures, and some servers are slow."""
_SHOWN = 200
_SUFFIX = 8
"""Characters of a file name's ending."""
_GLANCE = 0.1
"""Seconds after which it is told how much has come."""
_OnShare: TypeAlias = Callable[[float | None], None]


def download_story(
    url: str,
    target: Path,
    *,
    expected_sha256: str,
    seconds: float = DOWNLOAD_SECONDS,
    on_progress: OnProgress = lambda _label, _share: None,
) -> None:
    """Download `url` to `target`, whole and verified, within `seconds` altogether.

    Raises: StoryDownloadError; `target` is then as it was before.
    """
    data = _fetched(url, seconds, partial(on_progress, f"Downloading {target.name}"))
    digest = sha256(data).hexdigest()
    if digest != expected_sha256:
        raise StoryDownloadError(f"{url} is not the expected file (sha256 {digest[:12]}...)")
    _store(target, data)


def is_address(story: str) -> bool:
    """Return whether a story is named by where it is to be fetched."""
    return story.startswith(("https://", "http://"))


def fetched_story(address: str, folder: Path, on_progress: OnProgress) -> Path:
    """Return the file of the story at an address, which is fetched once and kept by its SHA-256.

    Raises: StoryDownloadError; StoryFormatError for a file that is not a story, which is not kept.
    """
    note = folder / f"{sha256(address.encode()).hexdigest()[:16]}.address"
    with suppress(OSError, ValueError):
        known, kept = note.read_text(encoding="utf-8").splitlines()
        path = folder / Path(kept).name
        if known == address and sha256(path.read_bytes()).hexdigest() == path.stem:
            return path
    label = f"Downloading {one_line(address, _SHOWN)}"
    data = _fetched(address, ADDRESS_SECONDS, partial(on_progress, label))
    try:
        open_story_file(data)
    except StoryFormatError as error:
        raise StoryFormatError(f"{one_line(address, _SHOWN)} cannot be played: {error}") from error
    suffix = Path(urlsplit(address).path).suffix
    suffix = suffix if suffix[1:].isalnum() and len(suffix) <= _SUFFIX else ""
    path = folder / f"{sha256(data).hexdigest()}{suffix}"
    _store(path, data)
    _store(note, f"{address}\n{path.name}\n".encode())
    return path


def _store(path: Path, data: bytes) -> None:
    try:
        write_whole(path, data)
    except OSError as error:
        raise StoryDownloadError(
            f"the story cannot be stored as {path}: {reason(error)}"
        ) from error


def _fetched(url: str, seconds: float, on_share: _OnShare) -> bytes:
    """Fetch in a thread: looking up a host name has no timeout of its own.

    Progress is reported from here, so that none is reported once the wait is over.
    """
    answer: Future[bytes] = Future()
    shares: list[float | None] = [None]
    task = (url, seconds, answer, shares.append)
    threading.Thread(target=_fetch, args=task, name="story-download", daemon=True).start()
    deadline = time.monotonic() + seconds
    try:
        while not answer.done() and time.monotonic() < deadline:
            on_share(shares[-1])
            wait([answer], min(_GLANCE, max(deadline - time.monotonic(), 0)))
    finally:
        on_share(1.0)
    if not answer.done():
        raise StoryDownloadError(f"{url} took longer than {seconds:g} seconds")
    return answer.result()


def _fetch(url: str, seconds: float, answer: "Future[bytes]", on_share: _OnShare) -> None:
    import httpx2

    from mcp_ghost.network import tls_context, unfound

    deadline = time.monotonic() + seconds
    try:
        with httpx2.stream(
            "GET", url, timeout=seconds, follow_redirects=True, verify=tls_context()
        ) as response:
            response.raise_for_status()
            answer.set_result(_read(response, deadline, on_share))
    except StoryDownloadError as error:
        answer.set_exception(error)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        why = unfound(error, url) or str(error).partition("\n")[0]  # httpx adds where to read more
        answer.set_exception(StoryDownloadError(f"{url} cannot be downloaded: {why}"))


def _read(response: "httpx2.Response", deadline: float, on_share: _OnShare) -> bytes:
    data = bytearray()
    announced = response.headers.get("Content-Length", "")
    for chunk in response.iter_bytes():
        data += chunk
        if announced.isdecimal() and int(announced):
            on_share(min(response.num_bytes_downloaded / int(announced), 1.0))
        if len(data) > MAX_STORY_BYTES:
            raise StoryDownloadError(f"{response.url} is too large to be the story")
        if time.monotonic() > deadline:
            raise StoryDownloadError(f"{response.url} was too slow")
    return bytes(data)
