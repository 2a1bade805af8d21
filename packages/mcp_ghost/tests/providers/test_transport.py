import json
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_ghost.errors import LLMConnectionError, LLMError, LLMReplyError, LLMStatusError
from mcp_ghost.providers.common import WireRequest
from mcp_ghost.providers.transport import (
    Endpoint,
    Transport,
    encode_json,
    is_transient,
    retry_after,
)


@pytest.mark.parametrize(("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None)])
def test_a_wait_in_seconds_is_read(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


@pytest.mark.parametrize(
    ("headers", "said", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "2"}, "", 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, "", 2.0),
        ({"retry-after": "2"}, "Please try again in 9s.", 2.0),
        ({}, "Rate limit reached. Please try again in 2.5s. Visit", 2.5),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again in 1m26.4s.", 86.4),
        ({}, "You exceeded your quota.\nPlease retry in 36.6s.", 36.6),
        ({}, "Please try again in a while.", None),
        ({}, "Try again in 5 seconds", None),
    ],
)
async def test_a_wait_is_read_from_headers_and_from_words(
    headers: dict[str, str], said: str, seconds: float | None
) -> None:
    response = httpx2.Response(429, headers=headers, json={"error": {"message": said}})
    transport = Transport(Endpoint("http://localhost"), httpx2.MockTransport(lambda _: response))
    with pytest.raises(LLMStatusError) as caught:
        await transport.post(WireRequest("/", {}, {}), model="m", assembler=None, on_delta=None)
    assert caught.value.retry_after == seconds


def test_a_wait_until_a_date_is_read() -> None:
    soon = datetime.now(UTC) + timedelta(seconds=30)
    seconds = retry_after({"retry-after": format_datetime(soon, usegmt=True)})
    assert seconds is not None
    assert 25 < seconds <= 30
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({}) is None


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (LLMConnectionError("cut"), True),
        (LLMStatusError("", 529), True),
        (LLMStatusError("", 429), True),
        (LLMStatusError("", 404), False),
        (LLMReplyError("empty"), False),
        (LLMError("bad address"), False),
        (None, False),
    ],
)
def test_only_faults_that_pass_are_transient(error: Exception | None, transient: bool) -> None:
    assert is_transient(error) is transient


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:80/v1", True),
        ("http://localhost/v1", True),
        ("http://[::1]:8080/v1", True),
        ("https://localhost.example.org/v1", False),
        ("https://10.0.0.1/v1", False),
    ],
)
def test_loopback_is_recognised(url: str, loopback: bool) -> None:
    assert Endpoint(url).is_loopback is loopback


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://host/v1", "http://", "http://h:x/"])
def test_what_is_not_an_address_is_refused(url: str) -> None:
    with pytest.raises(LLMError, match=r"one looks like http://127\.0\.0\.1:8080/v1"):
        Endpoint(url)


def test_keys_and_passwords_stay_out_of_what_is_shown() -> None:
    endpoint = Endpoint("https://user:hunter22@host.example:8443/v1?key=1", "my-own-key-1")
    assert endpoint.where == "https://host.example:8443/v1"
    assert "my-own-key-1" not in repr(endpoint)
    refused = LLMStatusError("bad my-own-key-1 or sk-proj-abcdefgh12345678", 401)
    said = str(endpoint.explained(refused))
    assert "my-own-key-1" not in said
    assert "abcdefgh12345678" not in said


def test_a_user_name_alone_may_be_a_key_too() -> None:
    with pytest.raises(LLMError, match=r"^'ftp://\*\*\*@host/v1' is not a usable"):
        Endpoint("ftp://some-token@host/v1")


@pytest.mark.parametrize("odd", ["", "\ud800"])
def test_payloads_are_utf_8(odd: str) -> None:
    payload = {"a": f"é\n{odd}", "numbers": [1, -0.5, 1e300, 2**70, True, None], "none": {}}
    assert json.loads(encode_json(payload)) == {**payload, "a": "é\n" + "?" * bool(odd)}
    deep: dict[str, Any] = {"odd": odd}
    for _ in range(400):
        deep = {"a": deep}
    assert encode_json(deep).count(b'"a"') == 400


def test_a_payload_may_hold_paths_and_dates_but_not_anything() -> None:
    payload = {"path": Path("a/b"), "date": date(2026, 7, 28)}
    assert json.loads(encode_json(payload)) == {"path": "a/b", "date": "2026-07-28"}
    with pytest.raises(TypeError, match="object is not JSON serializable"):
        encode_json({"a": object()})
