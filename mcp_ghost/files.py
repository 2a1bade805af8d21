"""Files written whole: a reader finds what was there before, or everything new."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def write_whole(
    path: Path,
    content: str | bytes,
    *,
    only_if: Callable[[], bool] = lambda: True,
    mode: int = 0o644,
) -> bool:
    """Replace ``path``, creating its folder; False if ``only_if`` said no at the last moment.

    Raises:
        OSError: It could not be written; what was there before is still there.
    """
    data = content.encode(errors="replace") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.", suffix=".tmp")
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.chmod(mode)  # temporary files are for their owner only
        if wanted := only_if():
            unfinished.replace(path)
        return wanted
    finally:
        unfinished.unlink(missing_ok=True)
