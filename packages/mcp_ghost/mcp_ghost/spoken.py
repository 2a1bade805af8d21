"""Calls of tools that a model wrote into its answer as text, where nobody makes them."""

import re
from collections.abc import Collection

from mcp_ghost.names import folded
from mcp_ghost.results import parsed
from mcp_ghost.tables import patterns

_FENCE = re.compile(r"```[\w-]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[\w.-]+")
_NAMES = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs")
_INNER = ("tool_calls", "tool_call", "function_call", "function", "tool_uses")
# No JSON for a missing bracket or other quotes.
_BROKEN = re.compile(
    rf"\s*\[?\{{\s*[\"'](?:{'|'.join(_NAMES)})[\"']\s*:\s*[\"']([\w.-]+)[\"']\s*,"
    rf"\s*[\"'](?:{'|'.join(_ARGUMENTS)})[\"']\s*:"
)


def is_spoken_call(text: str, tools: Collection[str]) -> bool:
    """Whether ``text`` is a call of one of ``tools``, or begins or ends with one.

    Each tool is known by our name, by any that a wire makes of it, and by its bare name where a
    call has it.
    """
    names = {_plain(tool) for tool in tools}
    if not names or not text.strip():
        return False
    forms = patterns("mcp_ghost", "spoken.toml")
    if mark := forms["mark"].search(text):
        words = _WORD.findall(text, mark.start())
        behind, between = _WORD.finditer(text, mark.end()), forms["between"]
        first = next((it for it in behind if not between.match(text, it.start())), None)
        named = forms["named"].search(text, mark.start())
        placed = [it[it.lastindex or 0] for it in (first, named) if it]
        return any(_is_one(it, names) for it in words) or any(
            _is_one(it, names, bare=True) for it in placed
        )
    if (tags := forms["tags"].search(text)) and _is_one(tags[1], names, bare="_" in tags[1]):
        return True
    fences = [*_FENCE.finditer(text)]
    at_edge = [
        it[1] for it in fences if not text[: it.start()].strip() or not text[it.end() :].strip()
    ]
    start = re.search(r"^\s*\[?\{", text, re.MULTILINE)
    said = [*at_edge, text] + ([text[start.start() :]] if start and not fences else [])
    for each in said:
        if (value := parsed(each)) is not None:
            if _is_form(value, names):
                return True
            continue
        if (broken := _BROKEN.match(each)) and _is_one(broken[1], names, bare=True):
            return True
        is_bare = each is text and "=" in each
        if (python := forms["python"].fullmatch(each)) and _is_one(python[1], names, bare=is_bare):
            return True
    return False


def _is_form(value: object, names: Collection[str]) -> bool:
    """Whether ``value`` is a call in one of the forms that servers and models know, or several."""
    if isinstance(value, list):
        return bool(value) and all(_is_form(each, names) for each in value)
    if not isinstance(value, dict):
        return False
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), "")
    if any(key in value for key in _ARGUMENTS):
        is_bare = any(key in value for key in _ARGUMENTS[:2])  # an answer may well hold the others
        if _is_one(name, names, bare=is_bare):
            return True
    inner = [value[key] for key in _INNER if isinstance(value.get(key), list | dict)]
    return any(_is_form(each, names) for each in inner)


def _is_one(name: str, names: Collection[str], *, bare: bool = False) -> bool:
    plain = _plain(name)
    return any(
        plain == it or plain.endswith(f"_{it}") or (bare and plain and it.endswith(f"_{plain}"))
        for it in names
    )


def _plain(name: str) -> str:
    return folded(re.sub(r"^functions\.|\.call$", "", name.lower()))
