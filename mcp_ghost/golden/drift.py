"""Provider drift: replies with fields our decoders do not know, or without ones they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_ghost.golden.file import as_golden


@dataclass(frozen=True)
class Shape:
    """The fields of one object of a reply."""

    known: frozenset[str]
    needed: frozenset[str]
    parts: Mapping[str, Shape]
    """Fields that are objects, or lists of them, worth a look inside."""


def provider_drift(golden: Mapping[str, Any]) -> list[str]:
    """One line for each surprise in the recorded replies; none for a provider of the user's own."""
    golden = as_golden(golden)
    shape = SHAPES.get(str(golden.get("input", {}).get("provider", "")).strip().lower())
    replies = [
        entry.get("response")
        for entry in golden.get("provider_responses") or ()
        if 200 <= entry.get("status", 200) < 300 and not entry.get("error")
    ]
    found = (line for reply in replies for line in _surprises(reply, shape, "")) if shape else ()
    return [f"provider drift: {line}" for line in dict.fromkeys(found)]


def _surprises(value: object, shape: Shape, where: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _surprises(item, shape, f"{where}[]")
        return
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield f"{where or 'the reply'} is not a JSON object"
        return
    dot = f"{where}." if where else ""
    for name in sorted(value.keys() - shape.known):
        yield f"{dot}{name} is not known"
    for name in sorted(shape.needed - value.keys()):
        yield f"{dot}{name} is missing"
    for name, part in shape.parts.items():
        yield from _surprises(value.get(name), part, f"{dot}{name}")


def _shape(needed: str, known: str = "", **parts: Shape) -> Shape:
    """From names with blanks between."""
    required = frozenset(needed.split())
    return Shape(required | set(known.split()) | parts.keys(), required, parts)


_OPENAI_CALL = _shape("id function", "type index", function=_shape("name arguments"))
_OPENAI_MESSAGE = _shape(
    "",
    "role content refusal annotations audio function_call"
    # thinking, as OpenRouter, DeepSeek and llama.cpp return it
    " reasoning reasoning_content reasoning_details",
    tool_calls=_OPENAI_CALL,
)
_OPENAI_USAGE = _shape(
    "prompt_tokens completion_tokens",
    "total_tokens prompt_tokens_details completion_tokens_details"
    " cost cost_details is_byok prompt_cache_hit_tokens prompt_cache_miss_tokens",
)
_ANTHROPIC_BLOCK = _shape(
    "type",
    "text citations thinking signature data id caller input name toolset_name content tool_use_id"
    " file_id",
)
_ANTHROPIC_USAGE = _shape(
    "input_tokens output_tokens",
    "cache_creation cache_creation_input_tokens cache_read_input_tokens inference_geo"
    " output_tokens_details server_tool_use service_tier speed",
)
_GEMINI_PART = _shape(
    "",
    "text thought thoughtSignature mediaResolution codeExecutionResult executableCode fileData"
    " functionResponse inlineData videoMetadata toolCall toolResponse partMetadata"
    " audioTranscription mediaProcessing speechMetadata documentMetadata spreadsheetMetadata"
    " audioMetadata",
    functionCall=_shape("name", "id args partialArgs willContinue"),
)
_GEMINI_USAGE = _shape(
    "promptTokenCount",
    "candidatesTokenCount totalTokenCount cachedContentTokenCount thoughtsTokenCount"
    " toolUsePromptTokenCount cacheTokensDetails candidatesTokensDetails promptTokensDetails"
    " toolUsePromptTokensDetails trafficType serviceTier",
)

SHAPES: Mapping[str, Shape] = {
    "openai": _shape(
        "choices usage",
        "id object created model service_tier system_fingerprint metadata moderation"
        " provider timings",  # of OpenRouter and llama.cpp
        choices=_shape(
            "message finish_reason",
            "index logprobs native_finish_reason",
            message=_OPENAI_MESSAGE,
        ),
        usage=_OPENAI_USAGE,
    ),
    "anthropic": _shape(
        "content stop_reason usage",
        "id type role model stop_sequence stop_details container diagnostics context_management",
        content=_ANTHROPIC_BLOCK,
        usage=_ANTHROPIC_USAGE,
    ),
    "gemini": _shape(
        "candidates usageMetadata",
        "modelVersion responseId createTime promptFeedback modelStatus",
        candidates=_shape(
            "content finishReason",
            "index finishMessage safetyRatings citationMetadata tokenCount groundingMetadata"
            " avgLogprobs logprobsResult urlContextMetadata continuationToken",
            content=_shape("parts", "role", parts=_GEMINI_PART),
        ),
        usageMetadata=_GEMINI_USAGE,
    ),
}
