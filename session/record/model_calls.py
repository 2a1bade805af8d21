"""Calls of models, as the client reports them, in the form in which they are logged."""

import logging
from collections.abc import Callable
from typing import Any

from mcp_ghost.providers.common import LLMRequest
from mcp_ghost.providers.exchange import Exchange
from mcp_ghost.results import JSONObject
from session.record.schema import ModelCall, write


def logs_calls(logger: logging.Logger) -> Callable[[Exchange], None]:
    """What a client reports of its calls, for the log; turn and role come from the context."""

    def log(exchange: Exchange) -> None:
        call = ModelCall(
            provider=exchange.provider,
            where=exchange.where,
            request=fields_of_request(exchange.request, exchange.sent),
            left_out=exchange.left_out,
            tries=exchange.tries,
            reply=exchange.reply,
            error=exchange.error,
            milliseconds=round(exchange.seconds * 1000, 3),
        )
        message = f"Model asked ({exchange.seconds:.1f} s): {exchange.error or 'answered'}"
        write(logger, message, call, logging.DEBUG)

    return log


def fields_of_request(request: LLMRequest, sent: JSONObject | None = None) -> dict[str, Any]:
    """What was asked, in neutral form: our names of tools, no key, no header.

    ``sent`` is what became of it on the wire besides messages and tools.
    """
    extra = request.options.get("extra_body")
    options = {**request.given, **({"extra_body": extra} if extra else {})}
    return {
        "model": request.model,
        "options": dict(sorted(options.items())),
        **({"sent": sent} if sent else {}),
        "tool_choice": request.tool_choice,
        "tools": request.tools,
        "known_tools": request.known_tools,
        "messages": list(request.messages),
    }
