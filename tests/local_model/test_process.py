"""The embedded model's process: started late, replaced when it dies, gone with its parent."""

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
from pathlib import Path

import httpx2
import pytest

import local_model.process
from local_model.errors import LocalModelError
from local_model.process import LocalModel
from local_model.settings import KEY_VARIABLE, Settings, find_model
from local_model.transport import EmbeddedModelTransport, embedded_transport
from shared_utils import EMBEDDED_BASE_URL
from tests.support import PATIENCE, embedded_model

ROOT = Path(local_model.process.__file__).parent.parent
WAIT = PATIENCE
notices, model, client = embedded_model.notices, embedded_model.model, embedded_model.client
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc or uses a pidfd")


# --- Life and death -------------------------------------------------------------------------------


def test_threads_that_ask_at_once_share_one_child_which_outlives_them() -> None:
    said: list[str] = []
    model = LocalModel(on_notice=said.append)
    threads = [threading.Thread(target=model.endpoint) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    try:
        assert len(said) == 1
        first = model.pid
        assert first is not None
        assert not model.has_ended(within=0.5)
        model.endpoint()
        assert model.pid == first
    finally:
        model.close()
    assert model.pid is None


@linux_only
def test_a_system_without_openmp_is_lent_a_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model.process, "is_installed", lambda _library: False)
    model = LocalModel()
    try:
        model.endpoint()
        loaded = Path(f"/proc/{model.pid}/maps").read_text(encoding="utf-8")
    finally:
        model.close()
    assert re.search(r"site-packages/cmeel\.prefix/lib/libgomp\.so\.1$", loaded, re.MULTILINE)


def test_a_killed_child_is_replaced_and_the_request_answered(
    client: httpx2.Client, model: LocalModel, notices: list[str]
) -> None:
    model.endpoint()
    first = model.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert client.get("/models").status_code == 200
    assert model.pid not in (None, first)
    assert "starting it again" in notices[-1]


def test_it_is_told_that_the_model_is_being_loaded_and_when_it_is(model: LocalModel) -> None:
    told: list[tuple[str, float | None]] = []
    model.close()
    model.on_progress = lambda label, share: told.append((label, share))
    for _ in range(2):
        model.endpoint()
    assert told == [("Loading SmolLM2-135M-Instruct", None), ("Loading SmolLM2-135M-Instruct", 1)]


@linux_only
def test_a_child_killed_during_a_request_is_replaced_and_the_request_sent_again(
    client: httpx2.Client, model: LocalModel
) -> None:
    answers: list[int] = []
    story = {"role": "user", "content": "Tell a long story."}
    ask = {"messages": [story], "max_tokens": 60}

    def send() -> None:
        answers.append(client.post("/chat/completions", json=ask).status_code)

    thread = threading.Thread(target=send)
    model.endpoint()
    first = model.pid
    assert first is not None
    thread.start()
    wait_until_busy(first)
    os.kill(first, signal.SIGKILL)
    thread.join(WAIT)
    assert answers == [200]
    assert model.pid != first


def wait_until_busy(pid: int) -> None:
    """Until the process has spent a tenth of a second more of processor time."""

    def ticks() -> int:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    begin, deadline = ticks(), time.monotonic() + WAIT
    while ticks() < begin + 10:
        assert time.monotonic() < deadline


def test_close_leaves_no_process_and_the_model_can_start_again() -> None:
    model = LocalModel()
    first = model.endpoint()
    model.close()
    model.close()
    assert model.pid is None
    assert model.endpoint() != first
    model.close()


PARENT = """
import asyncio, os, sys, threading
from local_model.process import LocalModel
from local_model.transport import EmbeddedModelTransport
import httpx2

model = LocalModel()
model.endpoint()
client = httpx2.AsyncClient(transport=EmbeddedModelTransport(model))
ask = {"messages": [{"role": "user", "content": "Tell a story."}], "max_tokens": 3000}
url = "http://embedded.invalid/v1/chat/completions"
tell = client.post(url, json=ask, timeout=60)
threading.Thread(target=lambda: asyncio.run(tell), daemon=True).start()
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
    ("way", "what"),
    [
        ("kill", "fork"),
        ("end", "raise"),
        pytest.param("kill", "plain", marks=pytest.mark.soak),
        pytest.param("end", "plain", marks=pytest.mark.soak),
    ],
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


def test_the_server_ends_with_its_input(tmp_path: Path) -> None:
    socket = str(tmp_path / "model.sock")
    command = [sys.executable, "-m", "local_model.server", "--model", str(find_model(Settings()))]
    command += ["--socket", socket]
    server = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env=local_model.process._environment("made-up"),
    )
    with server:
        assert server.stdout is not None
        assert server.stdin is not None
        assert json.loads(server.stdout.readline()) == {"listens": f"unix://{socket}"}
        headers = {"Authorization": "Bearer made-up"}
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=socket)) as client:
            assert client.get("http://localhost/health", headers=headers).status_code == 200
        server.stdin.close()
        try:
            assert server.wait(PATIENCE) == 0
        finally:
            server.kill()


def test_the_server_does_not_start_without_a_key() -> None:
    command = [sys.executable, "-m", "local_model.server", "--model", "none.gguf"]
    command += ["--socket", "none.sock"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 1
    assert KEY_VARIABLE in ran.stderr


# --- What can be wrong ----------------------------------------------------------------------------


def test_a_missing_model_file_is_named_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(LocalModelError, match=r"none\.gguf.*model_path"):
        embedded_transport(model_path=tmp_path / "none.gguf")


def test_a_file_that_is_not_a_model_is_named_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "story.gguf").write_text("Once upon a time")
    with pytest.raises(LocalModelError, match="not a GGUF model file"):
        embedded_transport(model_path=tmp_path / "story.gguf")


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    """Without site-packages nothing is installed."""
    code = "from local_model.settings import *; find_model(Settings())"
    ran = subprocess.run(
        [sys.executable, "-S", "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "packages/mcp_ghost")},
        capture_output=True,
        text=True,
    )
    assert re.search(r"LocalModelError: .*xllamacpp.*uv sync.*--base-url", ran.stderr)


def test_a_broken_model_file_is_reported_with_the_engines_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    model = LocalModel(Settings(model_path=broken))
    with pytest.raises(LocalModelError, match=r"ended while starting(.|\n)*model"):
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


KILLED = """
    import os, pathlib, signal
    from unittest.mock import MagicMock as CommonParams

    tries = pathlib.Path(__file__).with_suffix(".tries")
    tries.open("a").write(".")
    if len(tries.read_text()) <= {times}:
        os.kill(os.getpid(), signal.SIGKILL)

    class Server:
        listening_address = "unix:///model.sock"
        def __init__(self, _):
            print("a word of a library\\n[]\\nand ", end="")
"""


def test_a_model_that_is_killed_while_it_loads_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that(KILLED.format(times=1), tmp_path, monkeypatch)
    said: list[str] = []
    model = LocalModel(on_notice=said.append)
    try:
        folder = Path(model.endpoint().socket).parent
        assert folder.stat().st_mode & 0o777 == 0o700, "nobody else reaches the model"
        assert "starting it again" in said[-1]
    finally:
        model.close()
    assert not folder.exists()


def test_a_model_that_is_killed_twice_while_it_loads_is_not_started_a_third_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that(KILLED.format(times=9), tmp_path, monkeypatch)
    with pytest.raises(LocalModelError, match=r"while starting \(SIGKILL\)"):
        LocalModel().endpoint()
    assert (tmp_path / "xllamacpp.tries").read_text() == ".."


def test_a_start_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that("import threading; threading.Event().wait()", tmp_path, monkeypatch)
    model = LocalModel(start_seconds=0.5)
    with pytest.raises(LocalModelError, match=r"not ready after 0\.5 seconds"):
        model.endpoint()
    assert model.pid is None


def test_a_model_that_cannot_start_is_not_a_connection_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine_that("raise SystemExit('no memory')", tmp_path, monkeypatch)
    with (
        httpx2.Client(transport=embedded_model.Waiting(LocalModel())) as client,
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
