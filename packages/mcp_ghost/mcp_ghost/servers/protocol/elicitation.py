"""What a server asks the user for in the middle of a call."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.redact import redact
from mcp_ghost.results import as_text, cap
from mcp_ghost.servers.protocol.lenient import NOT_MADE

if TYPE_CHECKING:
    from mcp import MCPError as ProtocolError
    from mcp.client import ClientRequestContext
    from mcp.client.session import ElicitationFnT
    from mcp.types import ElicitRequestParams, ElicitResult

_NEEDS_A_PAGE = -32042
_MOST_DATA = 1000
"""Characters of what an error says beside its message."""
_logger = logging.getLogger(__name__)

Elicit: TypeAlias = Callable[[str, str, dict[str, Any]], Awaitable[dict[str, Any] | None]]
"""(server, message, schema) -> the user's answer by the schema's names; None if there is none"""
Pause: TypeAlias = Callable[[], AbstractContextManager[None]]
"""While a person thinks, no time runs out."""


class LaterError(Exception):
    """Raised by an ``elicit`` that does not know the answer yet: the server is told to give up."""


def asking(server: str, elicit: Elicit, pause: Pause) -> ElicitationFnT:
    """The SDK's callback: has ``elicit`` asked, and fills in what the schema has by default."""
    from mcp.types import ElicitRequestURLParams, ElicitResult
    from pydantic import ValidationError

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if isinstance(params, ElicitRequestURLParams):
            words = (
                f"MCP server '{server}' wants a page opened, which is not supported: {params.url}"
            )
            _logger.warning("%s", redact(words))
            return ElicitResult(action="decline")
        schema = params.requested_schema
        if fault := _fault(schema):
            words = f"MCP server '{server}' asks with a form that cannot be shown: {fault}"
            _logger.warning("%s; the request is cancelled", redact(words))
            return ElicitResult(action="cancel")
        try:
            with pause():
                said = await elicit(server, params.message, schema)
            if said is None:
                return ElicitResult(action="decline")
            fields = schema.get("properties", {})
            defaults = {name: it["default"] for name, it in fields.items() if "default" in it}
            return ElicitResult(action="accept", content={**defaults, **said})
        except LaterError:
            return ElicitResult(action="cancel")
        except ValidationError:
            _logger.warning(
                "elicit returned an answer that no form allows; the request is cancelled"
            )
        except Exception as error:  # noqa: BLE001 - foreign code; the call goes on without it
            words = redact(f"{type(error).__name__}: {error}")
            _logger.warning("elicit failed; the request is cancelled: %s", words)
        return ElicitResult(action="cancel")

    return answer


def _fault(schema: dict[str, Any]) -> str | None:
    """What is wrong with a form, by the protocol's rules; None if it can be filled in."""
    # modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
    for name, field in schema.get("properties", {}).items():
        where = f"the field {name[:100]!r}"
        items = field.get("items", {}) if isinstance(field, dict) else None
        if not isinstance(items, dict):
            return f"{where} has no schema"
        if any(type(field.get(limit, 0)) not in (int, float) for limit in ("minimum", "maximum")):
            return f"{where} has a limit that is not a number"
        for key in ("enum", "enumNames", "oneOf", "anyOf"):
            for choices in (field.get(key, []), items.get(key, [])):
                if not isinstance(choices, list):
                    return f"the choices of {where} are not a list"
                is_titled = key in ("oneOf", "anyOf")
                if is_titled and not all(isinstance(it, dict) and "const" in it for it in choices):
                    return f"{where} has a choice without a value ('const')"
    return None


def refusal(error: ProtocolError) -> str:
    """What to tell of an error; a page that the user should open first is named."""
    said, data = str(error), error.error.data
    pages = data.get("elicitations") if isinstance(data, dict) else None
    if error.error.code != _NEEDS_A_PAGE or not isinstance(pages, list):
        more = as_text(data) if data and data != {NOT_MADE: True} else ""
        return f"{said} ({cap(more, _MOST_DATA)})" if more and more not in said else said
    urls = [str(page["url"]) for page in pages if isinstance(page, dict) and "url" in page]
    return f"{said} (the user has to open this page first: {', '.join(urls)})"
