"""What files of the working directory may name, and who is asked about it."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from mcp_ghost.env_file import load_env_file, place_of, read_env_file
from mcp_ghost.errors import LLMError
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.providers.hosted import HOSTED
from mcp_ghost.trust import VARIABLE, is_plain, may_use
from tests.support import PATIENCE, ROOT

OPENS = "MOVIE_ALLOW_PRIVATE_URLS=1\n"


@pytest.fixture(autouse=True)
def own_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


@contextmanager
def somebody_at_the_terminal(
    answer: str, monkeypatch: pytest.MonkeyPatch, typed_before: str = "", *, asks: bool = True
) -> Iterator[list[str]]:
    """Answers the first question; gives what was shown."""
    ours, theirs = pty.openpty()
    shown: list[str] = []

    def look() -> None:
        while ("n = no" if asks else "--trust") not in "".join(shown):
            shown.append(os.read(ours, 4096).decode())
        os.write(ours, answer.encode())

    os.write(ours, typed_before.encode())
    with os.fdopen(theirs, "r+b", buffering=0) as raw, monkeypatch.context() as patch:
        streams = [io.TextIOWrapper(raw), io.TextIOWrapper(raw, write_through=True)]
        patch.setattr(sys, "stdin", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        looking = Thread(target=look)
        looking.start()
        yield shown
        looking.join(PATIENCE)
        for stream in streams:
            stream.detach()
    os.close(ours)


@pytest.mark.parametrize(
    ("line", "may_be_set"),
    [
        *((f"{name}=k", True) for it in HOSTED for name in it.key_variables),
        *((f"{it.base_url_variable}=http://h/v1", True) for it in HOSTED),
        ("ZORKGPT_CLIENT_BASE_URL=http://h/v1", True),
        ("ZORKGPT_MAX_TURNS_PER_EPISODE=3", True),
        ("ZORKGPT_STORY=bundled", True),
        ("ZORKGPT_STORY=gym:this:X-v0", False),
        ("ZORKGPT_STORY=https://10.0.0.1/x.z5", False),
        ("ZORKGPT_INTERPRETER_PATH=.", False),
        ("zorkgpt_interpreter_path=.", False),
        ("ZORKGPT_LOCAL_MODEL_PATH=m.gguf", False),
        ("ZORKGPT_WORKDIR=/home", False),
        ("ZORKGPT_STORAGE_DATABASE_URL=postgresql://h/d", False),
        ("MOVIE_JOB_LEASE=5", True),
        ("MOVIE_DATABASE_URL=postgresql://h/d", False),
        ("MOVIE_ALLOW_PRIVATE_URLS=1", False),
        ("OPENAI_API_KEY=${ANTHROPIC_API_KEY}", False),
        ("LANGFUSE_BASE_URL=http://h", False),
        ("HTTPS_PROXY=http://h", False),
        ("LD_PRELOAD=./x.so", False),
        ("PATH=.", False),
        ("MCP_GHOST_TRUST=/", False),
        ("XOPENAI_API_KEY=k", False),
    ],
)
def test_a_file_may_say_how_to_play_but_not_what_runs_or_where_data_goes(
    line: str, may_be_set: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".env").write_text(line)
    name, _, value = line.partition("=")
    assert is_plain(name, value) == may_be_set
    assert read_env_file() == ({name: value} if may_be_set else {})
    said = capsys.readouterr().err
    assert (name in said) != may_be_set
    assert ("--trust" in said) != may_be_set


def test_what_was_left_out_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    Path(".env").write_text(OPENS)
    read_env_file()
    read_env_file()
    assert capsys.readouterr().err.count("MOVIE_ALLOW_PRIVATE_URLS") == 1


def test_the_files_of_the_checkout_need_no_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert may_use(ROOT / "mcp_config.json", {"anything": ""})
    assert not may_use(ROOT / "tests" / "README.md", {"anything": ""})
    assert capsys.readouterr().err.count("anything") == 1


def test_a_trusted_folder_is_used_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".env").write_text(OPENS + "A=${OPENAI_API_KEY}\n")
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.setenv(VARIABLE, f"/nowhere{os.pathsep}{Path.cwd()}")
    assert read_env_file() == {"MOVIE_ALLOW_PRIVATE_URLS": "1", "A": "mine"}
    assert not capsys.readouterr().err


def test_a_yes_holds_until_the_file_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text(OPENS)
    with somebody_at_the_terminal("y\n", monkeypatch) as shown:
        assert read_env_file()
    assert '"MOVIE_ALLOW_PRIVATE_URLS"' in "".join(shown)
    assert may_use(Path(".env"), {'"MOVIE_ALLOW_PRIVATE_URLS"': ""})
    assert not may_use(Path(".env"), {"an address that the question did not show": ""})
    Path(".env").write_text(OPENS + "LD_PRELOAD=./x.so\n")
    assert not read_env_file()


@pytest.mark.parametrize("answer", ["n\n", "\n", "yes please\n"])
def test_only_yes_is_yes_and_nothing_typed_before_counts(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".env").write_text(OPENS)
    with somebody_at_the_terminal(answer, monkeypatch, typed_before="y\ny\n"):
        assert not read_env_file()


def test_nobody_is_asked_about_more_than_a_screen_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text(OPENS)
    with somebody_at_the_terminal("y\n", monkeypatch, asks=False):
        assert not may_use(Path(".env"), {"server": "x" * 5000})


def test_a_library_asks_nobody_about_what_it_does_not_need(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(".env").write_text("DATABASE_URL=postgresql://h/d\nOPENAI_API_KEY=of-the-file\n")
    assert get_llm_client("openai").api_key == "of-the-file"
    assert not capsys.readouterr().err


def test_what_was_allowed_is_allowed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text(OPENS)
    with somebody_at_the_terminal("y\n", monkeypatch):
        assert may_use(Path(".env"), {"a": "", "b": ""})
    assert may_use(Path(".env"), {"b": ""})
    assert not may_use(Path(".env"), {"b": "", "c": ""})


def test_a_pipe_is_refused_at_once() -> None:
    os.mkfifo(".env")
    with pytest.raises(LLMError, match=r"Cannot read \.env: not a regular file"):
        read_env_file()


def test_what_was_loaded_still_counts_as_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    Path(".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:2/v1\n")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.delenv("OPENAI_BASE_URL")
    load_env_file()
    assert place_of(["OPENAI_BASE_URL"]) == Path(".env")
    monkeypatch.setenv("openai_base_url", "http://elsewhere/v1")
    assert place_of(["OPENAI_BASE_URL"]) is None


@pytest.mark.parametrize("where", ["http://127.0.0.1:1/v1", "https://example.com/v1"])
@pytest.mark.parametrize(
    ("environment", "file", "is_sent"),
    [
        ("key", "address", False),
        ("key address", "", True),
        ("key address", "address", True),
        ("", "key address", True),
        ("key", "key address", False),  # the environment's key is the one in use
        ("address", "key", True),
        ("key", "", True),
    ],
)
def test_a_key_goes_home_or_where_its_user_or_its_own_file_says(
    where: str, environment: str, file: str, is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {"key": ("OPENAI_API_KEY", "of-"), "address": ("OPENAI_BASE_URL", where)}
    for what in environment.split():
        monkeypatch.setenv(values[what][0], values[what][1])
    lines = [f"{values[what][0]}={values[what][1]}\n" for what in file.split()]
    Path(".env").write_text("".join(lines))
    if is_sent:
        assert get_llm_client("openai").api_key == "of-"
    else:
        with pytest.raises(LLMError, match=r"only \.env names: give the address by a flag"):
            get_llm_client("openai")
    assert get_llm_client("openai", "argument", base_url=where).api_key == "argument"


@pytest.mark.parametrize(
    ("address", "is_home"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.example.com/v1", False),
        ("https://api.openai.com@example.com/v1", False),
        ("https://openrouter.ai/api/v1", False),
    ],
)
def test_home_is_the_providers_own_host_over_tls(
    address: str, is_home: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    Path(".env").write_text(f"OPENAI_BASE_URL={address}\n")
    if is_home:
        assert get_llm_client("openai").api_key == "key"
    else:
        with pytest.raises(LLMError, match="is not sent to"):
            get_llm_client("openai")
