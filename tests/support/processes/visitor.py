"""An agent of somebody else's, as ``evaluate.py --player mcp:COMMAND`` starts one.

Usage: visitor.py EXIT_CODE COMMAND...: plays the commands at GAME_SERVER_URL, then ends.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

URL = os.environ["GAME_SERVER_URL"]
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def post(method: str, number: int | None, **params: object) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    body = json.dumps(message if number is None else {**message, "id": number}).encode()
    request = urllib.request.Request(URL, body, HEADERS)  # noqa: S310  an address on loopback
    with urllib.request.urlopen(request) as answer:  # noqa: S310  the same
        if session := answer.headers.get("mcp-session-id"):
            HEADERS["mcp-session-id"] = session
        text = answer.read().decode()
    data = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
    return dict(json.loads(data[-1] if data else text or "{}"))


def call(tool: str, **arguments: object) -> None:
    print(post("tools/call", 2, name=tool, arguments=arguments)["result"]["content"][0]["text"])


def main() -> int:
    client = {"name": "visitor", "version": "1"}
    post("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
    post("notifications/initialized", None)
    code, *commands = sys.argv[1:]
    if commands:
        call("new_game")
    for command in commands:
        call("command", text=command)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
