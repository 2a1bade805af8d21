"""The formats that the model server speaks; scripts see and say OpenAI's in every one."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from mcp_ghost.refusals import ServerDialect, refusal

Json: TypeAlias = dict[str, Any]
WireName: TypeAlias = Literal["openai", "anthropic", "gemini"]


class Wire(Protocol):
    """One provider's format, seen from the server's side."""

    base_path: str
    """What a base URL ends in."""

    def serves(self, path: str) -> bool:
        """Whether ``path``, without its query, is where completions are asked for."""

    def refusal(self, body: object, headers: dict[str, str]) -> str | None:
        """Why the provider would refuse this, or None."""

    def read(self, body: Json, headers: dict[str, str]) -> Json:
        """The request in OpenAI's shape."""

    def write(self, completion: Json) -> Json:
        """A completion of OpenAI's in the shape of this provider."""

    def error(self, status: int, message: str) -> Json:
        """The body of a failure."""


class OpenAIWire:
    """OpenAI's chat completions, in one of their dialects."""

    base_path = "/v1"

    def __init__(self, dialect: ServerDialect) -> None:
        self._dialect: ServerDialect = dialect

    def serves(self, path: str) -> bool:
        """See :class:`Wire`."""
        return path.endswith("/chat/completions")

    def refusal(self, body: object, _headers: dict[str, str]) -> str | None:
        """See :class:`Wire`."""
        return refusal(body, self._dialect)

    def read(self, body: Json, _headers: dict[str, str]) -> Json:
        """See :class:`Wire`."""
        return body

    def write(self, completion: Json) -> Json:
        """See :class:`Wire`."""
        return completion

    def error(self, status: int, message: str) -> Json:
        """See :class:`Wire`."""
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def wire_called(name: WireName, dialect: ServerDialect) -> Wire:
    """The wire of that name; only OpenAI's has dialects."""
    from mcp_ghost.testing.anthropic import AnthropicWire
    from mcp_ghost.testing.gemini import GeminiWire

    if name == "openai":
        return OpenAIWire(dialect)
    return AnthropicWire() if name == "anthropic" else GeminiWire()
