"""What is finished of a script, so that nobody asks or pays for it again.

Making a script is a row of steps: a page is read, a tool called, a model asked. What a step gave is
stored before anything acts on it. Whoever takes the work up again makes the same steps in the same
order, and gets from the store what is there.

A model call is known by what it asks, tools apart: they are what happens to be on offer, and not
part of what was said. The same request made twice is two steps.
"""

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Any, Protocol

import httpx2

from mcp_ghost.messages import Message
from mcp_ghost.providers.transport import Endpoint, network_transport, unpacked
from mcp_ghost.redact import Redactor
from mcp_ghost.results import JSON, ToolCallResult, jsonable, parsed
from mcp_ghost.toolset import Call, Kind, Outcome, Toolset, Wrapper

MOST_STEP_CHARACTERS = 8 * 2**20
"""Of one step, as JSON. What is longer is not stored, and made again after a crash."""
MOST_CHARACTERS = 64 * 2**20
"""Of all steps of one script; the same."""
_OUR_CALL_ID = re.compile(r"\bcall_[0-9a-f]{24}\b")
"""Made up anew in each process for a call to which the model's server gave no id."""


class Store(Protocol):
    """Where the steps of one script are kept."""

    async def load(self) -> dict[str, str]:
        """All that was saved, by key."""

    async def save(self, key: str, content: str) -> None:
        """Keep ``content``; when this returns, no crash can lose it."""


class Checkpoints:
    """The finished steps of one script; without a ``store``, every step is made.

    ``redactor`` takes secrets out of what a step gave, before it is stored and before it is used.
    """

    def __init__(self, store: Store | None = None, redactor: Redactor | None = None) -> None:
        self._store = store
        self.redactor = redactor or Redactor()
        self._kept: dict[str, str] | None = None
        self._room = MOST_CHARACTERS
        self._made: Counter[str] = Counter()
        self._lost: Exception | None = None

    async def step(self, kind: str, subject: JSON, make: Callable[[], Awaitable[JSON]]) -> JSON:
        """What ``make`` gives, or gave when this step was first made.

        Raises:
            Exception: Whatever ``make`` raises, after which the step is not made yet.
        """
        if self._store is None:
            return await make()
        if self._lost is not None:  # to go on would be in vain, and might be paid for
            raise self._lost
        if self._kept is None:
            self._kept = await self._store.load()
            self._room -= sum(map(len, self._kept.values()))
        ids: dict[str, str] = {}
        text = json.dumps(subject, sort_keys=True)
        text = _OUR_CALL_ID.sub(lambda it: ids.setdefault(it[0], f"call_{len(ids)}"), text)
        name = f"{kind} {hashlib.sha256(text.encode()).hexdigest()[:32]}"
        key = f"{name} {self._made[name] + 1}"
        if key not in self._kept:
            await finished(self._save(self._store, self._kept, key, await make()))
        self._made[name] += 1
        value: JSON = json.loads(self._kept[key])
        return value

    def transport(self) -> httpx2.AsyncBaseTransport | None:
        """A transport for a ``ProviderClient`` that asks the model nothing twice."""
        return None if self._store is None else _AnsweredOnce(self)

    def tools(self, tools: Toolset) -> Toolset:
        """``tools``, except that no call is repeated once its outcome is known."""
        return tools if self._store is None else _CalledOnce(tools, self)

    async def told(self, messages: list[Message], answers: list[Message]) -> list[Message]:
        """``answers`` in the words in which the model was first told them after ``messages``.

        They may hold what no two calls have in common, such as the seconds that one took.
        """

        async def now() -> JSON:
            return [answer["content"] for answer in answers]

        # Scripts that were begun before there were kinds are gone on with.
        before = [{key: it[key] for key in it if key != "kind"} for it in messages]
        said: Any = await self.step("told", jsonable(before), now)
        return [{**answer, "content": text} for answer, text in zip(answers, said, strict=True)]

    async def _save(self, store: Store, kept: dict[str, str], key: str, value: JSON) -> None:
        content = json.dumps(self.redactor.each(value))
        if len(content) <= min(MOST_STEP_CHARACTERS, self._room):
            try:
                await store.save(key, content)
            except Exception as error:
                self._lost = error
                raise
            self._room -= len(content)
        kept[key] = content


class _AnsweredOnce(httpx2.AsyncBaseTransport):
    """Stores each answer of the model's server, and gives that one to the same request."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._network: httpx2.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The stored answer, or the server's; what refuses or fails is not stored."""
        asked = json.loads(await request.aread())
        subject: JSON = [request.url.path, {key: asked[key] for key in asked if key != "tools"}]
        try:
            answer = await self._checkpoints.step("model", subject, partial(self._ask, request))
        except httpx2.HTTPStatusError as error:
            return error.response
        return httpx2.Response(200, text=str(answer), headers={"content-type": "application/json"})

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        network, self._network = self._network, None
        if network is not None:
            await network.aclose()

    async def _ask(self, request: httpx2.Request) -> JSON:
        endpoint = Endpoint(str(request.url))
        self._network = self._network or network_transport(endpoint)
        response = await self._network.handle_async_request(request)
        if response.is_success:
            async with aclosing(response):
                content = b"".join([piece async for piece in unpacked(response, endpoint)])
            body = parsed(content)
            if isinstance(body, dict) and not body.get("error"):
                return content.decode("utf-8", errors="replace")
            # Some send their errors with status 200.
            kind = {"content-type": response.headers.get("content-type", "")}
            response = httpx2.Response(200, content=content, headers=kind)
        raise httpx2.HTTPStatusError("no answer", request=request, response=response)


class _CalledOnce(Wrapper):
    """Stores what became of each call, failures included: the model goes on from them."""

    def __init__(self, inner: Toolset, checkpoints: Checkpoints) -> None:
        super().__init__(inner)
        self._checkpoints = checkpoints

    async def call(self, call: Call) -> Outcome:
        subject: JSON = [call.name, jsonable(call.arguments)]
        kept: Any = await self._checkpoints.step("tool", subject, partial(self._made, call))
        if "timeout" in kept:
            return Outcome.without_result(Kind.TIMEOUT, "", was_sent=True)
        if "failure" in kept:
            return Outcome.without_result(Kind.FAILED, kept["failure"])
        return Outcome.of(ToolCallResult(**kept["result"]))

    async def _made(self, call: Call) -> JSON:
        outcome = await self.inner.call(call)
        if outcome.kind is Kind.TIMEOUT:
            return {"timeout": call.timeout}
        if outcome.kind in (Kind.OK, Kind.TOOL_ERROR):
            return {"result": jsonable(asdict(outcome.result))}
        return {"failure": outcome.reason}


async def finished(work: Awaitable[object]) -> None:
    """Finish ``work`` even if this task is cancelled meanwhile, as for what was paid for."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        raise
