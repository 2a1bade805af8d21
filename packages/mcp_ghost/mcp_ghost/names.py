"""One-to-one names of tools and of their properties: ours, and those that a provider takes.

A tool is "server.tool" inside. The common subset of the providers' rules for it is
``^[A-Za-z_][A-Za-z0-9_-]{0,62}$``. Most names only lose their dot; one that is too long, or that
would meet another, ends in a hash of the original.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

MAX_LENGTH = 63
_HASH_LENGTH = 10
_AROUND = re.compile(
    r"\A(?:.*\bto=)?\s*(?:functions?|default_api)[.:]|\A\s+|\s?(?:<\|.*|</s>|:\d+)?\s*\Z", re.DOTALL
)
"""What some servers leave of a model's own notation: "functions.NAME:0" of Kimi K2, "default_api:"
of Gemini, "commentary to=functions.NAME" and "NAME<|channel|>commentary" of gpt-oss."""
_ENDS_LIKE_A_HASH = re.compile(rf"_[0-9a-f]{{{_HASH_LENGTH}}}$")


class ToolNames:
    """The two-way table for the tools of one request.

    ``namespace`` leads the names on the wire, except for those that a model ``invented`` there.
    ``properties`` are the names in the tools' schemas that some provider refuses.
    """

    def __init__(
        self,
        names: Iterable[str],
        namespace: str = "",
        invented: Iterable[str] = (),
        properties: Iterable[str] = (),
    ) -> None:
        self._prefix = f"{namespace}." if namespace else ""
        whole = {name: name for name in invented} | {name: self._prefix + name for name in names}
        plain = {name: _sanitise(whole[name]) for name in whole}
        uses = Counter(plain.values())
        self._wire: dict[str, str] = {}
        for name, wire in plain.items():
            # A plain name that looks hashed is hashed too, so that the two kinds never meet.
            is_odd = uses[wire] > 1 or len(wire) > MAX_LENGTH or _ENDS_LIKE_A_HASH.search(wire)
            self._wire[name] = _hashed(whole[name]) if is_odd else wire
        self._name = {wire: name for name, wire in self._wire.items()}
        if namespace:
            # Models drop a prefix that all names share.
            bare = ToolNames(self._wire)._name  # noqa: SLF001  of the same class
            self._name = {**bare, **self._name}
        self._property = {property_name(name): name for name in properties}

    def encode(self, name: str) -> str:
        """The name for the wire; also for a name that is not in the table."""
        return self._wire.get(name) or _hashed(self._prefix + name)

    def decode(self, wire: str) -> str:
        """Our name for ``wire``; what a model invented comes back unchanged."""
        bare = _AROUND.sub("", wire)
        if known := self._name.get(wire) or self._name.get(bare):
            return known
        word = folded(bare)
        # In other letters, or without its server's name.
        meant = {
            name
            for known, name in self._name.items()
            if word and word in (folded(known), folded(name.partition(".")[2]))
        }
        return meant.pop() if len(meant) == 1 else wire

    def decode_arguments(self, text: str) -> str:
        """A call's arguments, as JSON, with the names that its tool knows."""
        if not any(name in text for name in self._property):
            return text
        try:
            return json.dumps(_renamed(json.loads(text), self._property), ensure_ascii=False)
        except (ValueError, RecursionError):
            return text

    def encode_arguments(self, arguments: dict[str, Any], taken: re.Pattern[str]) -> dict[str, Any]:
        """``arguments`` of a call with the names of properties that are ``taken`` on the wire."""
        odd = {it: wire for wire, it in self._property.items() if not taken.fullmatch(it)}
        renamed: dict[str, Any] = _renamed(arguments, odd) if odd else arguments
        return renamed


def folded(name: str) -> str:
    """What is left of a name where models mistake its letters and marks for others."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower())


def property_name(name: str) -> str:
    """A name for the wire of a property whose own some provider refuses; no other has it.

    It fits all of their rules, of which the narrowest is Gemini's.
    """
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH_LENGTH]
    words = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[: MAX_LENGTH - _HASH_LENGTH - 3]
    return f"{words if words[:1].isalpha() else f'p_{words}'.strip('_')}_{digest}"


def _renamed(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  any JSON
    if isinstance(value, dict):
        return {names.get(key, key): _renamed(value[key], names) for key in value}
    return [_renamed(each, names) for each in value] if isinstance(value, list) else value


def _sanitise(name: str) -> str:
    wire = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return wire if re.match(r"[A-Za-z_]", wire) else f"_{wire}"


def _hashed(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]
    return f"{_sanitise(name)[: MAX_LENGTH - _HASH_LENGTH - 1]}_{digest}"
