"""A client that calls tests/support/servers/wild.py, as a program: its memory is its own.

Usage: wild_calls.py TRANSPORT KIND... Makes two calls of each kind, the id before and after the
result, and a good one after each. Prints, as JSON, the answers and the most memory that it took,
in MiB.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import sys
from pathlib import Path

from mcp_ghost.errors import MCPToolCallError
from mcp_ghost.servers.session import ServerSession
from tests.support.servers import wild


async def call(session: ServerSession, kind: str, *, last: bool) -> str:
    try:
        result = await session.call("answer", {"kind": kind, "last": last}, timeout=120)
    except (MCPToolCallError, TimeoutError) as error:
        return f"{type(error).__name__}: {error}"
    return result.error_message or str(result.content)[-60:]


async def main(transport: str, *kinds: str) -> None:
    said: dict[str, list[str]] = {}
    with wild(transport) as config:
        async with ServerSession("s", config) as session:
            for kind in kinds:
                said[kind] = []
                for last in (False, True):
                    said[kind].append(await call(session, kind, last=last))
                    said[kind].append(await call(session, "fine", last=last))
    print(json.dumps({"said": said, "most_mib": most_mib()}))


def most_mib() -> int:
    """What this program took; on Linux, getrusage() would count the one that started it, too."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**20
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) // 1024


asyncio.run(main(*sys.argv[1:]))
