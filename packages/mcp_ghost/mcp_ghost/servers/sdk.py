"""The MCP SDK's imports: late, beside the event loop, and never two at once."""

import asyncio
import importlib
import threading

_ONE_AT_A_TIME = threading.Lock()
_imported: set[str] = set()


async def import_with_sdk(module: str) -> None:
    """Import ``module``, which imports the SDK, without holding up the event loop.

    The SDK takes half a second, so it waits until a server is really wanted. Its modules import
    each other in circles: two threads that enter such a circle from different sides each meet a
    module that is only half there.
    """

    def load() -> None:
        with _ONE_AT_A_TIME:
            importlib.import_module(module)
        _imported.add(module)

    if module not in _imported:
        await asyncio.to_thread(load)
