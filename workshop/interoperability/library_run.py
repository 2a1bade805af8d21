"""One run of ``mcp_ghost()`` in a process of its own; prints which revision each server speaks."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping

from mcp_ghost import mcp_ghost
from mcp_ghost.cli.arguments import Parser


async def main(config: str, base_url: str) -> int:
    """0 where the run was a success."""
    revisions: dict[str, str] = {}

    def listen(event: Mapping[str, str]) -> None:
        if event["type"] == "server_connected":
            revisions[event["server"]] = event["revision"]

    result = await mcp_ghost(
        config, "Ask.", "openai", user_prompt="Ask them.", base_url=base_url, on_event=listen
    )
    print(json.dumps(revisions))
    print(json.dumps(result["errors"]), file=sys.stderr)
    return 0 if result["success"] else 1


if __name__ == "__main__":
    parser = Parser(description=(__doc__ or "").partition("\n")[0])
    for name in ("config", "base_url"):
        parser.add_argument(name)
    sys.exit(asyncio.run(main(**vars(parser.parse_args()))))
