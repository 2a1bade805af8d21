"""Which failures may pass, and what they say."""

from __future__ import annotations

import asyncio
import threading

import httpx2
import pytest

from movie_generator.errors import PageError, is_passing, reason_of
from movie_generator.pages import fetch
from movie_generator.pages.robots import Robots
from movie_generator.pages.urls import UrlPolicy
from movie_generator.settings import Limits
from tests.support import PATIENCE
from tests.support.movie import site

ANY = UrlPolicy(allow_private=True)


@pytest.mark.parametrize(
    ("status", "passes"),
    [
        *((it, True) for it in (408, 429, 500, 503, 520)),
        *((it, False) for it in (404, 501, 505, 511, 526)),
    ],
)
def test_only_some_statuses_may_be_others_later(status: int, passes: bool) -> None:
    assert is_passing(status) is passes


def read(url: str, seconds: float = 5.0) -> PageError:
    limits = Limits(page_timeout=seconds)
    robots = Robots(ANY, timeout=seconds, obey=False)
    with pytest.raises(PageError) as caught:
        asyncio.run(fetch.fetch_page(url, limits, robots))
    return caught.value


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (httpx2.ReadError(""), True),
        (httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] it is not ours"), False),
        (httpx2.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number"), False),
        (httpx2.ConnectError("[SSL: TLSV1_ALERT_PROTOCOL_VERSION] alert"), False),
        (httpx2.ReadError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred"), True),
        (httpx2.RemoteProtocolError("Server disconnected without sending a response."), True),
        (httpx2.RemoteProtocolError("illegal status line: bytearray(b'SSH-2.0')"), False),
        (httpx2.DecodingError("Error -3 while decompressing data"), False),
    ],
)
def test_a_fault_of_the_page_itself_does_not_pass(
    monkeypatch: pytest.MonkeyPatch, error: httpx2.HTTPError, passes: bool
) -> None:
    async def fails(*_: object) -> None:
        raise error

    monkeypatch.setattr(fetch, "_read", fails)
    found = read("http://127.0.0.1/page")
    assert found.passes is passes
    assert not str(found).endswith(": ")


def test_a_page_that_takes_too_long_to_parse_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given_up = threading.Event()
    monkeypatch.setattr(fetch, "page_of", lambda *_: given_up.wait(PATIENCE))
    with site({"/page": ("text/html", b"<p>x")}) as served:
        found = read(f"{served.url}/page", 0.5)
    given_up.set()
    assert "could not be parsed within 0.5 s" in str(found)
    assert not found.passes


def test_a_reason_is_never_empty() -> None:
    assert reason_of(httpx2.ReadError("")) == "the network failed (ReadError)"
    assert reason_of(OSError("odd\nthing")) == "odd thing"
