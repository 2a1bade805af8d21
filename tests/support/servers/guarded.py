"""An MCP server on loopback that only those may use who signed in, and the one who signs them in.

The tools: ``read`` and ``write``, which need the scope of their name, and ``leak``, which repeats
what it was sent, the token by itself, too.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import http.client
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_ghost.config import ServerConfig

TOOLS = ("read", "write", "leak")
SECRET_CLIENT = {"client_id": "known-client", "client_secret": "known-secret-5"}


class Guarded(ThreadingHTTPServer):
    """Both servers at one port; what they do is set by their attributes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.issuer = self.url
        """What comes back as ``iss``."""
        self.endpoints: dict[str, str] = {}
        """Where its metadata leads instead of to itself."""
        self.denies = False
        self.registers = True
        self.asked: list[dict[str, str]] = []
        """The queries with which a person was sent here."""
        self.clients: list[dict[str, Any]] = []
        """As they registered."""
        self.token_requests: list[dict[str, str]] = []
        self.scopes: dict[str, str] = {}
        """Valid access tokens, with what they are for."""
        self.codes: dict[str, dict[str, str]] = {}
        self.renewals: dict[str, str] = {}
        """Valid refresh tokens, likewise."""
        self.issued: list[str] = []
        """Every token there ever was."""
        self.count = itertools.count(1)

    def config(self, **auth: Any) -> ServerConfig:  # noqa: ANN401 - of any type
        """The entry of somebody who knows that one signs in here."""
        return ServerConfig.model_validate(
            {"url": f"{self.url}/mcp", "auth": {"type": "oauth", **auth}}
        )

    async def authorize(self, url: str) -> str:
        """What a browser does for a user who agrees."""
        return await asyncio.to_thread(self._follow, url)

    def _follow(self, url: str) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.server_port)
        connection.request("GET", url.removeprefix(self.url))
        location = connection.getresponse().headers["location"]
        connection.close()
        return str(location)

    def issue(self, scope: str) -> dict[str, Any]:
        """A new pair of tokens."""
        number = next(self.count)
        access, refresh = f"opaque.access.{number}.xyz", f"opaque.renewal.{number}.xyz"
        self.scopes[access], self.renewals[refresh] = scope, scope
        self.issued += [access, refresh]
        return {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": 3600,
            "refresh_token": refresh,
        }


@contextmanager
def guarded() -> Iterator[Guarded]:
    """Both, running."""
    server = Guarded()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Guarded

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def do_GET(self) -> None:
        here, path = self.server.url, urlsplit(self.path).path
        if path == "/.well-known/oauth-protected-resource/mcp":
            self._send(200, {"resource": f"{here}/mcp", "authorization_servers": [here]})
        elif path == "/.well-known/oauth-authorization-server":
            ends = {f"{name}_endpoint": f"{here}/{name}" for name in ("authorization", "token")}
            if self.server.registers:
                ends["registration_endpoint"] = f"{here}/register"
            ends |= self.server.endpoints
            self._send(200, {"issuer": here, **ends, "code_challenge_methods_supported": ["S256"]})
        elif path == "/authorization":
            self._ask()
        else:
            self._send(405 if path == "/mcp" else 404, {})

    def do_DELETE(self) -> None:
        self._send(200, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/mcp":
            self._serve(json.loads(body))
        elif self.path == "/register" and self.server.registers:
            client = json.loads(body)
            self.server.clients.append(client)
            self._send(201, {**client, "client_id": f"client-{len(self.server.clients)}"})
        elif self.path == "/token":
            self._exchange({name: values[0] for name, values in parse_qs(body.decode()).items()})
        else:
            self._send(404, {})

    def _ask(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(query)
        back = {"state": query["state"], "iss": self.server.issuer}
        if self.server.denies:
            back |= {"error": "access_denied", "error_description": "The user said no"}
        else:
            back["code"] = f"code-{next(self.server.count)}"
            self.server.codes[back["code"]] = query
        self._send(302, {}, location=f"{query['redirect_uri']}?{urlencode(back)}")

    def _exchange(self, form: dict[str, str]) -> None:
        server = self.server
        server.token_requests.append(form | {"authorization": self.headers["authorization"] or ""})
        if form["grant_type"] == "client_credentials":
            self._send(200, server.issue(form.get("scope", "")))
        elif form["grant_type"] == "refresh_token":
            scope = server.renewals.pop(form["refresh_token"], None)
            self._send(200, server.issue(scope)) if scope is not None else self._refuse_token()
        else:
            asked = server.codes.pop(form["code"], {})
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            is_right = challenge == asked.get("code_challenge")
            is_right &= form["redirect_uri"] == asked["redirect_uri"]
            self._send(200, server.issue(asked["scope"])) if is_right else self._refuse_token()

    def _refuse_token(self) -> None:
        self._send(400, {"error": "invalid_grant"})

    def _serve(self, message: dict[str, Any]) -> None:
        token = (self.headers["authorization"] or "").removeprefix("Bearer ")
        granted = self.server.scopes.get(token)
        name = message.get("params", {}).get("name", "")
        if granted is None:
            self._challenge(401, 'scope="read"')
        elif message["method"] == "tools/call" and name == "write" and "write" not in granted:
            self._challenge(403, 'error="insufficient_scope", scope="write"')
        else:
            self._answer(message, name)

    def _challenge(self, status: int, said: str) -> None:
        metadata = f"{self.server.url}/.well-known/oauth-protected-resource/mcp"
        header = {"www-authenticate": f'Bearer resource_metadata="{metadata}", {said}'}
        self._send(status, {"error": "no entry"}, **header)

    def _answer(self, message: dict[str, Any], name: str) -> None:
        method, result = message["method"], {}
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "guarded", "version": "1.0"}
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": n, "inputSchema": {"type": "object"}} for n in TOOLS]}
        elif method == "tools/call":
            token = self.headers.get("authorization", "").removeprefix("Bearer ")
            text = f"{dict(self.headers.items())}: {token}" if name == "leak" else f"did {name}"
            result = {"content": [{"type": "text", "text": text}]}
        elif "id" in message:
            error = {"code": -32601, "message": f"no {method} here"}
            self._send(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        if "id" in message:
            self._send(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})
        else:
            self._send(202, {})

    def _send(self, status: int, body: dict[str, Any], **headers: str) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        type_ = {"content-type": "application/json", "content-length": str(len(content))}
        for header, value in {**type_, **headers}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)
