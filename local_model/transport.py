"""An httpx transport with the embedded model behind it: a client needs no other change."""

import threading
from pathlib import Path

import httpx

from local_model import EMBEDDED_BASE_URL, EMBEDDED_HOST
from local_model.process import LocalModel, Notice
from local_model.settings import Settings, find_model

_models: dict[Settings, LocalModel] = {}
_models_lock = threading.Lock()


def embedded_transport(
    model_path: Path | None = None,
    threads: int | None = None,
    context: int = 4096,
    on_notice: Notice | None = None,
) -> httpx.BaseTransport:
    """Return a transport for EMBEDDED_BASE_URL; the model starts with the first request.

    Transports with the same settings share one child process. `on_notice` is told in one line what
    happens to it (the log otherwise).

    Raises:
        LocalModelError: a package or the model file is missing, or it is no GGUF file.
    """
    settings = Settings(model_path, threads, context)
    find_model(settings)
    with _models_lock:
        model = _models.setdefault(settings, LocalModel(settings))
    if on_notice is not None:
        model.on_notice = on_notice
    return EmbeddedModelTransport(model)


class EmbeddedModelTransport(httpx.BaseTransport):
    """Sends requests for EMBEDDED_BASE_URL to the model's child process.

    A LocalModelError (the model cannot start) goes through to the caller: to try again is no use.
    """

    def __init__(self, model: LocalModel) -> None:
        self.model = model
        self._http = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send, and send once more when the child ended meanwhile."""
        if request.url.host != EMBEDDED_HOST:
            raise httpx.UnsupportedProtocol(f"The embedded model serves {EMBEDDED_BASE_URL} only.")
        request.read()  # so that it can be sent a second time
        try:
            return self._send(request)
        except httpx.TransportError as exc:
            if isinstance(exc, httpx.TimeoutException) or not self.model.has_ended():
                raise
        try:
            return self._send(request)
        except httpx.NetworkError as exc:
            raise httpx.ConnectError("The embedded model ended twice during one request.") from exc

    def close(self) -> None:
        """Close the connections; the model serves others and ends with the program."""
        self._http.close()

    def _send(self, request: httpx.Request) -> httpx.Response:
        endpoint = self.model.endpoint()
        headers = request.headers.copy()
        headers["Host"] = f"127.0.0.1:{endpoint.port}"
        headers["Authorization"] = f"Bearer {endpoint.key}"
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=endpoint.port)
        return self._http.handle_request(
            httpx.Request(
                request.method,
                url,
                headers=headers,
                content=request.content,
                extensions=request.extensions,
            )
        )
