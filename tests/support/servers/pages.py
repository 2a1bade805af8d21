"""An MCP server that reads pages from the folder PAGES; standard library only.

``fetch`` gives a file in parts, and says so as mcp-server-fetch does; so do ``part``, which knows
no other length, and ``raw_fetch``, which offers the source. ``scrape`` gives an object as
Firecrawl does; ``search`` names the files. SERVER_LOG names a file that gets a line for each call.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

FOLDER = Path(os.environ["PAGES"])
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
PARTS = {"start_index": NUMBER, "max_length": NUMBER}


def page(url: str) -> str:
    return (FOLDER / url.rpartition("/")[2]).read_text(encoding="utf-8")


def fetch(arguments: JSONObject) -> JSONObject:
    url, start = arguments["url"], arguments.get("start_index", 0)
    end = start + arguments.get("max_length", 5000)
    text = page(url)
    part = text[start:end] if start < len(text) else "<error>No more content available.</error>"
    if end < len(text):
        more = f"Call the fetch tool with a start_index of {end} to get more content."
        part += f"\n\n<error>Content truncated. {more}</error>"
    return {"content": [{"type": "text", "text": f"Contents of {url}:\n{part}"}]}


def scrape(arguments: JSONObject) -> JSONObject:
    metadata = {
        "title": "A title from\n the scraper",
        "description": "Scraped.",
        "ogImage": "https://img.example/og.png",
    }
    scraped = {"markdown": page(arguments["url"]), "metadata": metadata}
    return {"content": [{"type": "text", "text": json.dumps(scraped, indent=2)}]}


def search(arguments: JSONObject) -> JSONObject:
    names = "\n".join(sorted(path.name for path in FOLDER.iterdir()))
    return {"content": [{"type": "text", "text": f"Found:\n{names}"}]}


TOOLS = {
    "fetch": (fetch, {"url": TEXT, **PARTS}),
    "part": (fetch, {"url": TEXT, "start_index": NUMBER}),
    "raw_fetch": (fetch, {"url": TEXT, **PARTS, "raw": {"type": "boolean"}}),
    "scrape": (scrape, {"url": TEXT}),
    "search": (search, {"query": TEXT}),
}


def call(params: JSONObject) -> JSONObject:
    if path := os.environ.get("SERVER_LOG"):
        with Path(path).open("a", encoding="utf-8") as log:
            log.write(json.dumps([params["name"], params.get("arguments")]) + "\n")
    try:
        return TOOLS[params["name"]][0](params.get("arguments") or {})
    except OSError:
        return {"content": [{"type": "text", "text": "no such page"}], "isError": True}


def answer(method: str, params: JSONObject) -> JSONObject:
    if method == "initialize":
        info = {"name": "pages", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        schemas = {name: {"type": "object", "properties": it[1]} for name, it in TOOLS.items()}
        return {"tools": [{"name": name, "inputSchema": it} for name, it in schemas.items()]}
    if method != "tools/call":
        return {}  # it knows no other
    return call(params)


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


main()
