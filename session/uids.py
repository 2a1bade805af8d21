"""Names of episodes that are unique on all machines, for the ids of what is learned in them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_LENGTH = 6


def new_uid() -> str:
    """A name drawn at random, short enough for a model to repeat."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def uid_of(start: Mapping[str, object]) -> str:
    """The uid in an ``episode_start`` event; made from the episode's name where it has none."""
    if uid := start.get("uid"):
        return str(uid)
    digest = hashlib.sha256(str(start["episode_id"]).encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_LENGTH])
