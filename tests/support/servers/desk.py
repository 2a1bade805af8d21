"""Two small MCP servers whose tools share names: a database and a folder; standard library only.

Usage: desk.py db|files. The folder is the working directory, with a file in it from the start.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_ghost.results import JSONObject

SAMPLE = Path("prices.txt")


class ToolError(Exception):
    """Told to the client as a result that is an error."""


# --- the database


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(
        "CREATE TABLE lamps (name TEXT, price INTEGER);"
        "CREATE TABLE orders (lamp TEXT, pieces INTEGER);"
        "INSERT INTO lamps VALUES ('brass', 30), ('desk', 45);"
        "INSERT INTO orders VALUES ('brass', 2), ('desk', 1), ('brass', 3);"
    )
    connection.execute("PRAGMA query_only = 1")
    return connection


def list_tables() -> list[str]:
    """The tables of the database."""
    rows = DATABASE.execute("SELECT name FROM sqlite_master ORDER BY name")
    return [name for (name,) in rows]


def describe_table(name: str) -> list[str]:
    """The columns of a table."""
    columns = [row[1] for row in DATABASE.execute("SELECT * FROM pragma_table_info(?)", (name,))]
    if not columns:
        raise ToolError(f"no such table: {name}")
    return columns


def query(sql: str) -> list[list[object]]:
    """The rows of a SELECT statement."""
    try:
        return [list(row) for row in DATABASE.execute(sql)]
    except sqlite3.Error as error:
        raise ToolError(str(error)) from None


# --- the folder


def list_files() -> list[str]:
    """The files of the folder."""
    return sorted(path.name for path in Path().iterdir() if not path.name.startswith("."))


def read(name: str) -> str:
    """The text of a file."""
    try:
        return Path(name).read_text()
    except OSError:
        raise ToolError(f"no such file: {name}") from None


def write(name: str, text: str) -> str:
    """Write a file."""
    Path(name).write_text(text)
    return f"wrote {len(text)} characters to {Path(name).absolute()}"


def check() -> str:
    """Check the folder; the first time, the server dies of it."""
    mark = Path(".checked")
    if mark.exists():
        return "all is well"
    mark.touch()
    os._exit(1)


# --- the protocol

SERVERS: dict[str, dict[str, Callable[..., object]]] = {
    "db": {"list": list_tables, "describe": describe_table, "query": query},
    "files": {"list": list_files, "read": read, "write": write, "check": check},
}
ANNOTATIONS = {"write": {"destructiveHint": True}, "check": {"idempotentHint": True}}
TOOLS = SERVERS[sys.argv[1]]
DATABASE = database()


def schema(name: str, function: Callable[..., object]) -> JSONObject:
    arguments = [it for it in function.__annotations__ if it != "return"]
    properties = {argument: {"type": "string"} for argument in arguments}
    parameters = {"type": "object", "properties": properties, "required": arguments}
    annotations = ANNOTATIONS.get(name, {"readOnlyHint": True})
    described = {"description": function.__doc__, "annotations": annotations}
    return {"name": name, **described, "inputSchema": parameters}


def call(params: JSONObject) -> JSONObject:
    try:
        value = TOOLS[params["name"]](**params.get("arguments") or {})
    except (ToolError, TypeError) as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}
    text = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": text}]}


def answer(method: str, params: JSONObject) -> JSONObject:
    if method == "initialize":
        info = {"name": sys.argv[1], "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [schema(name, function) for name, function in TOOLS.items()]}
    if method != "tools/call":
        return {}  # it knows no other
    return call(params)


def main() -> None:
    if TOOLS is SERVERS["files"] and not SAMPLE.exists():
        SAMPLE.write_text("brass 30, desk 45\n")
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(message["method"], message.get("params") or {})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


main()
