"""Which code plays: the installed version of the project, and a hash of its sources."""

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version
from importlib.util import find_spec
from pathlib import Path

_PLAYING = (
    "zork_agent",
    "llm_client",
    "shared_utils",
    "orchestration",
    "players",
    "managers",
    "session",
    "game_interface",
    "local_model",
    "mcp_ghost",
    "notes",
    "thoughtbox",
    "tool_server",
)
"""What can change how an episode goes, besides the prompts."""


def version() -> str:
    """For example ``0.1.0``; ``unknown`` where the project is not installed."""
    try:
        return _version("zorkgpt")
    except PackageNotFoundError:
        return "unknown"


@cache
def code_digest(modules: tuple[str, ...] = _PLAYING) -> str:
    """Hash the sources of ``modules``, whether committed and released or not."""
    digest = hashlib.sha256()
    for name in modules:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name)
        file = Path(spec.origin)
        package = spec.submodule_search_locations is not None
        for source in sorted(file.parent.rglob("*.py")) if package else [file]:
            inside = source.relative_to(file.parent)
            digest.update(f"{name}/{inside}\0".encode() + source.read_bytes())
    return digest.hexdigest()
