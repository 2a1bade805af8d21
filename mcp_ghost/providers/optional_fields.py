"""Fields that a chat request can do without: models refuse some, and say so in their errors.

No table of models stays right for long, so the refusal itself is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_ghost.errors import LLMStatusError
    from mcp_ghost.results import JSONObject

_REFUSALS = frozenset({400, 404, 422})
_IMAGE_REFUSALS = frozenset({400, 404, 413, 415, 422, 500})
# OpenRouter (404): "support image input"; llama.cpp (500): "image input is not supported";
# DeepSeek: "unknown variant `image_url`, expected `text`"; Groq: "content must be a string";
# and Mistral wants no user after a tool.
_OF_IMAGES = re.compile(
    r"image|mmproj|multimodal|vision|must be a string|role .?user.? after role .?tool", re.I
)
_MENTIONS = {
    # DeepSeek and Groq know no schemas. "Requested parameters" is what OpenRouter calls them when
    # no provider of the model knows any.
    "response_format": re.compile(r"response.?format|json.?schema|requested parameters", re.I),
    "temperature": re.compile(r"temperature", re.I),
    "top_p": re.compile(r"top_p", re.I),
    "top_k": re.compile(r"top_k", re.I),
    "min_p": re.compile(r"min_p", re.I),
}


def refused_fields(payload: JSONObject, error: LLMStatusError) -> frozenset[str]:
    """The fields of ``payload`` that ``error`` complains of and an answer does not need."""
    if error.status not in _REFUSALS:
        return frozenset()
    said = str(error)
    return frozenset(
        field for field, words in _MENTIONS.items() if field in payload and words.search(said)
    )


def refuses_images(error: LLMStatusError) -> bool:
    """Whether ``error``, which answers a request with images, is about these."""
    return error.status in _IMAGE_REFUSALS and _OF_IMAGES.search(str(error)) is not None


def without_fields(payload: JSONObject, fields: Collection[str]) -> JSONObject:
    """``payload`` without ``fields``, and without the demand that a provider must know them."""
    kept = {key: payload[key] for key in payload if key not in fields}
    if "response_format" in fields and "provider" in kept:
        kept["provider"] = {**kept["provider"], "require_parameters": False}
    return kept
