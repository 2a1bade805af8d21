"""Servers that ask the user something in the middle of a call, in both ways that MCP has."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError as ProtocolError
from mcp.types import ElicitRequestFormParams, ElicitResult

from mcp_ghost.config import ServerConfig
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.protocol.elicitation import asking, refusal
from mcp_ghost.servers.session import ServerSession
from tests.support.servers import seen, versions, versions_over_http

pytestmark = pytest.mark.mcp

WAYS = ["2025-06-18", "2025-11-25", "2026-07-28"]
SCHEMA = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "default": "brass"},
        "lamps": {"type": "integer", "default": 2},
    },
    "required": ["colour"],
}


@contextmanager
def server(way: str, link: str, **env: str) -> Iterator[ServerConfig]:
    here = nullcontext(versions(way, **env))
    with here if link == "stdio" else versions_over_http(way, **env) as config:
        yield config


def answer_of(result: ToolCallResult) -> dict[str, Any]:
    """What the server got; in 2026-07-28 with the state that it wanted back."""
    if isinstance(result.content, list):
        got, state = result.content
        assert state == "s1"
    else:
        got = result.content
    assert isinstance(got, dict)
    return got


async def asked(config: ServerConfig, said: object) -> tuple[dict[str, Any], list[object]]:
    """What the server got, and what ``elicit`` was asked, when it says ``said``."""
    questions: list[object] = []

    async def elicit(*question: object) -> Any:  # noqa: ANN401 - what a careless one returns
        questions.append(question)
        if isinstance(said, Exception):
            raise said
        return said

    async with ServerSession("shop", config, elicit=elicit) as session:
        return answer_of(await session.call("ask", {})), questions


@pytest.mark.parametrize("link", ["stdio", "http"])
@pytest.mark.parametrize("way", WAYS)
async def test_the_answer_reaches_the_server_with_the_defaults_of_the_schema(
    way: str, link: str
) -> None:
    with server(way, link) as config:
        got, questions = await asked(config, {"lamps": 5})
    assert got == {"action": "accept", "content": {"colour": "brass", "lamps": 5}}
    assert questions == [("shop", "Which lamp?", SCHEMA)]


@pytest.mark.parametrize("way", WAYS)
async def test_no_answer_declines(way: str) -> None:
    assert (await asked(versions(way), None))[0] == {"action": "decline"}


@pytest.mark.parametrize("said", [LookupError("nobody"), {"colour": {"deep": "blue"}}, "words"])
@pytest.mark.parametrize("way", WAYS[1:])
async def test_what_is_no_answer_cancels_and_the_call_goes_on(
    way: str, said: object, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await asked(versions(way), said))[0] == {"action": "cancel"}
    assert "elicit" in caplog.text


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_is_announced_and_nobody_asked_without_a_callback(
    way: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    async with ServerSession("s", versions(way, SERVER_LOG=str(log))) as session:
        result = await session.call("ask", {})
    assert "not supported" in f"{result.error_message} {result.content}"
    assert "elicitation" not in json.dumps([e["params"] for e in seen(log) if "params" in e])


@pytest.mark.parametrize("way", WAYS)
async def test_forms_are_announced_and_pages_to_open_are_not(way: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await asked(versions(way, SERVER_LOG=str(log)), None)
    said = json.dumps([entry["params"] for entry in seen(log) if "params" in entry])
    assert '"elicitation": {"form": {}}' in said
    assert '"url"' not in said


@pytest.mark.parametrize("way", WAYS[1:])
async def test_a_page_to_open_is_declined_with_its_address(
    way: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = versions(way, URL_TO_OPEN="https://shop.example/sign-in")
    got, questions = await asked(config, {"colour": "green"})
    assert got == {"action": "decline"}
    assert questions == []
    assert "wants a page opened, which is not supported: https://shop.example" in caplog.text


@pytest.mark.parametrize("way", WAYS[1:])
async def test_while_a_person_thinks_no_time_runs_out(way: str) -> None:
    asked_now, may_answer = asyncio.Event(), asyncio.Event()

    async def elicit(*_: object) -> dict[str, Any]:
        asked_now.set()
        await may_answer.wait()
        return {}

    async with ServerSession("s", versions(way), elicit=elicit) as session:
        call = asyncio.create_task(session.call("ask", {}, timeout=2))
        await asked_now.wait()
        await asyncio.sleep(2.3)  # longer than the call may take
        may_answer.set()
        assert answer_of(await call)["content"] == {"colour": "brass", "lamps": 2}
        with pytest.raises(TimeoutError, match=r"'never' within 0\.1 s"):
            await session.call("never", {}, timeout=0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"for_ever": True}, "The server keeps asking for more input."),
        ({"asked": 5}, "The server answered with a malformed result."),
    ],
)
async def test_a_server_that_asks_for_ever_or_in_no_known_form_gets_its_call_ended(
    arguments: dict[str, Any], words: str
) -> None:
    async def elicit(*_: object) -> dict[str, Any]:
        return {}

    async with ServerSession("s", versions("2026-07-28"), elicit=elicit) as session:
        assert (await session.call("ask", arguments)).error_message == words
        assert (await session.call("echo", {"text": "on"})).content == {"text": "on"}


def test_a_page_that_has_to_be_opened_first_is_named() -> None:
    page = {"mode": "url", "url": "https://shop.example/sign-in", "message": "Sign in"}
    error = ProtocolError(-32042, "Sign in first", {"elicitations": [page]})
    opened = "(the user has to open this page first: https://shop.example/sign-in)"
    assert refusal(error) == f"Sign in first {opened}"
    assert refusal(ProtocolError(-32042, "Sign in first", None)) == "Sign in first"


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("text", "the field 'a' has no schema"),
        ({"type": "string", "oneOf": [{"title": "Red"}]}, "a choice without a value ('const')"),
        ({"type": "string", "oneOf": ["red"]}, "a choice without a value ('const')"),
        ({"type": "array", "items": {"anyOf": [{}]}}, "a choice without a value ('const')"),
        ({"type": "array", "items": "text"}, "the field 'a' has no schema"),
        ({"type": "string", "enum": "red"}, "the choices of the field 'a' are not a list"),
        ({"type": "integer", "minimum": "a"}, "the field 'a' has a limit that is not a number"),
        ({"type": "number", "maximum": True}, "the field 'a' has a limit that is not a number"),
    ],
)
async def test_a_form_that_cannot_be_filled_in_is_cancelled_in_clear_words(
    field: object, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def elicit(*_: object) -> dict[str, Any]:
        raise AssertionError("nobody is to be asked")

    params = ElicitRequestFormParams(
        message="Which?", requested_schema={"type": "object", "properties": {"a": field}}
    )
    answer = await asking("shop", elicit, nullcontext)(None, params)  # type: ignore[arg-type]
    assert isinstance(answer, ElicitResult)
    assert answer.action == "cancel"
    assert "MCP server 'shop' asks with a form that cannot be shown" in caplog.text
    assert words in caplog.text


async def test_a_form_without_fields_asks_for_a_mere_yes() -> None:
    async def elicit(*_: object) -> dict[str, Any]:
        return {}

    params = ElicitRequestFormParams(message="Go on?", requested_schema={"type": "object"})
    answer = await asking("shop", elicit, nullcontext)(None, params)  # type: ignore[arg-type]
    assert isinstance(answer, ElicitResult)
    assert answer.action == "accept"
