"""Which code plays: the installed version of the project, and a hash of its sources."""

import hashlib
from functools import cache
from glob import glob
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
    """Hash the sources of ``modules``, with their tables, whether committed and released or not."""
    digest = hashlib.sha256()
    for name in modules:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name)
        file = Path(spec.origin)
        sources = [file.name]
        if spec.submodule_search_locations is not None:
            # Path.rglob takes twice as long on Python 3.11.
            found = glob("**/*.*", root_dir=file.parent, recursive=True)  # noqa: PTH207
            sources = sorted(it for it in found if it.endswith((".py", ".toml")))
        for source in sources:
            digest.update(f"{name}/{source}\0".encode() + (file.parent / source).read_bytes())
    return digest.hexdigest()
