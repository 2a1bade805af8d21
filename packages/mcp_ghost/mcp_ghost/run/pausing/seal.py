"""Seals on what a person decided: nobody else can make one, and it fits nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from functools import cache

from mcp_ghost.files import PRIVATE, data_folder, read_regular, write_whole


def seal(*decided: object) -> str:
    """The seal of this user on ``decided``, which is plain JSON."""
    text = json.dumps(decided, sort_keys=True)
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


def fits(given: object, *decided: object) -> bool:
    """Whether ``given`` is the seal on ``decided``."""
    return isinstance(given, str) and hmac.compare_digest(given.encode(), seal(*decided).encode())


@cache
def _key() -> bytes:
    """The key of this user; where none can be kept, of this process: others then ask again."""
    path = data_folder() / "seal"
    try:
        if not path.exists():
            write_whole(path, os.urandom(32), mode=PRIVATE)
        return read_regular(path)
    except OSError:
        return os.urandom(32)
