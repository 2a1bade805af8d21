"""The model of the benchmarks: scripted, in its own process."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from mcp_ghost.testing.wires import WireName
from workshop.scripted_model import action_reply, thought

THOUGHT = thought("A thought of ordinary length about what could be tried next.")


class BenchModel:
    """Calls a tool ``calls`` times, ``batch`` at once, then answers; each reply takes a while."""

    def __init__(self, calls: int = 0, batch: int = 1, seconds: float = 0.0) -> None:
        self.calls, self.batch, self.seconds = calls, batch, seconds

    def __call__(self, request: ModelRequest) -> Reply:
        """One reply."""
        done = sum(message["role"] == "tool" for message in request.messages)
        if done < self.calls and request.tool_names:
            reply = tool_reply([(request.tool_names[0], THOUGHT)] * self.batch)
        else:
            reply = action_reply("look", "So.")
        return reply.after(self.seconds) if self.seconds else reply


@contextmanager
def served(model: Callable[[ModelRequest], Reply], wire: WireName = "openai") -> Iterator[str]:
    """The base URL of ``model`` in its own process."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_serve, args=(model, wire, theirs), daemon=True)
    process.start()
    try:
        if not ours.poll(30):
            raise RuntimeError("The model server did not start.")
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _serve(model: Callable[[ModelRequest], Reply], wire: WireName, address: Any) -> None:  # noqa: ANN401
    with ModelServer(model, wire=wire) as server:
        address.send(server.base_url)
        threading.Event().wait()
