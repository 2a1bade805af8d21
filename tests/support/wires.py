"""The wires that tests go through: those of the providers, of which OpenAI has two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_ghost.providers.client import ProviderClient, get_llm_client
from mcp_ghost.providers.registry import get_provider

if TYPE_CHECKING:
    from mcp_ghost.providers.common import Provider
    from mcp_ghost.testing.wires import WireName

WIRES: tuple[WireName, ...] = ("openai", "responses", "anthropic", "gemini")


def name_of(wire: str) -> str:
    """The name of the provider that speaks it."""
    return "openai" if wire == "responses" else wire


def provider_of(wire: str) -> Provider:
    """The provider that speaks it."""
    return get_provider(name_of(wire))


def chosen(wire: str) -> dict[str, Any]:
    """The option that chooses it."""
    return {"openai": {"wire": "chat"}, "responses": {"wire": "responses"}}.get(wire, {})


def spoken(wire: str) -> dict[str, Any]:
    """The arguments of ``mcp_ghost()`` that choose it."""
    return {"provider": name_of(wire), **chosen(wire)}


def wire_flags(wire: str) -> list[str]:
    """The flags of the command line that choose it."""
    return [part for key, value in spoken(wire).items() for part in (f"--{key}", value)]


def llm_client(wire: str, *arguments: Any, **options: Any) -> ProviderClient:  # noqa: ANN401
    """A client that speaks it."""
    return get_llm_client(name_of(wire), *arguments, **{**chosen(wire), **options})
