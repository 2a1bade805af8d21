"""What the conformance suite of MCP asks a client to do, done with our own session.

Usage: conformance.py URL, with the scenario and its data in the environment, as the suite gives
them. Exits with 0 where the scenario's server could be used.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from typing import Any

import httpx2

from mcp_ghost.config import ServerConfig
from mcp_ghost.servers.session import ServerSession

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
ADD = [("add_numbers", {"a": 5, "b": 3})]
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "tools_call": ADD,
    "request-metadata": ADD,
    "http-standard-headers": ADD,
    "sse-retry": [("test_reconnection", {})],
    "elicitation-sep1034-client-defaults": [("test_client_elicitation_defaults", {})],
    "sep-2322-client-request-state": [
        (f"test_mrtr_{name}", {})
        for name in ("echo_state", "unrelated", "no_state", "no_result_type")
    ],
}
VALUES = {"string": "x", "integer": 0, "number": 0, "boolean": False, "object": {}, "array": []}
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"


def auth() -> dict[str, Any]:
    """The entry's ``auth`` for this scenario."""
    if SCENARIO == "auth/basic-cimd":
        return {"type": "oauth", "client_id": CLIENT_METADATA}
    known: dict[str, Any] = {"type": "oauth"}
    known |= {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
    if SCENARIO == "auth/client-credentials-basic":
        known["grant_type"] = "client_credentials"
    return known


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """The least that fits a tool's parameters."""
    properties = schema.get("properties", {})
    return {
        name: VALUES.get(properties.get(name, {}).get("type"), "x")
        for name in schema.get("required", [])
    }


def calls(tools: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The calls that the scenario wants, by the parameters of the tools that there are."""
    if SCENARIO in CALLS:
        return CALLS[SCENARIO]
    if SCENARIO == "json-schema-2020-12-preservation":
        return [("json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]})]
    if "toolCalls" in CONTEXT:
        wanted = [(call["name"], call.get("arguments") or {}) for call in CONTEXT["toolCalls"]]
        return [(name, given) for name, given in wanted if name in tools]
    return [(name, arguments(schema)) for name, schema in tools.items()]


async def authorize(url: str) -> str:
    """Go where a browser would, to where it would be sent back to."""
    async with httpx2.AsyncClient() as client:
        return str((await client.get(url)).headers["location"])


async def elicit(server: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Agree to what the server asks."""
    return {"confirmed": True} if "confirmed" in schema.get("properties", {}) else {}


async def main() -> None:
    entry: dict[str, Any] = {"url": sys.argv[-1]}
    if SCENARIO.startswith("auth/"):
        entry["auth"] = auth()
    config = ServerConfig(**entry)
    session = ServerSession("conformance", config, elicit=elicit, authorize=authorize)
    async with session:
        tools = {t["function"]["name"]: t["function"]["parameters"] for t in session.tools}
        for name, given in calls(tools):
            result = await session.call(name, given)
            print(name, result.content, result.error_message, file=sys.stderr)


with tempfile.TemporaryDirectory() as data:
    os.environ["XDG_DATA_HOME"] = data
    asyncio.run(main())
