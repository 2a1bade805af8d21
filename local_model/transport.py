"""An httpx2 transport with the embedded model behind it: nothing else in a client changes."""

import asyncio
import json
import threading
from pathlib import Path

import httpx2

from local_model.process import LocalModel, Notice, OnProgress
from local_model.settings import Settings, find_model
from local_model.shim import JSONObject, RequestError, plan_request, read_answer
from shared_utils import EMBEDDED_BASE_URL, EMBEDDED_HOST

_models: dict[Settings, LocalModel] = {}
_models_lock = threading.Lock()


def embedded_transport(
    model_path: Path | None = None,
    threads: int | None = None,
    context: int = 4096,
    on_notice: Notice | None = None,
    on_progress: OnProgress | None = None,
) -> httpx2.AsyncBaseTransport:
    """Return a transport for EMBEDDED_BASE_URL; the model starts with the first request.

    Transports with the same settings share one child process. `on_notice` hears in one line what
    happens to it (the log otherwise), and `on_progress` that it is being loaded.

    Raises:
        LocalModelError: a package or the model file is missing, or it is not a GGUF file.
    """
    settings = Settings(model_path, threads, context)
    find_model(settings)
    with _models_lock:
        model = _models.setdefault(settings, LocalModel(settings))
    if on_notice is not None:
        model.on_notice = on_notice
    if on_progress is not None:
        model.on_progress = on_progress
    return EmbeddedModelTransport(model)


class EmbeddedModelTransport(httpx2.AsyncBaseTransport):
    """Sends requests for EMBEDDED_BASE_URL to the model's child process, chats in its own words.

    A LocalModelError (the model cannot start) goes through to the caller: trying again is no use.
    """

    def __init__(self, model: LocalModel) -> None:
        self.model = model

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the engine's answer, and to a chat the one in OpenAI's form."""
        if request.url.host != EMBEDDED_HOST:
            raise httpx2.UnsupportedProtocol(f"The embedded model serves {EMBEDDED_BASE_URL} only.")
        body = await request.aread()
        if not request.url.path.endswith("/chat/completions"):
            return await self._answer(request)
        try:
            own = self.model.settings.name
            plan = plan_request(_fields(body), own)
            response = await self._answer(request, plan.payload)
            answer = read_answer(plan, response.json(), model=own)
        except RequestError as error:
            return httpx2.Response(error.status, json=error.body())
        return httpx2.Response(200, json=answer)

    async def _answer(
        self, request: httpx2.Request, payload: JSONObject | None = None
    ) -> httpx2.Response:
        """Send, and send once more when the child ended meanwhile."""
        try:
            return await self._send(request, payload)
        except httpx2.TransportError as error:
            if isinstance(error, httpx2.TimeoutException) or not await asyncio.to_thread(
                self.model.has_ended
            ):
                raise
        try:
            return await self._send(request, payload)
        except httpx2.NetworkError as error:
            ended = "The embedded model ended twice during one request."
            raise httpx2.ConnectError(ended) from error

    async def _send(self, request: httpx2.Request, payload: JSONObject | None) -> httpx2.Response:
        endpoint = await asyncio.to_thread(self.model.endpoint)  # it may have to start
        # No connection is kept: one that the engine closes as it is used would look like its death.
        async with httpx2.AsyncHTTPTransport(uds=endpoint.socket) as connection:
            response = await connection.handle_async_request(
                httpx2.Request(
                    request.method,
                    f"http://localhost{request.url.path}",
                    headers={"Authorization": f"Bearer {endpoint.key}"},
                    json=payload,
                    extensions=request.extensions,
                )
            )
            return httpx2.Response(response.status_code, content=await response.aread())


def _fields(body: bytes) -> JSONObject:
    try:
        fields = json.loads(body)
    except ValueError as error:
        raise RequestError(f"The request is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise RequestError("The request must be a JSON object.")
    return fields
