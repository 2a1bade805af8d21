"""What rules cannot see, judged by the model: whether each sentence follows from the page.

Swapped roles, negations and opposites have all their words on the page. The model names for each
sentence the words of the page that decide about it; they are looked for, so that it cannot make
them up.
"""

import asyncio
from dataclasses import replace

from mcp_ghost.messages import Message
from mcp_ghost.providers.client import ProviderClient
from mcp_ghost.providers.schema import response_format
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
_FORMAT = response_format("verdicts", object_schema(verdicts=list_schema(_VERDICT)))


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
            messages, response_format=_FORMAT, max_tokens=1_000 + _TOKENS_A_SENTENCE * len(asked)
        )
        answer = json_object(response.content or "", "verdicts") or {}
        listed = answer.get("verdicts")
        verdicts: dict[int, tuple[str, str]] = {
            it["number"]: (it["verdict"], str(it.get("span") or "").strip())
            for it in (listed if isinstance(listed, list) else [])
            if isinstance(it, dict)
            and type(it.get("number")) is int
            and it.get("verdict") in _VERDICTS
        }
        if missing := [it for it in range(1, len(asked) + 1) if it not in verdicts]:
            listed = ", ".join(map(str, missing[:50]))
            messages += prompts.sent_back(response, prompts.JUDGE_AGAIN.format(listed))
            continue
        return await asyncio.to_thread(_faults, asked, verdicts, evidence)
    raise ScriptError(
        f"The model {client.model} did not say of every sentence whether the page supports it. "
        "Try another model, or set check: rules."
    )


def _faults(
    asked: list[Fault], verdicts: dict[int, tuple[str, str]], evidence: Evidence
) -> list[Fault]:
    """Those of ``asked`` that cannot stay, with the reason."""
    faults = []
    for number, it in enumerate(asked, start=1):
        verdict, span = verdicts[number]
        stands = len(span) >= _SHORTEST and evidence.has(span)
        if verdict == "no statement" or (verdict == "supported" and stands):
            continue
        reason = "the page does not say that"
        if verdict == "contradicted" and stands:
            reason = f"the page says otherwise: “{span}”"
        faults.append(replace(it, reasons=(reason,)))
    return faults
