"""An MCP server that tells all it knows, over stdio or HTTP; standard library only.

Usage: leaky.py stdio [FLAG ...] | leaky.py http, which prints its port. Its tools show its command
line and environment, or the request that it got, and keys of known forms that no configuration
knows.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

IN_TEXT = "ghp_" + "Text0123456789abcdefghijklmnopqrstuv"
IN_STRUCTURE = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiJwbGFudGVkIn0.c3RydWN0dXJlLTAxMjM"
IN_RESOURCE = "AKIA" + "0RESOURCE0123456"
IN_ERROR = "sk-proj-" + "error0123456789abcdef"
IN_STDERR = "xoxb-" + "123456789012-stderr-abcdef"
IN_EXCEPTION = "Bearer " + "exception-0123456789"
IN_MODEL_ERROR = "sk-ant-" + "model-error-0123456789"
"""What the server of the model says by itself."""
KEYBOARD = "us-international-0123"
"""No secret, though it is the value of a variable with a suspicious name."""


def tell(context: JSONObject) -> JSONObject:
    resource = {"uri": "file:///key", "mimeType": "text/plain", "text": f"key: {IN_RESOURCE}"}
    return {
        "content": [
            {"type": "text", "text": f"A token: {IN_TEXT}. What I know: {json.dumps(context)}"},
            {"type": "resource", "resource": resource},
        ],
        "structuredContent": {"session": {"jwt": IN_STRUCTURE}, "context": context},
    }


def answer(method: str, params: JSONObject, context: JSONObject) -> JSONObject:
    if method == "initialize":
        info = {"name": "leaky", "version": "1"}
        return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": info}}  # fmt: skip
    if method == "tools/list":
        schema = {"type": "object"}
        names = ("tell", "fail", "break", "die")
        return {"result": {"tools": [{"name": name, "inputSchema": schema} for name in names]}}
    if method != "tools/call":
        return {"error": {"code": -32601, "message": "Method not found"}}
    if params["name"] == "tell":
        return {"result": tell(context)}
    if params["name"] == "fail":
        content = [{"type": "text", "text": f"Refused with {IN_ERROR}."}]
        return {"result": {"content": content, "isError": True}}
    if params["name"] == "break":
        message = f"The request had {IN_EXCEPTION} and {json.dumps(context)}"
        return {"error": {"code": -32000, "message": message}}
    sys.stderr.write(f"fatal: {IN_STDERR}; environment: {json.dumps(context)}\n")
    sys.stderr.flush()
    os._exit(7)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        context = {"path": self.path, "headers": dict(self.headers)}
        body = b""
        if "id" in message:
            said = answer(message["method"], message.get("params", {}), context)
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode()
        self.send_response(200 if body else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


def main() -> None:
    if sys.argv[1] == "http":
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            context = {**os.environ, "command line": sys.argv}
            said = answer(message["method"], message.get("params", {}), context)
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
