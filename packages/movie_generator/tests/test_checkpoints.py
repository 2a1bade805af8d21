"""What is finished of a script is neither asked, called nor read again."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.gemini import Gemini
from mcp_ghost.providers.openai import OpenAI
from mcp_ghost.results import ToolCallResult
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, error_reply, tool_reply
from mcp_ghost.toolset import Call, Kind, Outcome, Toolset
from movie_generator import VideoScript, generate, generate_script_from_url_with_agent
from movie_generator.checkpoints import Checkpoints
from movie_generator.settings import AppConfig
from tests.support.movie import script_reply

if TYPE_CHECKING:
    from mcp_ghost.providers.common import Provider
    from mcp_ghost.testing.wires import WireName

URL = "http://pages.invalid/bridges"
KEY = "sk-very-secret-1234567890"
PROVIDERS: dict[str, Provider] = {"openai": OpenAI(), "gemini": Gemini()}


class CrashError(BaseException):
    """Stands for the end of the process."""


class CrashingStore:
    """A store; with ``crashes``, saving is the last that a process does."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}
        self.runs = 0
        self.crashes = False

    async def load(self) -> dict[str, str]:
        self.runs += 1
        return dict(self.kept)

    async def save(self, key: str, content: str) -> None:
        assert key not in self.kept
        self.kept[key] = content
        if self.crashes:
            raise CrashError


class Library:
    """An MCP server in this process, whose tools count how often they act."""

    def __init__(self) -> None:
        self.called: Counter[str] = Counter()
        self.server = MCPServer("library")

        @self.server.tool(structured_output=False)
        def fetch(url: str, start_index: int = 0) -> str:
            """Give a page in two parts."""
            self.called[f"fetch {start_index}"] += 1
            if start_index:
                return f"Contents of {url}:\nAnd it is built of stone; {KEY} opens it."
            more = "Call the fetch tool with a start_index of 26 to get more content."
            part = f"A bridge crosses a river.\n\n<error>Content truncated. {more}</error>"
            return f"Contents of {url}:\n{part}"

        @self.server.tool()
        def search(query: str) -> str:
            """Never find anything, in words that are new each time."""
            self.called["search"] += 1
            raise ToolError(f"nothing found by search number {self.called['search']}")

        @self.server.tool()
        async def browse(url: str) -> str:
            """Never answer."""
            self.called["browse"] += 1
            await asyncio.Event().wait()
            raise AssertionError


def script(request: ModelRequest) -> Reply | str:
    """An agent for whom most goes wrong at first, and a writer who has to be corrected once."""
    turns = sum(message["role"] == "assistant" for message in request.messages)
    if not request.tool_names:
        return script_reply() if turns else script_reply(sections=[])
    calls: list[list[tuple[str, dict[str, Any]]]] = [
        [("search", {"query": "bridges"}), ("browse", {"url": URL})],
        [("search", {"query": "bridges"}), ("fetch", {"url": URL})],
    ]
    return tool_reply(calls[turns]) if turns < len(calls) else json.dumps({"results": [1]})


def work(store: CrashingStore, library: Library, model: ModelServer) -> VideoScript:
    config = AppConfig.model_validate(
        {"model": "m-1", "obey_robots": False, "limits": {"page_timeout": 0.5}}
    )
    return asyncio.run(
        generate_script_from_url_with_agent(
            URL,
            {"mcpServers": {"library": library.server}},
            api_key=KEY,
            base_url=model.base_url,
            config=config,
            allow_private_urls=True,
            store=store,
        )
    )


@pytest.fixture(params=["openai", "gemini"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> WireName:
    name: WireName = request.param

    def client(
        api_key: str | None,
        model: str | None = None,
        base_url: str | None = None,
        **options: Any,  # noqa: ANN401  what ProviderClient takes
    ) -> ProviderClient:
        return ProviderClient(PROVIDERS[name], api_key, model, base_url, **options)

    monkeypatch.setattr(generate, "model_client", client)
    return name


def test_crashes_after_each_step_have_nothing_done_twice_that_was_finished(wire: WireName) -> None:
    library, store = Library(), CrashingStore()
    with ModelServer(script, wire=wire) as model:
        expected = work(CrashingStore(), Library(), model)
        undisturbed = len(model.requests)
        store.crashes = True
        results: list[VideoScript] = []
        while not results:
            with suppress(CrashError):
                results.append(work(store, library, model))
        assert results == [expected]
        assert model.refusals == []
        assert len(model.requests) == 2 * undisturbed == 10
    assert store.runs == len(store.kept) + 1 == 14
    assert library.called == {"search": 2, "browse": 1, "fetch 0": 1, "fetch 26": 1}


def test_secrets_are_neither_stored_nor_used() -> None:
    store = CrashingStore()

    def echo(request: ModelRequest) -> Reply | str:
        said = script(request)
        return script_reply(description=f"with {KEY}") if isinstance(said, str) else said

    with ModelServer(echo) as model:
        result = work(store, Library(), model)
    assert result.description == "with ***"
    assert KEY not in json.dumps(store.kept)
    assert any("***" in content for content in store.kept.values())


def test_what_refuses_or_fails_is_not_stored_and_asked_again() -> None:
    store, failed = CrashingStore(), []

    def fails_once(request: ModelRequest) -> Reply | str:
        key = json.dumps(request.body)
        if key not in failed:
            failed.append(key)
            if request.tool_names:
                return error_reply(503, "busy", {"retry-after": "0"})
            return Reply(
                {"error": {"code": 429, "message": "slower"}}
            )  # with status 200, as some do
        return script(request)

    with ModelServer(fails_once) as model:
        work(store, Library(), model)
        assert len(model.requests) == 10
        assert not any("slower" in content for content in store.kept.values())
        work(store, Library(), model)
        assert len(model.requests) == 10


class CalledOnce(Toolset):
    """Tools that cannot be called a second time."""

    def __init__(self, outcome: Outcome) -> None:
        self._left = [outcome]

    async def call(self, call: Call) -> Outcome:
        return self._left.pop()


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome.of(ToolCallResult([{"type": "text", "text": "A bridge."}])),
        Outcome.of(ToolCallResult(None, is_error=True, error_message="there is no such page")),
        Outcome.without_result(Kind.TIMEOUT, "", was_sent=True),
        Outcome.without_result(Kind.FAILED, "the server is gone"),
    ],
    ids=lambda outcome: outcome.kind,
)
def test_what_became_of_a_call_is_known_without_another(outcome: Outcome) -> None:
    store, tools = CrashingStore(), CalledOnce(outcome)
    for _ in range(2):
        found = asyncio.run(Checkpoints(store).tools(tools).call(Call("fetch", {"url": URL})))
        assert found == outcome
