"""What must not enter a file: secrets become ``***``, paths of this machine ``{path:NAME}``.

Nor do images and sounds: a fingerprint and the size stand for them.

The names are those of :func:`places`. Reading a golden puts the paths of the reading machine in
their place.
"""

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcp_ghost.config.variables import variables_in, without_variables
from mcp_ghost.redact import MASK, Redactor, names_a_secret
from mcp_ghost.results import each_text, parsed

_ONLY_PLACES = re.compile(r"(?:\{path:\w+\}[\w./-]*[:;]?)+")
_SAYS_NOTHING = frozenset(
    {"", "0", "1", "true", "false", "yes", "no", "on", "off", "basic", "bearer", "token"}
)
"""Values of variables and headers that are shown, beside references and places."""
_SECRET_FIELD = re.compile(
    r"(?:x-)?(?:goog-)?api[_-]?key|authorization|passw(?:or)?d|(?:access|auth|refresh)[_-]?token"
    r"|(?:client[_-]?)?secret|private[_-]?key|cookie",
    re.IGNORECASE,
)
_TYPE_FIELDS = frozenset({"mimeType", "media_type"})
"""Beside ``data``, they say that it is an image or a sound."""
_DATA_URL = re.compile(r"(data:[\w.+-]+/[\w.+-]+;base64,)([A-Za-z0-9+/=]+)")
_IN_QUERY = re.compile(r"([?&;]([\w-]+)=)[^&;#\s\"'<>]+")


def places(golden: Path | None) -> dict[str, str]:
    """The folders that differ between machines, by name, the innermost first.

    ``tests`` is the folder of that name around the golden, ``root`` the one that it lies in.
    """
    start = (golden.absolute() if golden else Path.cwd() / "golden").parent
    tests = next((at for at in (start, *start.parents) if at.name == "tests"), start)
    found = {
        "python": sys.executable,
        "tests": str(tests),
        "root": str(tests.parent),
        "here": str(Path.cwd()),
        "tmp": tempfile.gettempdir(),
        "home": str(Path.home()),
    }
    usable = {name: path for name, path in found.items() if len(path) > 1}
    return dict(sorted(usable.items(), key=lambda item: -len(item[1])))


class Scrubber:
    """Hides secrets and paths in JSON values, and shows the paths again."""

    def __init__(self, secrets: Iterable[str], paths: Mapping[str, str]) -> None:
        self._redactor = Redactor(secrets)
        self._paths = paths
        self._of_path: dict[str, str] = {}
        for name, path in paths.items():
            self._of_path.setdefault(path, f"{{path:{name}}}")
        alternatives = "|".join(re.escape(path) for path in self._of_path)
        # Only whole folders: neither /home/me2 nor http://host/tmp is one of ours.
        self._path = re.compile(rf"(?<![\w.~-])(?:{alternatives})(?![\w-])")

    def hide(self, value: Any) -> Any:  # noqa: ANN401  any JSON
        """A copy of ``value`` that may be published."""
        if isinstance(value, str):
            return self._hide_text(value)
        if isinstance(value, list | tuple):
            return [self.hide(item) for item in value]
        if isinstance(value, Mapping):
            if isinstance(value.get("data"), str) and value.keys() & _TYPE_FIELDS:
                value = {**value, "data": _fingerprint(value["data"])}
            return {
                self._hide_text(str(key)): MASK
                if isinstance(it, str) and it and _SECRET_FIELD.fullmatch(str(key))
                else self.hide(it)
                for key, it in value.items()
            }
        return value

    def show(self, value: Any) -> Any:  # noqa: ANN401  any JSON
        """A copy of ``value`` with the paths of this machine."""
        return each_text(
            value,
            lambda text: re.sub(r"\{path:(\w+)\}", lambda it: self._paths.get(it[1], it[0]), text),
        )

    def servers(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """``{"mcpServers": ...}`` without the values of variables and headers."""
        hidden: dict[str, Any] = {}
        for name, given in config["mcpServers"].items():
            entry = dict(given)
            kept = {key: entry.pop(key) for key in ("env", "headers") if key in entry}
            for field, values in kept.items():
                # References and places stay: they say nothing, and a replay needs them.
                shown = {key: self._hide_paths(it) for key, it in (values or {}).items()}
                masked = {key: it if _is_harmless(it) else MASK for key, it in shown.items()}
                kept[field] = masked or values
            if entry.get("args"):
                entry["args"] = [*_without_secret_flags(entry["args"])]
            hidden[name] = {**self.hide(entry), **kept}
        return {"mcpServers": hidden}

    def _hide_text(self, text: str) -> str:
        if text.lstrip()[:1] in ("{", "[") and (value := parsed(text)) is not None:
            # Replacing inside JSON could leave something that is not JSON.
            hidden = self.hide(value)
            return text if hidden == value else json.dumps(hidden, ensure_ascii=False)
        text = _DATA_URL.sub(lambda it: it[1] + _fingerprint(it[2]), text)
        return _IN_QUERY.sub(_parameter, self._redactor.strictly(self._hide_paths(text)))

    def _hide_paths(self, text: str) -> str:
        return self._path.sub(lambda match: self._of_path[match[0]], text)


def _fingerprint(data: str) -> str:
    """What stands for an image or a sound: enough to see whether it is the same."""
    if data.startswith("{sha256:"):
        return data
    digest = hashlib.sha256(data.encode()).hexdigest()[:16]
    return f"{{sha256:{digest}, {len(data) * 3 // 4} bytes}}"


def same(recorded: object, now: object) -> bool:
    """Equal, where filtered-out parts may stand for anything."""
    if isinstance(recorded, Mapping) and isinstance(now, Mapping):
        return recorded.keys() == now.keys() and all(same(recorded[it], now[it]) for it in now)
    if isinstance(recorded, list) and isinstance(now, list):
        return len(recorded) == len(now) and all(map(same, recorded, now))
    if isinstance(recorded, str) and isinstance(now, str) and MASK in recorded:
        pattern = ".*".join(re.escape(part) for part in recorded.split(MASK))
        return re.fullmatch(pattern, now, re.DOTALL) is not None
    return recorded == now


def usable_at_replay(servers: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """The configuration without variables, headers and files that this machine does not have."""

    def known(value: str) -> bool:
        names = [name for name, default in variables_in(value) if default is None]
        return MASK not in value and all(name in environ for name in names)

    entries = {name: dict(entry) for name, entry in servers["mcpServers"].items()}
    for entry in entries.values():
        if not Path(entry.get("env_file") or "").is_file():
            entry.pop("env_file", None)
        for field in ("env", "headers"):
            if entry.get(field):
                entry[field] = {key: it for key, it in entry[field].items() if known(it)}
    return {"mcpServers": entries}


def _is_harmless(value: str) -> bool:
    rest = without_variables(value).strip()
    return rest.lower() in _SAYS_NOTHING or _ONLY_PLACES.fullmatch(rest) is not None


def _parameter(found: re.Match[str]) -> str:
    is_secret = names_a_secret(found[2]) or found[2].lower() in ("sig", "code")
    return found[1] + MASK if is_secret else found[0]


def _without_secret_flags(arguments: Iterable[str]) -> Iterator[str]:
    """``--token X`` and ``--token=X`` without X, unless that is a reference."""
    for before, argument in pairwise(["", *arguments]):
        flag, _, value = argument.partition("=")
        is_value = _is_secret_flag(before.removesuffix("=")) and not argument.startswith("-")
        if is_value and not _is_harmless(argument):
            yield MASK
        elif _is_secret_flag(flag) and not _is_harmless(value):
            yield f"{flag}={MASK}"
        else:
            yield argument


def _is_secret_flag(argument: str) -> bool:
    return re.fullmatch(r"--?[\w-]+", argument) is not None and names_a_secret(argument)
