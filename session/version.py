"""Which code plays: the installed version of the project, and a hash of its sources."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_PLAYING = (
    "zork_agent.py",
    "llm_client.py",
    "shared_utils.py",
    "tool_server.py",
    "orchestration",
    "players",
    "managers",
    "session",
    "game_interface",
    "local_model",
    "mcp_ghost",
    "notes",
    "thoughtbox",
)
"""What can change how an episode goes, besides the prompts."""


def version() -> str:
    """For example ``0.1.0``; ``unknown`` where the project is not installed."""
    try:
        return _version("zorkgpt")
    except PackageNotFoundError:
        return "unknown"


@cache
def code_digest(parts: tuple[str, ...] = _PLAYING) -> str:
    """A hash of the sources that play, or of ``parts``, whether committed and released or not."""
    digest = hashlib.sha256()
    for part in parts:
        path = _ROOT / part
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(f"{file.relative_to(_ROOT)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
