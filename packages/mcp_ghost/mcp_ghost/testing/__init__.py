"""A strict model server on loopback, for tests and for trying things out without a provider.

    def script(request):
        return tool_reply([("clock.now", {})]) if request.last["role"] == "user" else "It is noon."

    with ModelServer(script) as server:
        ...  # point any OpenAI-compatible client at server.base_url

``ModelServer(script, wire="anthropic")``, ``wire="gemini"`` and ``wire="responses"`` play the same
script in those formats. Each refuses with status 400 what the real one refuses
(:mod:`mcp_ghost.testing.refusals` and its siblings). Every request is kept in ``server.requests``.
"""

from mcp_ghost.testing.replies import (
    ModelRequest,
    Reply,
    Script,
    content_reply,
    error_reply,
    tool_reply,
)
from mcp_ghost.testing.server import ModelServer

__all__ = [
    "ModelRequest",
    "ModelServer",
    "Reply",
    "Script",
    "content_reply",
    "error_reply",
    "tool_reply",
]
