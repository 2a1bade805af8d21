"""The embedded model as it is: the real child process with the real model file."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema  # type: ignore[import-untyped]  # ships no types; mcp depends on it
import pytest

import local_model.process
from local_model import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME, LocalModelError, embedded_transport
from local_model.process import LocalModel
from local_model.settings import KEY_VARIABLE, Settings, find_model
from local_model.transport import EmbeddedModelTransport

Json = dict[str, Any]

ROOT = Path(local_model.process.__file__).parent.parent
WAIT = 30.0
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


def tool(name: str, parameters: Json) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


THINK = tool("thoughtbox_think", THINK_PARAMETERS)
MAP = tool("map_exits", {"type": "object", "properties": {}})


def user(text: str) -> Json:
    return {"role": "user", "content": text}


@pytest.fixture(scope="module")
def notices() -> list[str]:
    return []


@pytest.fixture(scope="module")
def model(notices: list[str]) -> Iterator[LocalModel]:
    model = LocalModel(on_notice=notices.append)
    yield model
    model.close()
    assert model.pid is None


@pytest.fixture(scope="module")
def client(model: LocalModel) -> Iterator[httpx.Client]:
    transport = EmbeddedModelTransport(model)
    with httpx.Client(transport=transport, base_url=EMBEDDED_BASE_URL, timeout=60) as client:
        yield client


def complete(client: httpx.Client, **fields: object) -> Json:
    """One chat completion that has to succeed."""
    response = client.post("/chat/completions", json={"model": EMBEDDED_MODEL_NAME, **fields})
    assert response.status_code == 200, response.text
    answer: Json = response.json()
    return answer


def message_of(answer: Json) -> Json:
    message: Json = answer["choices"][0]["message"]
    return message


# --- Answers --------------------------------------------------------------------------------------


def test_the_first_request_starts_the_model_and_says_so(
    client: httpx.Client, model: LocalModel, notices: list[str]
) -> None:
    answer = complete(client, messages=[user("Say hello.")], max_tokens=8)
    assert message_of(answer)["content"].strip()
    assert answer["model"] == EMBEDDED_MODEL_NAME
    assert answer["usage"]["completion_tokens"] <= 8
    assert notices == ["Starting the embedded model SmolLM2-135M-Instruct ..."]
    assert model.pid


def test_the_model_says_its_name_and_health(client: httpx.Client, model: LocalModel) -> None:
    assert client.get("/models").json()["data"][0]["id"] == EMBEDDED_MODEL_NAME
    endpoint = model.endpoint()
    headers = {"Authorization": f"Bearer {endpoint.key}"}
    health = httpx.get(f"http://127.0.0.1:{endpoint.port}/health", headers=headers)
    assert health.json() == {"status": "ok"}


def test_response_format_is_enforced(client: httpx.Client) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "action", "schema": ACTION}}
    answer = complete(client, messages=[user("A lamp lies here.")], response_format=wanted)
    jsonschema.validate(json.loads(message_of(answer)["content"]), ACTION)


def test_ten_tool_requests_give_ten_valid_answers(client: httpx.Client) -> None:
    """Each is a call with valid arguments or a valid reply, as the model likes."""
    for seed in range(10):
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
            parameters = {"thoughtbox_think": THINK_PARAMETERS, "map_exits": {"maxProperties": 0}}
            arguments = json.loads(call["function"]["arguments"])
            jsonschema.validate(arguments, parameters[call["function"]["name"]])
            assert answer["choices"][0]["finish_reason"] == "tool_calls"
        else:
            jsonschema.validate(json.loads(message["content"]), ACTION)


def test_a_named_tool_is_the_one_called(client: httpx.Client) -> None:
    choice = {"type": "function", "function": {"name": "map_exits"}}
    answer = complete(client, messages=[user("Hm.")], tools=[THINK, MAP], tool_choice=choice)
    (call,) = message_of(answer)["tool_calls"]
    assert call["function"] == {"name": "map_exits", "arguments": "{}"}


def test_tool_choice_none_gives_text(client: httpx.Client) -> None:
    answer = complete(
        client, messages=[user("Say yes.")], tools=[THINK], tool_choice="none", max_tokens=8
    )
    assert message_of(answer)["content"]
    assert "tool_calls" not in message_of(answer)


def test_a_tool_result_is_followed_by_the_reply(client: httpx.Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "map_exits", "arguments": "{}"}}
    history = [
        {**SYSTEM, "cache_control": {"type": "ephemeral"}},
        {"role": "user", "content": [{"type": "text", "text": "Where can I go?"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "north"},
    ]
    answer = complete(client, messages=history, tools=[THINK, MAP], guided_json=ACTION)
    jsonschema.validate(json.loads(message_of(answer)["content"]), ACTION)


def test_the_common_head_of_two_prompts_is_evaluated_once(client: httpx.Client) -> None:
    for text in ("A door is here.", "A key is here."):
        answer = complete(client, messages=[SYSTEM, user(text)], max_tokens=1)
    usage = answer["usage"]
    assert usage["prompt_tokens_details"]["cached_tokens"] > 0.8 * usage["prompt_tokens"]


# --- Refusals -------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_refused_in_openais_shape(
    client: httpx.Client,
) -> None:
    response = client.post("/chat/completions", json={"messages": [user("lamp " * 6000)]})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "context_length_exceeded"
    assert "4096" in error["message"]


@pytest.mark.parametrize("body", [b"{no json", b"[]", b"{}"])
def test_a_malformed_request_is_refused_and_the_next_one_served(
    client: httpx.Client, body: bytes
) -> None:
    response = client.post("/chat/completions", content=body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert client.get("/models").status_code == 200


def test_an_unknown_page_is_not_found(client: httpx.Client) -> None:
    assert client.get("/embeddings").status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_a_wrong_key_is_refused(
    client: httpx.Client, model: LocalModel, headers: dict[str, str]
) -> None:
    response = httpx.get(f"http://127.0.0.1:{model.endpoint().port}/v1/models", headers=headers)
    assert response.status_code == 401
    assert response.json()["error"]["code"] == "invalid_api_key"


@linux_only
def test_every_port_is_on_loopback_and_asks_for_a_key(model: LocalModel) -> None:
    model.endpoint()
    links = [str(fd.readlink()) for fd in Path(f"/proc/{model.pid}/fd").iterdir()]
    sockets = {link[8:-1] for link in links if link.startswith("socket:")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1].split(":") for row in rows if row[3] == "0A" and row[9] in sockets]
    assert listening
    for address, port in listening:
        assert address == "0100007F"
        url = f"http://127.0.0.1:{int(port, 16)}/v1/chat/completions"
        assert httpx.post(url, json={"messages": [user("hi")]}).status_code == 401
    if Path("/proc/net/tcp6").exists():
        assert not sockets & {
            line.split()[9] for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
        }


def test_the_key_stands_in_no_command_line(model: LocalModel) -> None:
    key = model.endpoint().key
    shown = subprocess.run(["ps", "-o", "args=", "-p", str(model.pid)], capture_output=True)
    assert b"local_model.server" in shown.stdout
    assert key.encode() not in shown.stdout


def test_another_host_is_not_the_models_business(client: httpx.Client) -> None:
    with pytest.raises(httpx.UnsupportedProtocol, match="only"):
        client.get("http://127.0.0.1:9/")


# --- Life and death -------------------------------------------------------------------------------


def test_the_model_outlives_the_thread_that_started_it() -> None:
    model = LocalModel()
    thread = threading.Thread(target=model.endpoint)
    thread.start()
    thread.join(WAIT)
    try:
        first = model.pid
        assert first is not None
        assert not model.has_ended(within=0.5)
        model.endpoint()
        assert model.pid == first
    finally:
        model.close()


def test_threads_that_ask_at_once_share_one_child(notices: list[str]) -> None:
    said: list[str] = []
    model = LocalModel(on_notice=said.append)
    threads = [threading.Thread(target=model.endpoint) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    model.close()
    assert len(said) == 1


def test_a_killed_child_is_replaced_and_the_request_answered(
    client: httpx.Client, model: LocalModel, notices: list[str]
) -> None:
    model.endpoint()
    first = model.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert client.get("/models").status_code == 200
    assert model.pid not in (None, first)
    assert "starting it again" in notices[-1]


@linux_only
def test_a_child_killed_during_a_request_is_replaced_and_the_request_sent_again(
    client: httpx.Client, model: LocalModel
) -> None:
    answers: list[Json] = []
    ask = {"messages": [user("Tell a long story.")], "max_tokens": 60}
    thread = threading.Thread(target=lambda: answers.append(complete(client, **ask)))
    model.endpoint()
    first = model.pid
    assert first is not None
    thread.start()
    wait_until_busy(first)
    os.kill(first, signal.SIGKILL)
    thread.join(WAIT)
    assert answers
    assert model.pid != first


def wait_until_busy(pid: int) -> None:
    """Until the process has spent a tenth of a second more of processor time."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    begin, deadline = ticks(), time.monotonic() + WAIT
    while ticks() < begin + 10:
        assert time.monotonic() < deadline


def test_close_is_quick_and_the_model_can_start_again() -> None:
    model = LocalModel()
    first = model.endpoint()
    begin = time.monotonic()
    model.close()
    model.close()
    assert time.monotonic() - begin < 5
    assert model.pid is None
    assert model.endpoint() != first
    model.close()


PARENT = """
import os, sys, threading
from local_model.process import LocalModel
from local_model.transport import EmbeddedModelTransport
import httpx

model = LocalModel()
model.endpoint()
client = httpx.Client(transport=EmbeddedModelTransport(model))
ask = {"messages": [{"role": "user", "content": "Tell a story."}], "max_tokens": 3000}
url = "http://embedded.invalid/v1/chat/completions"
threading.Thread(target=lambda: client.post(url, json=ask, timeout=60), daemon=True).start()
if sys.argv[2] == "fork" and os.fork() == 0:
    os.read(int(sys.argv[1]), 1)  # holds the pipe to the model until the test lets go
    os._exit(0)
print(model.pid, flush=True)
sys.stdin.readline()
if sys.argv[2] == "raise":
    raise SystemExit(3)
"""


@linux_only
@pytest.mark.parametrize(
    ("way", "what"), [("kill", "plain"), ("kill", "fork"), ("end", "plain"), ("end", "raise")]
)
def test_no_child_is_left_however_the_parent_ends(way: str, what: str) -> None:
    held, let_go = os.pipe()
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(held), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # the request that is cut off
        cwd=ROOT,
        pass_fds=[held],
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent, parent.stdin, parent.stdout:
        child = os.pidfd_open(int(parent.stdout.readline()))
        try:
            if way == "kill":
                parent.kill()
            else:
                parent.stdin.write(b"\n")
                parent.stdin.flush()
            ready, _, _ = select.select([child], [], [], 10)
            assert ready, "the model is still running"
        finally:
            for descriptor in (child, held, let_go):
                os.close(descriptor)


def test_the_server_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "local_model.server", "--model", str(find_model(Settings()))]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, KEY_VARIABLE: "made-up"},
    )
    with server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = json.loads(server.stdout.readline())["port"]
        headers = {"Authorization": "Bearer made-up"}
        assert httpx.get(f"http://127.0.0.1:{port}/health", headers=headers).status_code == 200
        server.stdin.close()
        try:
            assert server.wait(10) == 0
        finally:
            server.kill()


def test_the_server_does_not_start_without_a_key() -> None:
    command = [sys.executable, "-m", "local_model.server", "--model", "none.gguf"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1
    assert KEY_VARIABLE in ran.stderr


# --- What can be wrong ----------------------------------------------------------------------------


def test_a_missing_model_file_is_named_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match=r"none\.gguf.*model_path"):
        embedded_transport(model_path=tmp_path / "none.gguf")


def test_a_file_that_is_no_model_is_named_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "story.gguf").write_text("Once upon a time")
    with pytest.raises(LocalModelError, match="not a GGUF model file"):
        embedded_transport(model_path=tmp_path / "story.gguf")


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    """Without site-packages nothing is installed."""
    code = "from local_model.settings import *; find_model(Settings())"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True
    )
    assert re.search(r"LocalModelError: .*xllamacpp.*uv sync.*--base-url", ran.stderr)


def test_a_broken_model_file_is_reported_with_the_engines_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    model = LocalModel(Settings(model_path=broken))
    with pytest.raises(LocalModelError, match=r"ended while it started(.|\n)*model"):
        model.endpoint()
    assert model.pid is None


def engine_that(does: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a package in front of the real engine."""
    (folder / "xllamacpp.py").write_text(textwrap.dedent(does))
    monkeypatch.setenv("PYTHONPATH", str(folder))


@linux_only
def test_a_processor_without_avx2_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_that("import os; os.kill(os.getpid(), 4)", tmp_path, monkeypatch)
    with pytest.raises(LocalModelError, match=r"AVX2.*--base-url"):
        LocalModel().endpoint()


def test_a_start_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that("import threading; threading.Event().wait()", tmp_path, monkeypatch)
    model = LocalModel(start_seconds=0.5)
    with pytest.raises(LocalModelError, match=r"not ready after 0\.5 seconds"):
        model.endpoint()
    assert model.pid is None


def test_a_model_that_cannot_start_is_no_connection_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that("raise SystemExit('no memory')", tmp_path, monkeypatch)
    with (
        httpx.Client(transport=EmbeddedModelTransport(LocalModel())) as client,
        pytest.raises(LocalModelError, match="no memory"),
    ):
        client.get(f"{EMBEDDED_BASE_URL}/models")


def test_transports_with_the_same_settings_share_one_model(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    first, second = (embedded_transport(model_path=path) for _ in range(2))
    other = embedded_transport(model_path=path, context=512)
    assert isinstance(first, EmbeddedModelTransport)
    assert isinstance(second, EmbeddedModelTransport)
    assert isinstance(other, EmbeddedModelTransport)
    assert first.model is second.model
    assert other.model is not first.model


def test_the_package_is_imported_in_no_time() -> None:
    code = "import local_model, sys; print([m for m in sys.modules if m in ('httpx', 'json')])"
    ran = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True)
    assert ran.stdout.strip() == b"[]"


def test_only_names_that_exist_can_be_imported() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = local_model.nonsense
