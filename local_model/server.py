"""The embedded model's process: an OpenAI-compatible server on loopback that dies with its parent.

`python -m local_model.server --model FILE.gguf [--context N] [--threads N]`. The key that callers
must show is read from the environment, so that it appears in no process list. Once the model is
loaded, one line of JSON with the port goes to standard output.
"""

import argparse
import contextlib
import ctypes
import hmac
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from local_model.settings import KEY_VARIABLE
from local_model.shim import Json, RequestError, plan_request, read_answer

MAX_BODY = 8 * 1024 * 1024
Complete: TypeAlias = Callable[[Json], Json]


def main() -> None:
    """Serve until the parent ends."""
    arguments = _parser().parse_args()
    key = os.environ.pop(KEY_VARIABLE, "")
    if not key:
        sys.exit(f"Set {KEY_VARIABLE} to the key that callers must show.")
    die_with_parent()
    complete = load_engine(arguments.model, context=arguments.context, threads=arguments.threads)
    server = ModelServer(complete, key=key, model=arguments.name)
    print(json.dumps({"port": server.server_port}), flush=True)
    server.serve_forever()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local_model.server", description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file")
    parser.add_argument("--name", default="local", help="the model's name in answers")
    parser.add_argument("--context", type=int, default=4096, help="tokens of prompt and answer")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    return parser


def die_with_parent() -> None:
    """End this process when its parent ends, however that happens.

    Standard input is a pipe that only the parent holds: its end is the parent's end. On Linux
    the kernel is asked as well, for the case that somebody else inherited the pipe.
    """
    if sys.platform == "linux":
        parent_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(parent_death_signal, signal.SIGKILL, 0, 0, 0)
    threading.Thread(target=_exit_at_end_of_input, daemon=True).start()


def _exit_at_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)  # nothing to save, and the engine may be busy


def load_engine(model: str, *, context: int, threads: int) -> Complete:
    """Load the model and return the function that answers one request."""
    os.environ["OMP_WAIT_POLICY"] = "passive"  # read when the engine is imported
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 1024
    params.force_pure_content_parser = True  # the shim reads the answers
    params.verbosity = 1
    params.offline = True
    params.ui = False
    params.api_keys = [os.urandom(32).hex()]  # the engine's own port, which nobody uses
    answer: Complete = xllamacpp.Server(params).handle_chat_completions
    return answer


class ModelServer(ThreadingHTTPServer):
    """Listens on an ephemeral port of 127.0.0.1."""

    daemon_threads = True

    def __init__(self, complete: Complete, *, key: str, model: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.complete = complete
        self.authorization = f"Bearer {key}".encode()
        self.model = model


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve(
            {
                "/health": lambda: {"status": "ok"},
                "/v1/models": lambda: {
                    "object": "list",
                    "data": [{"id": self.server.model, "object": "model", "owned_by": "local"}],
                },
            }
        )

    def do_POST(self) -> None:
        self._serve({"/v1/chat/completions": self._chat})

    def _serve(self, routes: dict[str, Callable[[], Json]]) -> None:
        try:
            self._send(HTTPStatus.OK, self._route(routes)())
        except RequestError as exc:
            self._refuse(exc)
        except Exception as exc:  # noqa: BLE001  (process edge: the caller needs an answer)
            self._refuse(RequestError(repr(exc), code="internal", kind="server_error", status=500))

    def _route(self, routes: dict[str, Callable[[], Json]]) -> Callable[[], Json]:
        shown = self.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(shown, self.server.authorization):
            raise RequestError("Wrong or missing API key.", code="invalid_api_key", status=401)
        if self.path not in routes:
            raise RequestError(f"No such page: {self.path}", code="not_found", status=404)
        return routes[self.path]

    def _refuse(self, error: RequestError) -> None:
        self.close_connection = True  # the body may still be unread
        self._send(error.status, error.body())

    def _chat(self) -> Json:
        plan = plan_request(self._body())
        try:
            answer = self.server.complete(plan.payload)
        except (RuntimeError, ValueError) as exc:
            raise RequestError(
                str(exc), code="engine_error", kind="server_error", status=500
            ) from exc
        return read_answer(plan, answer, model=self.server.model)

    def _body(self) -> Json:
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            raise RequestError("The request is too large.", code="too_large", status=413)
        try:
            body: Any = json.loads(self.rfile.read(length))
        except ValueError as exc:
            raise RequestError(f"The request is not JSON: {exc}") from exc
        if not isinstance(body, dict):
            raise RequestError("The request must be a JSON object.")
        return body

    def _send(self, status: int, body: Json) -> None:
        data = json.dumps(body).encode()
        with contextlib.suppress(ConnectionError):  # the caller did not wait
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_args: object) -> None:
        """Nothing: the requests are the parent's own."""


if __name__ == "__main__":
    main()
