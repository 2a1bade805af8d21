"""What rules cannot see, judged by the model: whether each sentence follows from the page.

Swapped roles, negations and opposites have all their words on the page. The model names for each
sentence the words of the page that decide about it; they are looked for, so that it cannot make
them up.
"""

import asyncio
from dataclasses import replace
from typing import Any

from mcp_ghost.messages import Message
from mcp_ghost.providers.client import ProviderClient
from movie_generator import prompts
from movie_generator.answers import json_object, list_schema, object_schema
from movie_generator.errors import ScriptError
from movie_generator.grounding.check import Fault
from movie_generator.grounding.evidence import Evidence
from movie_generator.models import VideoScript
from movie_generator.pages.page import Page
from movie_generator.speech import sentences

_VERDICTS = ("supported", "contradicted", "absent", "no statement")
_SHORTEST = 8
"""Characters that a span needs in order to show anything."""
_TOKENS_A_SENTENCE = 150
_VERDICT = object_schema(
    number={"type": "integer"},
    span={"type": "string"},
    verdict={"type": "string", "enum": [*_VERDICTS]},
)
_SCHEMA = {
    "name": "verdicts",
    "strict": True,
    "schema": object_schema(verdicts=list_schema(_VERDICT)),
}


async def judged(
    client: ProviderClient, script: VideoScript, page: Page, evidence: Evidence
) -> list[Fault]:
    """The sentences of ``script`` that the page contradicts, or does not say.

    Raises:
        ScriptError: The model gave no verdict on them, not even when asked again.
        LLMError: The model could not be asked.
    """
    asked = [
        Fault(number, place, index, text.strip())
        for number, place, narration in script.narrations()
        for index, text in enumerate(sentences(narration.text))
    ]
    messages: list[Message] = [
        {"role": "system", "content": prompts.JUDGE},
        {"role": "user", "content": prompts.judging_task(page, [it.text for it in asked])},
    ]
    for _ in range(2):
        response = await client.complete(
            messages,
            response_format={"type": "json_schema", "json_schema": _SCHEMA},
            max_tokens=1_000 + _TOKENS_A_SENTENCE * len(asked),
        )
        verdicts = _verdicts(json_object(response.content or "", "verdicts"))
        if missing := [it for it in range(1, len(asked) + 1) if it not in verdicts]:
            messages += prompts.sent_back(response, prompts.judge_again(missing))
            continue
        return await asyncio.to_thread(_faults, asked, verdicts, evidence)
    raise ScriptError(
        f"The model {client.model} did not say of every sentence whether the page supports it. "
        "Try another model, or set check: rules."
    )


def _faults(
    asked: list[Fault], verdicts: dict[int, tuple[str, str]], evidence: Evidence
) -> list[Fault]:
    reasons = [_reason(*verdicts[number], evidence) for number in range(1, len(asked) + 1)]
    return [
        replace(it, reasons=(reason,)) for it, reason in zip(asked, reasons, strict=True) if reason
    ]


def _verdicts(answer: dict[str, Any] | None) -> dict[int, tuple[str, str]]:
    """The verdict on each sentence, by its number, and the words of the page that decide."""
    listed = answer.get("verdicts") if answer else None
    return {
        it["number"]: (it["verdict"], str(it.get("span") or ""))
        for it in (listed if isinstance(listed, list) else [])
        if isinstance(it, dict) and type(it.get("number")) is int and it.get("verdict") in _VERDICTS
    }


def _reason(verdict: str, span: str, evidence: Evidence) -> str:
    """Why a sentence cannot stay; empty if it can."""
    if verdict == "no statement":
        return ""
    stands = len(span.strip()) >= _SHORTEST and evidence.has(span)
    if verdict == "contradicted" and stands:
        return f"the page says otherwise: “{span.strip()}”"
    if verdict == "supported" and stands:
        return ""
    return "the page does not say that"
