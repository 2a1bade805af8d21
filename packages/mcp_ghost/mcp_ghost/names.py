"""One-to-one names: "server.tool" inside, a name that every provider accepts on the wire.

The common subset of the providers' rules is ``^[A-Za-z_][A-Za-z0-9_-]{0,62}$``. Most names only
lose their dot; one that is too long, or that would meet another, ends in a hash of the original.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

MAX_LENGTH = 63
_HASH_LENGTH = 10
_ENDS_LIKE_A_HASH = re.compile(rf"_[0-9a-f]{{{_HASH_LENGTH}}}$")


class ToolNames:
    """The two-way table for the tools of one request.

    ``namespace`` leads the names on the wire, except for those that a model ``invented`` there.
    """

    def __init__(
        self, names: Iterable[str], namespace: str = "", invented: Iterable[str] = ()
    ) -> None:
        self._prefix = f"{namespace}." if namespace else ""
        whole = {name: name for name in invented} | {name: self._prefix + name for name in names}
        plain = {name: _sanitise(whole[name]) for name in whole}
        uses = Counter(plain.values())
        self._wire = {
            name: candidate if uses[candidate] == 1 and _fits(candidate) else _hashed(whole[name])
            for name, candidate in plain.items()
        }
        self._name = {wire: name for name, wire in self._wire.items()}
        if namespace:
            # Models drop a prefix that all names share.
            bare = ToolNames(self._wire)._name  # noqa: SLF001  of the same class
            self._name = {**bare, **self._name}

    def encode(self, name: str) -> str:
        """The name for the wire; also for a name that is not in the table."""
        return self._wire.get(name) or _hashed(self._prefix + name)

    def decode(self, wire: str) -> str:
        """Our name for ``wire``; what a model invented comes back unchanged."""
        return self._name.get(wire, wire)


def _sanitise(name: str) -> str:
    wire = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return wire if re.match(r"[A-Za-z_]", wire) else f"_{wire}"


def _fits(wire: str) -> bool:
    # A plain name that looks hashed is hashed too, so that the two kinds never meet.
    return len(wire) <= MAX_LENGTH and not _ENDS_LIKE_A_HASH.search(wire)


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{_sanitise(name)[: MAX_LENGTH - _HASH_LENGTH - 1]}_{digest}"
