"""No tool is called with what is not a public web address, and ordinary words are no addresses."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import time
from typing import Any

import httpx2
import pytest

from mcp_ghost.errors import UrlRefusedError
from mcp_ghost.guard import GuardedTransport
from mcp_ghost.results import ToolCallResult
from mcp_ghost.servers.oauth.network import FAULT, IssuerPolicy, ask
from mcp_ghost.toolset import Call, Outcome, Tool, Toolset
from movie_generator.pages.robots import Robots
from movie_generator.pages.tool_guard import GuardedTools
from movie_generator.pages.urls import UrlPolicy

PUBLIC = UrlPolicy()
TEXT = {"type": "string"}
PARAMETERS = {
    "type": "object",
    "properties": {
        "url": TEXT,
        "page": {"type": "string", "format": "uri"},
        "nested": {"$ref": "#/$defs/Nested"},
        "many": {"anyOf": [{"type": "array", "items": {"format": "uri"}}, {"type": "null"}]},
        "text": TEXT,
    },
    "$defs": {"Nested": {"properties": {"target": {"format": "uri"}}}},
}
NAMES = {"public.test": "8.8.8.8", "inside.test": "10.0.0.7", "redis": "10.0.0.8"}


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a resolver is asked that knows a few names, and asks no network for others."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def found(host: str, *rest: Any) -> Any:  # noqa: ANN401
        name = host.lower().rstrip(".")
        asked.append(name)
        if not re.fullmatch(r"[0-9a-fx.:]+", name) and name not in {*NAMES, "localhost"}:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(NAMES.get(name, name), *rest)

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return asked


class Tools(Toolset):
    """Answers every call, and remembers it."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    @property
    def tools(self) -> dict[str, Tool]:
        """One tool."""
        function = {"name": "s.read", "description": "", "parameters": PARAMETERS}
        return {"s.read": Tool("s.read", {"type": "function", "function": function})}

    async def call(self, call: Call) -> Outcome:
        """Say yes."""
        self.calls.append(call)
        return Outcome.of(ToolCallResult("done"))


def refusal(arguments: dict[str, Any], policy: UrlPolicy = PUBLIC) -> str:
    """Why a call is not made; empty if it was."""
    inner = Tools()
    guarded = GuardedTools(inner, Robots(policy, timeout=5, obey=False), print)
    outcome = asyncio.run(guarded.call(Call("s.read", arguments)))
    assert bool(inner.calls) == (outcome.kind == "ok")
    return "" if inner.calls else outcome.reason


INSIDE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://017700000001/",
    "http://0/",
    "HTTP://LOCALHOST:8080/",
    "http://localhost./",
    "http://①②⑦.0.0.1/",
    "http://127。0。0。1/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://168.63.129.16/",
    "http://metadata.google.internal/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::127.0.0.1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:7f00:1::]/",
    "http://[fe80::1]/",
    "http://[fd00:ec2::254]/",
    "http://[2620:4f:8000::1]/",
    "http://[ff02::1]/",
    "http://0.0.0.0:8000/",
    "http://255.255.255.255/",
    "http://inside.test/",
    "https://INSIDE.TEST.:8443/x?y#z",
    "http://8.8.8.8@127.0.0.1/",
    "http://8.8.8.8\\@127.0.0.1/",
    "http://127.0.0.1\\@8.8.8.8/",
    "http:127.0.0.1/",
    "http:/127.0.0.1/",
    "http://%31%32%37.0.0.1/",
]


@pytest.mark.parametrize("url", INSIDE)
def test_an_address_inside_is_refused_in_every_spelling_to_every_caller(url: str) -> None:
    """By what fetches pages, by what signs in to servers, and before any tool is called."""
    request = httpx2.Request("GET", "http://public.test/")
    try:
        request = httpx2.Request("GET", url)
    except httpx2.InvalidURL:
        pass  # it cannot even be asked for
    else:
        with pytest.raises((UrlRefusedError, httpx2.UnsupportedProtocol)):
            asyncio.run(GuardedTransport(PUBLIC).handle_async_request(request))
        answer = asyncio.run(ask(request, IssuerPolicy("https://public.test/mcp")))
        assert "is not asked" in answer.extensions[FAULT]
    for arguments in (
        {"url": url},
        {"page": url},
        {"text": f"Read {url} and nothing else."},
        {"text": f"<{url}>"},
        {"text": json.dumps({"js": f"fetch('{url}')"})},
        {"text": json.dumps([json.dumps({"go": [url]})])},
        {"options": {url: True}},
    ):
        assert refusal(arguments), arguments


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/passwd",
        "file:/etc/passwd",
        "FILE:etc/passwd",
        "file:\\\\server\\share",
        "fi\tle:///etc/passwd",
        "127.0.0.1:8080/admin",
        "127.0.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "017700000001",
        "2130706433:80",
        "127.1:8080",
        "127.1/admin",
        "192.168.1:80",
        "169.254.169.254/latest/meta-data",
        "//127.0.0.1/",
        "//localhost/",
        "\\\\10.0.0.1\\share",
        "//inside.test/x",
        "localhost:6379",
        "LOCALHOST:6379",
        "localhost/admin",
        "redis:6379",
        "redis:6379/0",
        "user@localhost:5432",
        "inside.test:8080",
        "metadata.google.internal/computeMetadata/v1/",
        "[::1]:8080",
        "[::]:8080",
        "::1",
        "fe80::1%eth0",
        "fd12:3456::1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "view-source:http://127.0.0.1/",
        "view-source:https://public.test/",
        "javascript:fetch('x')",
        "data:text/html,x",
        "ftp://public.test/",
        "ftp:\\/\\/10.0.0.1",
        "ws://public.test/",
        "wss://public.test/",
        "gopher://public.test:70/x",
        "postgres://u@db/x",
        "chrome://settings",
        "<http://127.0.0.1/>",
        "\ufeffhttp://127.0.0.1/",
        "ht\ttp://127.0.0.1/",
        "http://127.\t0.0.1/",
        "http:\n//127.0.0.1/",
        "h\nt\rt\tp:/\n/127.0.0.1/",
        "\0http://127.0.0.1/",
        "ht\u200btp://127.0.0.1/",
        "http://127.0.0.1\u00ad/",
        "http:\\/\\/127.0.0.1\\/",
        "http%3A%2F%2F127.0.0.1%2F",
        "http&#58;//127.0.0.1/",
        "(see http://10.0.0.1).",
        "curl -s 10.0.0.1:2375/containers/json",
        "{'js': fetch('http://127.0.0.1/')}",
        '["http://127.0.0.1/"]',
        '{"host": "2130706433"}',
        '"\\u0068ttp://127.0.0.1/"',
        "const r = await fetch(`http://localhost:3000/${id}`)",
    ],
)
def test_an_address_that_is_not_a_public_web_address_is_refused_wherever_it_stands(
    text: str,
) -> None:
    for arguments in (
        {"url": text},
        {"page": text},
        {"many": [text]},
        {"nested": {"target": text}},
        {"startUrls": ["http://public.test/", text]},
        {"text": text},
        {"other": {"deep": [{"er": text}]}},
        {text: "x"},
    ):
        assert refusal(arguments), arguments


@pytest.mark.parametrize(
    "text",
    [
        "12:30",
        "at 08:15:00",
        "2026-11-27T00:30:00Z",
        "3:2",
        "16:9",
        "Genesis 1:1",
        "key: value",
        "title:rivers site:public.test",
        "note:\nhttp://public.test/",
        "C:\\Users\\me\\a.txt",
        "D:/data/x",
        "std::vector<int>::iterator",
        "a::b",
        "foo :: Int -> Int",
        "x[::2]",
        "values[::-1]",
        "aa:bb:cc:dd:ee:ff",
        "me@public.test",
        "mailto:me@public.test",
        "def f(x: dict) -> dict:\n    return {'a': 1}",
        "// a comment",
        "a // b",
        "if (a) { b: 1 } // end",
        "lambda x: x",
        "{file:'a.txt', ws:1}",
        "file: report.txt",
        "data: none",
        "javascript: the good parts",
        "http: the protocol",
        "what is localhost",
        "version 1.2.3.4",
        "Python 3.11.7",
        "10.15.7",
        "10.5/10",
        "10.5:1",
        "01/02/2024",
        "255.255.255.0",
        "Mozilla/5.0 (X11; Linux x86_64) Chrome/127.0.0.0 Safari/537.36",
        "0x1f600",
        "1700000000",
        "main.py:120: error",
        "nginx:1.25",
        "python:3.11-slim",
        "sha256:9f86d081884c7d659a2feaa0c55ad015",
        "and/or",
        "a/b.txt",
        "public.test:443",
        "8.8.8.8",
        "[2606:4700::1111]:443",
        "https://public.test/a?b=c:1#d",
        "Compare https://public.test/10.0.0.1 with (http://public.test).",
        "see https://${host}/x",
        "print('\\nhttps://public.test/')",
        "git+https://public.test/x",
        "50% of http",
        "{not json: [",
        "s/a:b/c/",
        "1,000:30",
        "\ufeffordinary",
    ],
)
def test_ordinary_arguments_pass(text: str) -> None:
    for arguments in ({"text": text}, {"q": [text, json.dumps({"x": text})]}, {"curl": text}):
        assert not refusal(arguments), arguments


@pytest.mark.parametrize(
    ("name", "is_url"),
    [
        ("url", True),
        ("pageURL", True),
        ("image_urls", True),
        ("URLs", True),
        ("url_list", True),
        ("startUrl2", True),
        ("imageurl", True),
        ("uri", True),
        ("url_pattern", False),
        ("curl", False),
        ("query", False),
    ],
)
def test_the_name_of_an_argument_says_whether_it_is_a_url(name: str, is_url: bool) -> None:
    assert bool(refusal({name: "public.test/page"})) == is_url
    assert not refusal({name: ""})
    assert not refusal({name: 5})
    assert not refusal({name: "https://public.test/page"})


def test_where_private_addresses_are_allowed_files_and_metadata_are_not() -> None:
    private = UrlPolicy(allow_private=True)
    assert not refusal({"url": "http://localhost:8000/", "text": "redis:6379"}, private)
    for text in ("file:///etc/passwd", "169.254.169.254/latest", "view-source:http://localhost/"):
        assert refusal({"text": text}, private)


@pytest.mark.parametrize(
    "text",
    [
        "https://public.test/,http://127.0.0.1/",
        "https://public.test/?to=http://127.0.0.1/",
        f"http://{'a' * 400}@127.0.0.1/",
        f"http:{'/' * 400}127.0.0.1/",
        "xhttp://127.0.0.1/",
    ],
)
def test_an_address_inside_another_is_refused_too(text: str) -> None:
    assert refusal({"text": text})


def test_words_are_not_looked_up_as_hosts(asked: list[str]) -> None:
    assert not refusal({"text": "Read score:10 and level:3 of main, //TODO later", "n": "a b"})
    assert asked == []


def test_a_call_that_names_very_many_hosts_is_refused() -> None:
    text = " ".join(f"https://h{number}.test/" for number in range(200))
    assert "more than 100 hosts" in refusal({"text": text})


@pytest.mark.parametrize("part", [":", "1", "1.", "::", "a.", "[", "%25", "http:", "/", "a:", "&#"])
def test_a_long_text_takes_time_in_proportion(part: str) -> None:
    text = part * (50_000 // len(part))
    started = time.process_time()
    refusal({"text": text})
    assert time.process_time() - started < 3
