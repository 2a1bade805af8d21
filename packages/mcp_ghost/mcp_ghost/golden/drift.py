"""Provider drift: replies with fields our decoders do not know, or without ones they need."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_ghost.golden.file import as_golden
from mcp_ghost.providers.responses import is_response

FIELDS: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.loads(
    Path(__file__).with_name("reply_fields.json").read_text(encoding="utf-8")
)
"""By wire and place: the names that an object there has to have (needed), and those it may have."""


def provider_drift(golden: Mapping[str, Any]) -> list[str]:
    """List each unexpected or missing field in the recorded replies of a known provider."""
    golden = as_golden(golden)
    provider = str(golden.get("input", {}).get("provider", "")).strip().lower()
    replies = [
        entry.get("response")
        for entry in golden.get("provider_responses") or ()
        if 200 <= entry.get("status", 200) < 300 and not entry.get("error")
    ]
    found: list[str] = []
    for reply in replies:
        on_responses = isinstance(reply, Mapping) and is_response(reply)
        found += _surprises(reply, FIELDS.get("responses" if on_responses else provider, {}), "")
    return [f"provider drift: {line}" for line in dict.fromkeys(found)]


def _surprises(
    value: object, fields: Mapping[str, Mapping[str, list[str]]], where: str
) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _surprises(item, fields, f"{where}[]")
    elif where in fields and isinstance(value, Mapping):
        dot = f"{where}." if where else ""
        needed = set(fields[where].get("needed", ()))
        known = {name for names in fields[where].values() for name in names}
        yield from (f"{dot}{name} is not known" for name in sorted(value.keys() - known))
        yield from (f"{dot}{name} is missing" for name in sorted(needed - value.keys()))
        for name in value:
            yield from _surprises(value[name], fields, f"{dot}{name}")
    elif value is not None and {where, f"{where}[]"} & fields.keys():
        yield f"{where or 'the reply'} does not have the known form"
