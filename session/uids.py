"""Names of episodes that are unique across machines, for the ids of what is learned in them."""

import hashlib
import secrets

_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_LENGTH = 6


def new_uid() -> str:
    """A name drawn at random, short enough for a model to repeat."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def uid_of(episode_id: str) -> str:
    """The uid of an episode that was begun before there were any, made from its name."""
    digest = hashlib.sha256(episode_id.encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_LENGTH])
