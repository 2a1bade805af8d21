"""The strict model servers refuse what the providers refuse; each rule is a row with its source."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.testing import anthropic as refusals_anthropic
from mcp_ghost.testing import gemini as refusals_gemini
from mcp_ghost.testing import refusals
from mcp_ghost.testing import responses as responses_server
from tests.support.refused import anthropic, gemini, openai, responses

if TYPE_CHECKING:
    from mcp_ghost.testing.refusals import ServerDialect
    from mcp_ghost.testing.rules import Rule

VERSION = {"anthropic-version": "2023-06-01"}
TABLES = {
    "openai": refusals.RULES,
    "responses": responses_server.RULES,
    "anthropic": refusals_anthropic.RULES,
    "gemini": refusals_gemini.RULES,
}
ROWS = [(provider, rule) for provider, rules in TABLES.items() for rule in rules]
"""Some hundred rows, as those below: a test goes through all, and names those that are wrong."""


def refused(provider: str, body: object, which: str) -> str:
    """Why; ``which`` is OpenAI's dialect or Gemini's model."""
    if provider == "anthropic":
        why = refusals_anthropic.refusal(body, VERSION)
    elif provider == "responses":
        why = responses_server.refusal(body)
    elif provider == "gemini":
        why = refusals_gemini.refusal(body, which, {})
    else:
        why = refusals.refusal(body, which)  # type: ignore[arg-type]  # a dialect
    return why or "accepted"


CASES: list[tuple[str, Any, str, str]] = [
    *(("openai", body, "generic", why) for body, why in openai.REFUSED),
    *(("openai", body, dialect, why) for dialect, body, why in openai.REFUSED_BY),
    *(("responses", body, "", why) for body, why in responses.REFUSED),
    *(("anthropic", body, "", why) for body, why in anthropic.REFUSED),
    *(("gemini", body, gemini.NEW, why) for body, why in gemini.REFUSED),
]


def test_what_a_provider_refuses_is_refused() -> None:
    said = [(why, refused(provider, body, which)) for provider, body, which, why in CASES]
    assert [(why, it) for why, it in said if why not in it] == []


@pytest.mark.parametrize(
    ("provider", "body", "which"),
    [
        *(
            ("openai", body, dialect)
            for body in openai.ACCEPTED
            for dialect in ("generic", "openai", "openrouter")
        ),
        *(("responses", body, "") for body in responses.ACCEPTED),
        *(("anthropic", body, "") for body in anthropic.ACCEPTED),
        *(("gemini", body, model) for body, model in gemini.ACCEPTED),
    ],
)
def test_what_is_right_is_accepted(provider: str, body: dict[str, Any], which: str) -> None:
    assert refused(provider, body, which) == "accepted"


@pytest.mark.parametrize(("dialect", "body", "why"), openai.REFUSED_BY)
def test_what_one_provider_refuses_is_refused_there_only(
    dialect: ServerDialect, body: dict[str, Any], why: str
) -> None:
    other = "openai" if dialect == "openrouter" else "openrouter"
    assert why not in refused("openai", body, other)


def test_a_request_to_anthropic_without_a_version_is_refused() -> None:
    assert "anthropic-version" in (refusals_anthropic.refusal(anthropic.body(), {}) or "accepted")


def test_a_stream_of_gemini_is_asked_for_as_events() -> None:
    where = {":path": "/v1beta/models/gemini-3.5-flash:streamGenerateContent"}
    assert "alt=sse" in (refusals_gemini.refusal(gemini.body(), gemini.NEW, where) or "")


def test_a_key_in_the_address_is_refused() -> None:
    headers = {":path": "/v1beta/models/m:generateContent?key=abc"}
    said = refusals_gemini.refusal(gemini.body(), gemini.NEW, headers)
    assert "x-goog-api-key" in (said or "accepted")


def test_a_tool_that_was_right_is_no_message() -> None:
    assert refused("openai", openai.body(tools=[openai.TOOL]), "generic") == "accepted"
    assert "role" in refused("openai", openai.body(openai.TOOL), "generic")


def test_older_geminis_take_no_schema_beside_tools() -> None:
    constrained = gemini.body(**gemini.declared(), generationConfig=gemini.JSON)
    assert "mime type" in refused("gemini", constrained, gemini.OLD)
    assert refused("gemini", constrained, gemini.NEW) == "accepted"


def first_broken(provider: str, body: object, which: str) -> Rule | None:
    if provider == "gemini" and isinstance(body, dict):
        body = {"model": which, **body}
    held = (it for it in TABLES[provider] if not it.dialects or which in it.dialects)
    return next((rule for rule in held if next(rule.objections(body), None)), None)


def test_a_request_of_the_tables_in_support_breaks_each_rule() -> None:
    broken = {id(first_broken(provider, body, which)) for provider, body, which, _ in CASES}
    assert [(provider, rule.says) for provider, rule in ROWS if id(rule) not in broken] == []


@pytest.mark.parametrize(
    "source", sorted({rule.source for _, rule in ROWS if not rule.source.startswith("https://")})
)
def test_each_rule_names_a_page_or_a_type_that_exists(source: str) -> None:
    name, rest = source, list[str]()
    while True:
        try:
            value: Any = importlib.import_module(name)
            break
        except ModuleNotFoundError:
            name, _, last = name.rpartition(".")
            rest.insert(0, last)
    for each in rest:
        fields = getattr(value, "model_fields", None) or getattr(value, "__annotations__", {})
        value = getattr(value, each, None) or fields[each]
    assert value is not None


@pytest.mark.parametrize("provider", TABLES)
def test_no_field_that_the_sdk_has_is_refused_as_unknown(provider: str) -> None:
    """Gemini's types also have the fields of Vertex AI, which its own address refuses."""
    table = Path(refusals.__file__).with_name(f"refusals_{provider}.json")
    for row, rule in zip(json.loads(table.read_text()), TABLES[provider], strict=True):
        name, _, last = rule.source.rpartition(".")
        if "fields" in row and name.startswith(("openai.", "anthropic.")):
            type_ = getattr(importlib.import_module(name), last)
            assert set(type_.__annotations__) <= set(row["fields"]), rule.source
