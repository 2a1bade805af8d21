"""The file of a golden: JSON for people and machines, written whole or not at all.

{"test_name", "recorded_at", "recorded_from", "volatile",
 "input": {"server_config", "system_prompt", "provider", "user_prompt", ...},
 "golden_output": the result of the run,
 "provider_responses": [{"iteration", "path", "request", "status", "response", "token_usage"}],
 "servers": {name: {"revision", "tools", "annotations", "failure", "calls", "restarts"}}}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mcp_ghost.config.secrets import secrets_of
from mcp_ghost.errors import GoldenError
from mcp_ghost.files import PRIVATE, read_regular, write_whole
from mcp_ghost.golden.scrub import Scrubber, places
from mcp_ghost.results import jsonable
from mcp_ghost.text import reason

RecordedFrom: TypeAlias = Literal["live provider", "protocol server", "embedded model"]
_AS_THEY_ARE = ("recorded_at", "recorded_from", "volatile")


class Golden(dict[str, Any]):
    """The content of a golden, and the path of its file."""

    def __init__(self, content: Mapping[str, Any], path: Path | None = None) -> None:
        super().__init__(content)
        self.path = path


def load_golden(path: str | Path) -> Golden:
    """Read a golden, or a bare result as one; ``{path:...}`` is left as it was written.

    Raises:
        GoldenError: There is no golden at ``path``, or it cannot be read.
    """
    path = Path(path)
    try:
        content = json.loads(read_regular(path))
    except FileNotFoundError as error:
        raise GoldenError(f"No golden at {path}. Record it with record_golden().") from error
    except (OSError, ValueError) as error:
        raise GoldenError(f"The golden {path} cannot be read: {reason(error)}") from error
    if isinstance(content, dict) and "tool_chain" in content:
        content = {"golden_output": content}
    if not isinstance(content, dict) or not isinstance(content.get("golden_output"), dict):
        raise GoldenError(f"{path} is not a golden: it has no 'golden_output'.")
    return Golden(content, path)


def as_golden(golden: Mapping[str, Any] | str | Path) -> Golden:
    """A golden, however it was given."""
    if isinstance(golden, Golden):
        return golden
    return Golden(golden) if isinstance(golden, Mapping) else load_golden(golden)


def save_golden(
    path: str | Path,
    result: Mapping[str, Any],
    *,
    test_name: str | None = None,
    input: Mapping[str, Any] | None = None,  # noqa: A002  the name in the file
    provider_responses: Sequence[Mapping[str, Any]] = (),
    servers: Mapping[str, Any] | None = None,
    recorded_from: RecordedFrom | None = None,
    volatile: Iterable[str] = (),
    secrets: Iterable[str] = (),
) -> Golden:
    """Write a result of ``mcp_ghost()``, or a whole golden, without secrets and machine paths.

    ``input`` and ``provider_responses`` (those of a RecordingTransport) make it replayable, and
    ``servers``, what the servers listed and answered, even without servers;
    ``volatile`` names the tools whose results differ from run to run, such as a clock.
    """
    path = Path(path)
    content = dict(result)
    if "golden_output" not in content:
        content = {
            "test_name": test_name or path.stem,
            "recorded_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "recorded_from": recorded_from,
            "volatile": list(volatile),
            "input": dict(input or {}),
            "golden_output": content,
            "provider_responses": list(provider_responses),
            **({} if servers is None else {"servers": dict(servers)}),
        }
    plain: Any = jsonable(content)  # strict JSON, whatever tools returned
    given = plain.get("input", {})
    config = given.get("server_config")
    known = secrets_of(config["mcpServers"] if config else {})
    scrubber = Scrubber({*known, *secrets}, places(path))
    golden = Golden({}, path)
    for key, it in plain.items():
        golden[key] = it if key in _AS_THEY_ARE else scrubber.hide(it)
    if config:
        golden["input"]["server_config"] = scrubber.servers(config)
    if "provider" in given:
        golden["input"]["provider"] = given["provider"]
    text = json.dumps(golden, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        write_whole(path, text, mode=PRIVATE)
    except OSError as error:
        raise GoldenError(f"The golden {path} cannot be written: {reason(error)}") from error
    return golden
