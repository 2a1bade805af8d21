"""What a run needs, made from its settings: imported late, for it accounts for most of the time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp_ghost.config import load_servers
from mcp_ghost.messages import Message
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.run.conversation import Conversation
from mcp_ghost.toolsets.server import Leaf, Server

if TYPE_CHECKING:
    from mcp_ghost.run.settings import Settings


def conversation_of(
    settings: Settings,
    messages: Sequence[Message] = (),
    make_server: Callable[..., Leaf] | None = None,
) -> Conversation:
    """The conversation that ``settings`` ask for, which goes on from ``messages``.

    ``make_server`` makes what stands for each server, if that is not the server.

    Raises:
        ValueError: The configuration, or the form of the answer, cannot be used.
        LLMError: The provider is unknown (a ValueError too), or there is no key for it.
    """
    servers = load_servers(settings["server_config"])
    client = get_llm_client(
        settings["provider"],
        settings["api_key"],
        settings["model"],
        settings["base_url"],
        wire=settings["wire"],
        timeout=settings["llm_timeout"],
        retry=RetryPolicy(max_attempts=4, initial_delay=0.5),  # somebody is waiting for the call
        transport=settings["transport"],
    )
    form = None
    if settings["output"] is not None:
        from mcp_ghost.run.form import Form  # few want one, and pydantic has to be ready for it

        form = Form(settings["output"])
    return Conversation(settings, servers, client, messages, form, make_server or Server)


def checked_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A copy of ``messages``.

    Raises:
        ValueError: They are not a conversation.
    """
    usable = isinstance(messages, Sequence) and not isinstance(messages, str)
    if not usable or not all(_is_message(it) for it in messages):
        raise ValueError("messages must be a list like Ghost.messages.")
    return [copy.deepcopy(dict(message)) for message in messages]


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping) or value.get("role") not in ("user", "assistant", "tool"):
        return False
    calls = value.get("tool_calls") or []
    return (
        isinstance(value.get("content"), str | list | None)
        and isinstance(calls, list)
        and all(isinstance(it, Mapping) and isinstance(it.get("function"), Mapping) for it in calls)
    )
