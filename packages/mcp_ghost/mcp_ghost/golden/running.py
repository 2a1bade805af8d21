"""Runs that are recorded into a golden, and runs that are answered from one."""

from __future__ import annotations

import inspect
import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal

import httpx2

from mcp_ghost.config import ServerConfig, load_servers
from mcp_ghost.errors import GoldenError, LLMError
from mcp_ghost.ghost import mcp_ghost, run
from mcp_ghost.golden.file import RecordedFrom, as_golden, save_golden
from mcp_ghost.golden.scrub import Scrubber, places, usable_at_replay
from mcp_ghost.golden.servers import Recorded, RecordedServer, RecordingServer
from mcp_ghost.golden.transport import RecordingTransport, ReplayTransport, is_stream
from mcp_ghost.names import ToolNames
from mcp_ghost.providers.client import base_url_of, get_llm_client
from mcp_ghost.providers.common import StreamingProvider
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.providers.streaming import EventReader
from mcp_ghost.providers.transport import Endpoint
from mcp_ghost.text import reason
from mcp_ghost.toolsets.server import Leaf, Server

_logger = logging.getLogger(__name__)
_NOT_STARTED = ServerConfig(command="recorded")
_NO_KEY = "replayed"
"""Sent nowhere."""
_FUNCTIONS = ("stream", "on_event", "elicit", "approve", "authorize", "tools")
_NOT_OF_THE_INPUT = frozenset(
    (*_FUNCTIONS, "api_key", "approve_when", "pause", "checkpoint", "server_config", "base_url")
)
"""What a golden does not hold of the arguments, or holds in another form."""


class Replayed(dict[str, Any]):
    """The result of a replay, and how its requests differ from the recorded ones."""

    def __init__(self, result: Mapping[str, Any], drift: Iterable[str]) -> None:
        super().__init__(result)
        self.drift = list(drift)


class RecordedRun(dict[str, Any]):
    """The result of a run that was recorded."""

    fault: GoldenError | None = None
    """Why the file could not be written after the run: the result is whole all the same."""


async def record_golden(
    path: str | Path,
    *,
    test_name: str | None = None,
    recorded_from: RecordedFrom | None = None,
    volatile: Iterable[str] = (),
    transport: httpx2.AsyncBaseTransport | None = None,
    **arguments: Any,  # noqa: ANN401  those of mcp_ghost
) -> RecordedRun:
    """Run ``mcp_ghost(**arguments)``, write what happened to ``path``, and return the result.

    Paths may be given as ``{path:tests}`` (see :func:`mcp_ghost.golden.scrub.places`) in
    ``server_config`` and the prompts. ``recorded_from`` says whose replies they are; unless told
    otherwise, a server on this machine is a "protocol server". ``volatile`` names tools whose
    results differ from run to run, as patterns.

    If the disk turns out to be full after the run, an error is logged, and the result is returned.

    Raises:
        GoldenError: There can be no such file; nothing was asked then.
        Whatever ``mcp_ghost`` raises; nothing is written then.
    """
    inspect.signature(mcp_ghost).bind(**arguments)  # a TypeError that names what is wrong
    path = Path(path)
    scrubber = Scrubber((), places(path))
    servers = load_servers(scrubber.show(arguments["server_config"]))
    arguments = {**scrubber.show(arguments), "server_config": {"mcpServers": servers}}
    base_url = _base_url(arguments)
    endpoint = Endpoint(base_url)
    where = endpoint.where
    if transport is None:  # a missing key is an error here, not a refusal to be recorded
        get_llm_client(arguments["provider"], arguments.get("api_key"), base_url=base_url)
    try:  # before anything is done and paid for that could then not be kept
        path.parent.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise GoldenError(f"The golden {path} cannot be written: {reason(error)}") from error
    form: dict[str, Any] = {}
    if not isinstance(output := arguments.get("output"), Mapping | None):
        from pydantic import TypeAdapter  # few want a form, and pydantic has to be ready for it

        form = {"output": TypeAdapter(output).json_schema()}
    recording = RecordingTransport(transport)
    recorded: Recorded = {}
    make_server = partial(RecordingServer, recorded)
    done = await run(make_server=make_server, **{**arguments, "transport": recording})
    result = RecordedRun(done.to_dict())
    # Of a server that is an object, only the name is left.
    config = {name: it.model_dump(exclude_defaults=True) for name, it in servers.items()}
    try:
        save_golden(
            path,
            result,
            test_name=test_name,
            input={
                "server_config": {"mcpServers": config},
                # Without the port that a local server happened to get.
                "base_url": re.sub(r":\d+(?=/|$)", "", where) if endpoint.is_loopback else where,
                **{name: it for name, it in arguments.items() if name not in _NOT_OF_THE_INPUT},
                **form,
            },
            provider_responses=[*_read(arguments["provider"], recording.exchanges)],
            servers=recorded,
            recorded_from=recorded_from
            or ("protocol server" if endpoint.is_loopback else "live provider"),
            volatile=volatile,
            secrets=recording.secrets | {arguments.get("api_key") or ""},
        )
    except GoldenError as error:
        result.fault = error
        _logger.error("%s. Nothing is recorded, but the run is done.", error)  # noqa: TRY400
    return result


async def replay_golden(
    golden: Mapping[str, Any] | str | Path,
    *,
    servers: Literal["live", "recorded"] = "live",
    **overrides: Any,  # noqa: ANN401  arguments of mcp_ghost
) -> Replayed:
    """Run the input of ``golden`` again with the recorded replies and the real servers.

    With ``servers="recorded"``, no server is started, and calls return the recorded results.

    ``overrides`` replace recorded arguments. Variables and headers of servers that were
    filtered out, or that refer to what is not set here, are left out.

    Raises:
        GoldenError: There is nothing to replay, or no servers are recorded.
        GoldenExhaustedError: The run asked the model more often than was recorded.
    """
    golden = as_golden(golden)
    replies = ReplayTransport(golden)
    scrubber = Scrubber((), places(golden.path))
    arguments = scrubber.show(golden.get("input") or {})
    missing = {"server_config", "provider", "user_prompt"} - arguments.keys()
    if missing:
        raise GoldenError(f"The golden's input lacks {', '.join(sorted(missing))}.")
    arguments["server_config"] = usable_at_replay(arguments["server_config"], os.environ)
    arguments |= {"api_key": _NO_KEY, "base_url": _base_url(arguments)}
    arguments |= scrubber.show(overrides)
    make_server: Callable[..., Leaf] = Server
    if servers == "recorded":
        if not isinstance(golden.get("servers"), dict):
            raise GoldenError(
                "The golden has no results of its servers; those of earlier versions have none. "
                'Record it again, or replay it with servers="live".'
            )
        known: Recorded = scrubber.show(golden["servers"])
        arguments["server_config"] = {"mcpServers": dict.fromkeys(known, _NOT_STARTED)}
        make_server = partial(RecordedServer, known)
    elif servers != "live":
        raise ValueError(f'servers must be "live" or "recorded", not {servers!r}.')
    arguments = {"system_prompt": "", **arguments, "transport": replies}
    result = await run(make_server=make_server, **arguments)
    if replies.exhausted:
        raise replies.exhausted
    return Replayed(result.to_dict(), replies.drift)


def _base_url(arguments: Mapping[str, Any]) -> str:
    """Stated explicitly, so that a replay does not depend on the environment it runs in."""
    provider = get_provider(arguments["provider"])
    return base_url_of(provider, arguments.get("base_url"), arguments.get("api_key"))


def _read(provider: str, exchanges: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """``exchanges`` with what they took, and replies that came piece by piece as a whole."""
    known = get_provider(provider)
    for exchange in exchanges:
        said, usage = exchange.get("response"), None
        if isinstance(said, str) and is_stream(said) and isinstance(known, StreamingProvider):
            assembler = known.assembler()
            for piece in EventReader().feed(f"{said}\n\n".encode(errors="replace")):
                [*assembler.add(piece)]  # what it says is of no interest any longer
            exchange["response"] = said = assembler.body()
        if isinstance(said, Mapping) and exchange.get("status") == 200:
            with suppress(LLMError):
                usage = known.decode(said, ToolNames([]), model="").usage
        yield {**exchange, "token_usage": usage}
