"""Changes that a server reports between its answers; what they change is read by the session."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp import Client

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds before a subscription that was lost is asked for again."""
_logger = logging.getLogger(__name__)


async def closed_or_listening(
    client: Client, closing: asyncio.Event, on_change: Callable[[], None]
) -> None:
    """Listen to changes, where that has to be asked for, until ``closing``."""
    listening = asyncio.create_task(_listen(client, on_change))
    try:
        await closing.wait()
    finally:
        listening.cancel()
        await asyncio.wait([listening])


async def _listen(client: Client, on_change: Callable[[], None]) -> None:
    """Keep a subscription open; before 2026-07-28, changes are told to everybody."""
    from mcp import MCPError
    from mcp.client.subscriptions import SubscriptionLost

    tools = client.server_capabilities.tools
    if client.session.discover_result is None or tools is None or not tools.list_changed:
        return
    pause = _FIRST_PAUSE
    while True:
        try:
            async with client.listen(tools_list_changed=True) as subscription:
                pause = _FIRST_PAUSE
                async for _ in subscription:
                    on_change()
        except SubscriptionLost as error:
            _logger.debug("Lost the subscription to changes: %s", error)
        except MCPError as error:
            _logger.debug("No subscription to changes: %s", error)
            return
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
