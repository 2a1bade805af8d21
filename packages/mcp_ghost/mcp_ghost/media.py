"""Images and sounds in what tools return: whole for the caller, attached or in words for the model.

A block is one of MCP's: ``{"type": "image" or "audio", "data": BASE64, "mimeType": ...}``.
"""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

Block: TypeAlias = Mapping[str, Any]

TOKENS_OF_IMAGE = 1_500
"""What providers count for one, about; they make large ones smaller."""
MAX_IMAGE = 5 * 2**20
"""Characters of base64: the least that a provider allows for one image (Anthropic)."""
_MAX_IMAGES = 20
"""In one run: with more in a request, Anthropic takes only small ones."""
_MAX_ALL = 15 * 2**20
"""Characters of base64 in one run; whole requests may have 20 MB (Gemini)."""
_BEGINNINGS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_CUT_OFF = "[An image that was here is left out: this model takes none.]"


def is_media(value: object) -> TypeGuard[Block]:
    """Whether ``value`` is a block."""
    return (
        isinstance(value, Mapping)
        and value.get("type") in ("image", "audio")
        and isinstance(value.get("data"), str)
        and isinstance(value.get("mimeType"), str)
    )


def media_in(content: object) -> list[Block]:
    """The blocks of a result's content."""
    return [it for it in (content if isinstance(content, list) else [content]) if is_media(it)]


def in_words(content: Any, notes: Sequence[str] = ()) -> Any:  # noqa: ANN401  any JSON
    """``content`` with type and size in place of each block, and with its note if there is one."""
    if is_media(content):
        note = {"note": notes[0]} if notes else {}
        size = f"{len(content['data']) * 3 // 4} bytes"
        return {"type": content["type"], "mimeType": content["mimeType"], "size": size, **note}
    if not isinstance(content, list):
        return content
    left = [*notes]
    return [in_words(it, [left.pop(0)] if left else ()) if is_media(it) else it for it in content]


class Gallery:
    """Decides which images of one run are attached for the model; ``is_open`` False: none."""

    def __init__(self, *, is_open: bool = True) -> None:
        self._is_open = is_open
        self._images = 0
        self._size = 0

    def attach(
        self, content: object, has_room: Callable[[int], bool]
    ) -> tuple[list[str], list[dict[str, Any]]]:
        """A note on each block in ``content``, and those attached, as parts of a neutral message.

        ``has_room`` is asked for the tokens of each image that could be.
        """
        notes: list[str] = []
        parts: list[dict[str, Any]] = []
        for block in media_in(content):
            data, kind = block["data"], _type_of(block["data"])
            if block["type"] != "image":
                note = "not attached: sounds are not passed on"
            elif not self._is_open:
                note = "not attached: images are switched off"
            elif kind is None:
                note = "not attached: only PNG, JPEG and WebP are attached"
            elif len(data) > MAX_IMAGE:
                note = "not attached: it is larger than models accept"
            elif self._images >= _MAX_IMAGES or self._size + len(data) > _MAX_ALL:
                note = "not attached: no more images can be attached"
            elif not has_room(TOKENS_OF_IMAGE):
                note = "not attached: this turn's results have become too long"
            else:
                note = "attached"
                self._images += 1
                self._size += len(data)
                url = f"data:{kind};base64,{data}"
                parts.append({"type": "image_url", "image_url": {"url": url}})
            notes.append(note)
        return notes, parts


def without_images(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``messages`` with a note in place of each image."""
    note = {"type": "text", "text": _CUT_OFF}
    return [
        {**message, "content": [note if _is_image(part) else part for part in message["content"]]}
        if isinstance(message.get("content"), list)
        else {**message}
        for message in messages
    ]


def has_images(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any of ``messages`` shows one."""
    contents = (message.get("content") for message in messages)
    return any(any(map(_is_image, it)) for it in contents if isinstance(it, list))


def _is_image(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "image_url"


def _type_of(data: str) -> str | None:
    """What ``data`` is the base64 of, by its first bytes: servers are wrong about types."""
    try:
        start = base64.b64decode(data[:16])  # 12 bytes
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return None
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for kind, it in _BEGINNINGS.items() if start.startswith(it)), None)
