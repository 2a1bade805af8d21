"""Provider drift: replies with fields our decoders do not know, or without ones they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mcp_ghost.golden.file import as_golden
from mcp_ghost.providers.responses import is_response


class Fields(NamedTuple):
    """Names with blanks between: those that an object has to have, and those that it may have."""

    needed: str
    known: str


def provider_drift(golden: Mapping[str, Any]) -> list[str]:
    """One line for each unexpected or missing field in the recorded replies of a known provider."""
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


def _surprises(value: object, fields: Mapping[str, Fields], where: str) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _surprises(item, fields, f"{where}[]")
    elif where in fields and isinstance(value, Mapping):
        dot = f"{where}." if where else ""
        needed, known = (set(names.split()) for names in fields[where])
        yield from (f"{dot}{name} is not known" for name in sorted(value.keys() - needed - known))
        yield from (f"{dot}{name} is missing" for name in sorted(needed - value.keys()))
        for name in value:
            yield from _surprises(value[name], fields, f"{dot}{name}")
    elif value is not None and {where, f"{where}[]"} & fields.keys():
        yield f"{where or 'the reply'} does not have the known form"


FIELDS: Mapping[str, Mapping[str, Fields]] = {
    "openai": {
        "": Fields(
            "choices usage",
            "id object created model service_tier system_fingerprint metadata moderation"
            " provider timings",  # of OpenRouter and llama.cpp
        ),
        "choices[]": Fields("message finish_reason", "index logprobs native_finish_reason"),
        "choices[].message": Fields(
            "",
            "role content refusal annotations audio function_call tool_calls"
            # thinking, as OpenRouter, DeepSeek and llama.cpp return it
            " reasoning reasoning_content reasoning_details",
        ),
        "choices[].message.tool_calls[]": Fields("id function", "type index"),
        "choices[].message.tool_calls[].function": Fields("name arguments", ""),
        "usage": Fields(
            "prompt_tokens completion_tokens",
            "total_tokens prompt_tokens_details completion_tokens_details"
            " cost cost_details is_byok prompt_cache_hit_tokens prompt_cache_miss_tokens",
        ),
    },
    "responses": {
        "": Fields(
            "output usage",
            "id object created_at completed_at model status error incomplete_details instructions"
            " background conversation image input_transformations max_output_tokens"
            " max_tool_calls metadata moderation parallel_tool_calls previous_response_id prompt"
            " prompt_cache_diagnostics prompt_cache_key prompt_cache_options"
            " prompt_cache_retention reasoning safety_identifier service_tier temperature text"
            " tool_choice tool_usage tools top_logprobs top_p truncation user access_programs"
            " billing frequency_penalty presence_penalty store",  # its replies have them, too
        ),
        "output[]": Fields(
            "type",
            "id status role content phase summary encrypted_content call_id name namespace"
            " arguments caller async",
        ),
        "output[].content[]": Fields("type", "text annotations logprobs refusal"),
        "usage": Fields(
            "input_tokens output_tokens",
            "total_tokens input_tokens_details output_tokens_details cost cost_details is_byok",
        ),
    },
    "anthropic": {
        "": Fields(
            "content stop_reason usage",
            "id type role model stop_sequence stop_details container diagnostics"
            " context_management",
        ),
        "content[]": Fields(
            "type",
            "text citations thinking signature data id caller input name toolset_name content"
            " tool_use_id file_id",
        ),
        "usage": Fields(
            "input_tokens output_tokens",
            "cache_creation cache_creation_input_tokens cache_read_input_tokens inference_geo"
            " output_tokens_details server_tool_use service_tier speed",
        ),
    },
    "gemini": {
        "": Fields(
            "candidates usageMetadata",
            "modelVersion responseId createTime promptFeedback modelStatus",
        ),
        "candidates[]": Fields(
            "content finishReason",
            "index finishMessage safetyRatings citationMetadata tokenCount groundingMetadata"
            " avgLogprobs logprobsResult urlContextMetadata continuationToken",
        ),
        "candidates[].content": Fields("parts", "role"),
        "candidates[].content.parts[]": Fields(
            "",
            "text thought thoughtSignature functionCall mediaResolution codeExecutionResult"
            " executableCode fileData functionResponse inlineData videoMetadata toolCall"
            " toolResponse partMetadata audioTranscription mediaProcessing speechMetadata"
            " documentMetadata spreadsheetMetadata audioMetadata",
        ),
        "candidates[].content.parts[].functionCall": Fields(
            "name", "id args partialArgs willContinue"
        ),
        "usageMetadata": Fields(
            "promptTokenCount",
            "candidatesTokenCount totalTokenCount cachedContentTokenCount thoughtsTokenCount"
            " toolUsePromptTokenCount cacheTokensDetails candidatesTokensDetails"
            " promptTokensDetails toolUsePromptTokensDetails trafficType serviceTier",
        ),
    },
}
