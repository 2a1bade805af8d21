"""The embedded model as it is: the real child process with the real model file."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest

import local_model.process
from local_model.process import LocalModel
from local_model.shim import JSONObject
from shared_utils import EMBEDDED_MODEL_NAME
from tests.support import PATIENCE, embedded_model

ROOT = Path(local_model.process.__file__).parent.parent
WAIT = PATIENCE
notices, model, client = embedded_model.notices, embedded_model.model, embedded_model.client
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc or uses a pidfd")

SYSTEM = {
    "role": "system",
    "content": "You play a text adventure. Take what can be carried, open what is closed and go "
    "where you have not been. Give one short command, for example: take lamp. " * 3,
}
ACTION = {
    "type": "object",
    "properties": {
        "thinking": {"type": "string", "maxLength": 30},
        "action": {"type": "string", "minLength": 1, "maxLength": 20},
        "new_objective": {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 20}]},
    },
    "required": ["thinking", "action", "new_objective"],
    "additionalProperties": False,
}
THINK_PARAMETERS = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 30},
        "thoughtNumber": {"type": "integer", "minimum": 1},
        "mood": {"enum": ["calm", "afraid"]},
        "certainty": {"type": "number", "minimum": 0, "maximum": 1},
        "steps": {"type": "array", "items": {"$ref": "#/$defs/step"}, "maxItems": 2},
    },
    "required": ["thought", "thoughtNumber", "mood", "certainty", "steps"],
    "$defs": {"step": {"type": "string", "minLength": 1, "maxLength": 8}},
}


def tool(name: str, parameters: JSONObject) -> JSONObject:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


THINK = tool("thoughtbox_think", THINK_PARAMETERS)
MAP = tool("map_exits", {"type": "object", "properties": {}})


def user(text: str) -> JSONObject:
    return {"role": "user", "content": text}


def asked(model: LocalModel, path: str, headers: dict[str, str]) -> httpx2.Response:
    """What the process answers to whoever may open its socket."""
    with httpx2.Client(transport=httpx2.HTTPTransport(uds=model.endpoint().socket)) as client:
        return client.get(f"http://localhost{path}", headers=headers)


def complete(client: httpx2.Client, **fields: object) -> JSONObject:
    """One chat completion that has to succeed."""
    response = client.post("/chat/completions", json={"model": EMBEDDED_MODEL_NAME, **fields})
    assert response.status_code == 200, response.text
    answer: JSONObject = response.json()
    return answer


def message_of(answer: JSONObject) -> JSONObject:
    message: JSONObject = answer["choices"][0]["message"]
    return message


# --- Answers --------------------------------------------------------------------------------------


def test_the_first_request_starts_the_model_and_says_so(
    client: httpx2.Client, model: LocalModel, notices: list[str]
) -> None:
    answer = complete(client, messages=[user("Say hello.")], max_tokens=8)
    assert message_of(answer)["content"].strip()
    assert answer["model"] == EMBEDDED_MODEL_NAME
    assert answer["usage"]["completion_tokens"] <= 8
    assert notices == ["Starting the embedded model SmolLM2-135M-Instruct ..."]
    assert model.pid


def test_the_model_says_its_name_and_health(client: httpx2.Client, model: LocalModel) -> None:
    assert client.get("/models").json()["data"][0]["id"] == EMBEDDED_MODEL_NAME
    headers = {"Authorization": f"Bearer {model.endpoint().key}"}
    assert asked(model, "/health", headers).json() == {"status": "ok"}


def test_response_format_is_enforced(client: httpx2.Client) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "action", "schema": ACTION}}
    answer = complete(client, messages=[user("A lamp lies here.")], response_format=wanted)
    jsonschema.validate(json.loads(message_of(answer)["content"]), ACTION)


@pytest.mark.parametrize("requests", [3, pytest.param(10, marks=pytest.mark.soak)])
def test_every_tool_request_gets_a_valid_answer(client: httpx2.Client, requests: int) -> None:
    """Each is a call with valid arguments or a valid reply, as the model likes."""
    for seed in range(requests):
        answer = complete(
            client,
            messages=[SYSTEM, user("A lamp lies here. What do you do?")],
            tools=[THINK, MAP],
            tool_choice="required" if seed % 2 else "auto",
            guided_json=ACTION,
            seed=seed,
        )
        message = message_of(answer)
        if seed % 2 or message.get("tool_calls"):
            (call,) = message["tool_calls"]
            parameters: dict[str, dict[str, Any]] = {
                "thoughtbox_think": THINK_PARAMETERS,
                "map_exits": {"maxProperties": 0},
            }
            arguments = json.loads(call["function"]["arguments"])
            jsonschema.validate(arguments, parameters[call["function"]["name"]])
            assert answer["choices"][0]["finish_reason"] == "tool_calls"
        else:
            jsonschema.validate(json.loads(message["content"]), ACTION)


def test_a_named_tool_is_the_one_called(client: httpx2.Client) -> None:
    choice = {"type": "function", "function": {"name": "map_exits"}}
    answer = complete(client, messages=[user("Hm.")], tools=[THINK, MAP], tool_choice=choice)
    (call,) = message_of(answer)["tool_calls"]
    assert call["function"] == {"name": "map_exits", "arguments": "{}"}


def test_tool_choice_none_gives_text(client: httpx2.Client) -> None:
    answer = complete(
        client, messages=[user("Say yes.")], tools=[THINK], tool_choice="none", max_tokens=8
    )
    assert message_of(answer)["content"]
    assert "tool_calls" not in message_of(answer)


def test_a_tool_result_is_followed_by_the_reply(client: httpx2.Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "map_exits", "arguments": "{}"}}
    history = [
        {**SYSTEM, "cache_control": {"type": "ephemeral"}},
        {"role": "user", "content": [{"type": "text", "text": "Where can I go?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "north"},
    ]
    answer = complete(client, messages=history, tools=[THINK, MAP], guided_json=ACTION)
    jsonschema.validate(json.loads(message_of(answer)["content"]), ACTION)


def test_the_common_head_of_two_prompts_is_evaluated_once(client: httpx2.Client) -> None:
    for text in ("A door is here.", "A key is here."):
        answer = complete(client, messages=[SYSTEM, user(text)], max_tokens=1)
    usage = answer["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0.8 * usage["prompt_tokens"]


# --- Refusals -------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_refused_in_openais_shape(
    client: httpx2.Client,
) -> None:
    response = client.post("/chat/completions", json={"messages": [user("lamp " * 6000)]})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "4096" in error["message"]


@pytest.mark.parametrize("body", [b"{no json", b"[]", b"{}"])
def test_a_malformed_request_is_refused_and_the_next_one_served(
    client: httpx2.Client, body: bytes
) -> None:
    response = client.post("/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert client.get("/models").status_code == 200


def test_an_unknown_page_is_not_found(client: httpx2.Client) -> None:
    assert client.get("/embeddings").status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_a_wrong_key_is_refused(model: LocalModel, headers: dict[str, str]) -> None:
    assert asked(model, "/v1/models", headers).status_code == 401


@linux_only
def test_no_port_is_open(model: LocalModel) -> None:
    model.endpoint()
    links = []
    for descriptor in Path(f"/proc/{model.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            links.append(str(descriptor.readlink()))
    sockets = {link[8:-1] for link in links if link.startswith("socket:")}
    tables = [it for it in map(Path, ("/proc/net/tcp", "/proc/net/tcp6")) if it.exists()]
    rows = [line.split() for it in tables for line in it.read_text().splitlines()[1:]]
    assert sockets
    assert not [row for row in rows if row[3] == "0A" and row[9] in sockets]


def test_the_key_stands_in_no_command_line(model: LocalModel) -> None:
    key = model.endpoint().key
    if (of_linux := Path(f"/proc/{model.pid}/cmdline")).exists():
        shown = of_linux.read_bytes()
    else:
        shown = subprocess.check_output(["ps", "-o", "args=", "-p", str(model.pid)])
    assert b"local_model.server" in shown
    assert key.encode() not in shown


def test_another_host_is_not_the_models_business(client: httpx2.Client) -> None:
    with pytest.raises(httpx2.UnsupportedProtocol, match="only"):
        client.get("http://127.0.0.1:9/")
