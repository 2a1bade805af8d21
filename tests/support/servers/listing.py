"""An MCP server with any tools: ``listing_server.py FILE``, which holds {"tools", "page"} as JSON.

``page`` is the number of tools on one page. A call is answered with the name that was called.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False  # typing is slow to import, and this program starts often
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Answer requests until stdin closes."""
    with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123  pathlib is slow to import
        listing = json.load(file)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {}, listing)
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()
    os._exit(0)


def answer(method: str, params: dict[str, Any], listing: dict[str, Any]) -> dict[str, Any]:
    """The result for one request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "listing", "version": "1"},
        }
    if method == "tools/list":
        start = int(params.get("cursor", 0))
        end = start + listing["page"]
        more = {"nextCursor": str(end)} if end < len(listing["tools"]) else {}
        return {"tools": listing["tools"][start:end], **more}
    if method != "tools/call":
        return {}  # it knows no other
    return {"content": [{"type": "text", "text": params["name"]}]}


if __name__ == "__main__":
    main()
