"""Where goldens are recorded and replayed: httpx2 transports, below all of our code.

    await mcp_ghost(..., transport=RecordingTransport())     # .exchanges
    await mcp_ghost(..., transport=ReplayTransport(golden))  # .drift

One object serves one run. Headers are not recorded: they hold keys, and nothing a replay needs.
"""

from collections.abc import Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx2

from mcp_ghost.errors import GoldenError, GoldenExhaustedError
from mcp_ghost.golden.comparison import request_differences
from mcp_ghost.golden.file import as_golden
from mcp_ghost.golden.scrub import Scrubber, places
from mcp_ghost.providers.transport import Endpoint, network_transport
from mcp_ghost.results import as_text, parsed

_KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
_OF_THE_TRANSFER = ("content-encoding", "content-length", "transfer-encoding")


class RecordingTransport(httpx2.AsyncBaseTransport):
    """Forwards requests and keeps the replies, for ``provider_responses`` of a golden."""

    def __init__(self, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._inner = inner
        self._iteration = 1
        self.exchanges: list[dict[str, Any]] = []
        self.secrets: set[str] = set()
        """The keys that were sent."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request, and keep the exchange, whatever its outcome."""
        sent = [request.headers.get(name, "").rpartition(" ")[2] for name in _KEY_HEADERS]
        self.secrets |= {key for key in (*sent, request.url.params.get("key", "")) if key}
        exchange: dict[str, Any] = {
            "iteration": self._iteration,
            "path": request.url.path,
            "request": _json(await request.aread()),
        }
        self._inner = self._inner or network_transport(Endpoint(str(request.url)))
        try:
            async with aclosing(await self._inner.handle_async_request(request)) as response:
                content = await response.aread()
        except httpx2.TransportError as error:
            self.exchanges.append({**exchange, "error": [type(error).__name__, str(error)]})
            raise
        said = {"status": response.status_code, "response": _json(content)}
        self.exchanges.append({**exchange, **said})
        self._iteration += response.is_success
        # It is read and decoded.
        headers = [it for it in response.headers.multi_items() if it[0] not in _OF_THE_TRANSFER]
        return httpx2.Response(response.status_code, headers=headers, content=content)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._inner is not None:
            await self._inner.aclose()


class ReplayTransport(httpx2.AsyncBaseTransport):
    """Answers with the replies of a golden, in order, without a key or a network."""

    def __init__(self, golden: Mapping[str, Any] | str | Path) -> None:
        """Read the golden's replies; raises GoldenError if there are none."""
        golden = as_golden(golden)
        self._recorded: list[dict[str, Any]] = list(golden.get("provider_responses") or ())
        if not self._recorded:
            raise GoldenError(
                "The golden contains no provider_responses, so it cannot be replayed. "
                "Record it with record_golden()."
            )
        self._scrubber = Scrubber((), places(golden.path))
        self._volatile = list(golden.get("volatile") or ())
        self._differences: list[str] = []
        self.asked = 0
        """Requests of the run so far."""

    @property
    def drift(self) -> list[str]:
        """How the run's requests differ from the recorded ones, apart from wording."""
        fewer = len(self._recorded) - self.asked
        if fewer <= 0:
            return self._differences
        asked = f"requests: {len(self._recorded)} were recorded, the run made {self.asked}"
        return [*self._differences, asked]

    @property
    def exhausted(self) -> GoldenExhaustedError | None:
        """The error of a run that asked more often than was recorded."""
        if self.asked <= len(self._recorded):
            return None
        where = f" ({self._differences[0]})" if self._differences else ""
        return GoldenExhaustedError(
            f"The golden has {len(self._recorded)} replies, and the run asked for more. The loop "
            f"took a different path from the recorded one{where}. "
            "If that is intended, record it again."
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the next recorded reply, whatever was asked."""
        body = _json(await request.aread())
        self.asked += 1
        if self.exhausted:
            raise self.exhausted
        recorded = self._recorded[self.asked - 1]
        # A difference of the first request is in all that follow, too.
        noted = {line.partition(": ")[2] for line in self._differences}
        now = {"path": request.url.path, "request": self._scrubber.hide(body)}
        self._differences += [
            f"request {self.asked}: {difference}"
            for difference in request_differences(recorded, now, self._volatile)
            if difference not in noted
        ]
        if error := recorded.get("error"):
            name, message = error
            kind = getattr(httpx2, name, None)
            if not (isinstance(kind, type) and issubclass(kind, httpx2.TransportError)):
                kind = httpx2.TransportError
            raise kind(message)
        said = as_text(self._scrubber.show(recorded.get("response")))
        kind = "text/event-stream" if is_stream(said) else "application/json"
        # After a failed attempt, the next one need not wait.
        return httpx2.Response(
            recorded.get("status", 200),
            content=said.encode(errors="replace"),
            headers={"content-type": kind, "retry-after": "0"},
        )


def is_stream(said: str) -> bool:
    """Whether a reply came piece by piece."""
    return said.startswith(("data:", "event:"))


def _json(content: bytes) -> Any:  # noqa: ANN401  any JSON, or text where it is not JSON
    return parsed(content, content.decode("utf-8", errors="replace"))
