"""What the strict model servers refuse of images, as the providers do."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from mcp_ghost.testing import anthropic as refusals_anthropic
from mcp_ghost.testing import gemini as refusals_gemini
from mcp_ghost.testing import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

Fault: TypeAlias = "Callable[[str, str], str | None]"
"""(type, base64) -> why a request with such an image is refused"""
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
LARGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(4 * 2**20)).decode()


def openai(kind: str, data: str, role: str = "user") -> str | None:
    parts = [{"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}]
    return refusals.refusal({"model": "m", "messages": [{"role": role, "content": parts}]})


def anthropic(kind: str, data: str, **result: Any) -> str | None:  # noqa: ANN401  any JSON
    image = {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": [image], **result}
    use = {"type": "tool_use", "id": "c", "name": "t", "input": {}}
    turns = [("user", [{"type": "text", "text": "?"}]), ("assistant", [use]), ("user", [answer])]
    body = {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": role, "content": content} for role, content in turns],
        "tools": [{"name": "t", "input_schema": {"type": "object"}}],
    }
    return refusals_anthropic.refusal(body, {"anthropic-version": "2023-06-01"})


def gemini(kind: str, data: str) -> str | None:
    part = {"inlineData": {"mimeType": kind, "data": data}}
    return refusals_gemini.refusal({"contents": [{"parts": [part]}]}, "gemini-2.5-flash", {})


def gemini_response(kind: str, data: str, model: str = "gemini-3.5-flash") -> str | None:
    part = {"inlineData": {"mimeType": kind, "data": data}}
    call = {"functionCall": {"name": "t"}, "thoughtSignature": "skip_thought_signature_validator"}
    response = {"functionResponse": {"name": "t", "response": {"output": "x"}, "parts": [part]}}
    turns = [("user", {"text": "?"}), ("model", call), ("user", response)]
    contents = [{"role": role, "parts": [part]} for role, part in turns]
    return refusals_gemini.refusal({"contents": contents}, model, {})


@pytest.mark.parametrize("refusal", [openai, anthropic, gemini, gemini_response])
@pytest.mark.parametrize(
    ("kind", "data", "why"),
    [
        ("image/png", PNG, None),
        ("image/webp", base64.b64encode(b"RIFF....WEBP").decode(), None),
        ("image/tiff", PNG, "unsupported image type image/tiff"),
        ("image/png", "%%%", "invalid base64"),
        ("image/jpeg", PNG, "does not look like image/jpeg"),
        ("image/png", LARGE, "exceeds 5 MB"),
    ],
)
def test_an_image_must_be_what_it_says_and_small(
    refusal: Fault, kind: str, data: str, why: str | None
) -> None:
    said = refusal(kind, data)
    assert said is None if why is None else why in (said or "accepted")


def test_openai_takes_images_from_users_only() -> None:
    assert "only allowed for messages with role 'user'" in (
        openai("image/png", PNG, "system") or ""
    )


def test_anthropic_takes_no_image_in_an_error() -> None:
    assert "must be type `text`" in (anthropic("image/png", PNG, is_error=True) or "")


def test_older_geminis_take_no_image_in_a_response() -> None:
    said = gemini_response("image/png", PNG, "gemini-2.5-flash")
    assert "responses are not supported" in (said or "")
