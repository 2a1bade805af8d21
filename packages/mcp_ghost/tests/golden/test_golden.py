"""Recording, replaying and the file.

What differs is in test_golden_comparison.py, what a file must not hold in test_golden_secrets.py.
"""

from __future__ import annotations

import asyncio
import json
import re
import resource
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_ghost import mcp_ghost
from mcp_ghost.errors import GoldenError, GoldenExhaustedError, LLMError
from mcp_ghost.golden import (
    RecordingTransport,
    ReplayTransport,
    assert_matches_golden,
    compare_golden,
    load_golden,
    record_golden,
    replay_golden,
    save_golden,
)
from mcp_ghost.testing import ModelServer, Reply, Script, content_reply
from tests.support.golden_cases import CHAIN, CHAINS, Case, calls, servers

pytestmark = pytest.mark.mcp


ASKED: dict[str, Any] = {
    "server_config": {"mcpServers": {}},
    "system_prompt": "Be brief.",
    "provider": "openai",
    "user_prompt": "What is there?",
    "model": "gpt-4o",
}


def record(script: Script, path: str | Path = "case.json", **options: Any) -> dict[str, Any]:  # noqa: ANN401
    """A run that ``script`` plays, with the folder's server unless told otherwise."""
    with ModelServer(script) as model:
        arguments = {**ASKED, "server_config": servers("files"), "base_url": model.base_url}
        return asyncio.run(record_golden(path, **{**arguments, **options}))


def replay(golden: Any, **overrides: Any) -> Any:  # noqa: ANN401  as replay_golden
    return asyncio.run(replay_golden(golden, **overrides))


# --- replaying


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case.provider)
def test_a_replay_runs_real_servers_without_key_and_network(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.invalid")
    replayed = replay(case.path)
    assert replayed["success"]
    assert Path("report.md").read_text() == "- brass: 5\n- desk: 1\n"
    assert compare_golden(replayed, case.path, max_age_days=None) == []


def test_a_replay_is_a_result_like_any_other() -> None:
    replayed = replay(load_golden(CHAIN))
    assert replayed.keys() == {*load_golden(CHAIN)["golden_output"], "servers"}  # an older one
    assert json.loads(json.dumps(replayed)) == replayed


async def test_the_transport_alone_replays_a_call_of_mcp_ghost() -> None:
    replies = ReplayTransport(CHAIN)
    run = mcp_ghost(
        servers("db", "files"),
        "You work at another desk.",
        "openai",
        user_prompt="Report, please.",
        model="gpt-4o",
        transport=replies,
    )
    assert_matches_golden(await run, CHAIN, max_age_days=None)
    assert replies.drift == []


async def test_an_error_recorded_under_the_name_of_a_function_calls_nothing() -> None:
    golden = load_golden(CHAIN)
    golden["provider_responses"][0]["error"] = ["get", "http://127.0.0.1:9/"]
    async with httpx2.AsyncClient(transport=ReplayTransport(golden)) as client:
        with pytest.raises(httpx2.TransportError, match=re.escape("http://127.0.0.1:9/")) as caught:
            await client.post("http://model.test/v1/chat/completions", json={})
    assert type(caught.value) is httpx2.TransportError


def test_more_requests_than_replies_are_an_error_that_says_so() -> None:
    golden = load_golden(CHAIN)
    del golden["provider_responses"][2:]
    with pytest.raises(GoldenExhaustedError, match="has 2 replies, and the run asked for more"):
        replay(golden)


def test_fewer_requests_than_replies_are_drift() -> None:
    golden = load_golden(CHAIN)
    golden["provider_responses"].append(golden["provider_responses"][-1])
    assert replay(golden).drift == ["requests: 7 were recorded, the run made 6"]


def test_what_a_run_asks_differently_is_drift_and_no_exception() -> None:
    replayed = replay(CHAIN, model="gpt-5", deny=["files.check"])
    assert replayed["success"]
    assert replayed.drift == [
        "request 1: model: recorded gpt-4o, now gpt-5",
        "request 1: tools: no longer offered: mcp_ghost_files_check",
    ]
    assert set(replayed.drift) <= set(compare_golden(replayed, CHAIN))


def test_roles_that_differ_are_drift() -> None:
    replayed = replay(CHAIN, conversation_memory=False)
    drift = [line for line in replayed.drift if "role" in line]
    assert drift[0].startswith("request 3: message 5, role: recorded assistant, now nothing")


def blank(request: Any) -> None:  # noqa: ANN401  a recorded request on any wire
    """Take the text out of every result of a tool."""
    for message in request.get("messages") or request.get("input") or request["contents"]:
        if message.get("role") == "tool":
            message["content"] = ""
        elif "output" in message:
            message["output"] = ""
        for part in message.get("parts") or message.get("content") or ():
            if isinstance(part, dict) and part.get("type") == "tool_result":
                part["content"] = ""
            elif isinstance(part, dict) and "functionResponse" in part:
                part["functionResponse"]["response"] = {"output": ""}


@pytest.mark.parametrize("case", CHAINS, ids=lambda case: case.file)
def test_a_result_that_the_model_is_told_otherwise_is_drift(case: Case) -> None:
    golden = load_golden(case.path)
    for exchange in golden["provider_responses"]:
        blank(exchange["request"])
    told = [
        line.partition(": recorded")[0].removesuffix(".output") for line in replay(golden).drift
    ]
    tools = ("db_list", "db_describe", "db_query", "files_write", "files_read")
    assert told == [
        f"request {n}: message {2 * n}, result of mcp_ghost_{tool}"
        for n, tool in enumerate(tools, 2)
    ]


def test_a_replay_ends_with_the_recorded_words() -> None:
    replayed = replay(CHAIN)
    replayed["final_result"] = "banana"
    (line,) = compare_golden(replayed, CHAIN, max_age_days=None)
    assert line.startswith('final_result: recorded "The report is written')
    assert line.endswith('now "banana"')


def test_prompts_may_be_worded_anew() -> None:
    replayed = replay(CHAIN, system_prompt="Be kind.", user_prompt="A report, please.")
    assert replayed.drift == []


def test_a_golden_without_replies_or_input_cannot_be_replayed() -> None:
    golden = load_golden(CHAIN)
    with pytest.raises(GoldenError, match="contains no provider_responses"):
        replay({**golden, "provider_responses": []})
    with pytest.raises(GoldenError, match="input lacks provider, server_config, user_prompt"):
        replay({**golden, "input": {}})


# --- recording


def test_a_recording_holds_input_replies_tokens_and_outcome() -> None:
    read = calls(("files.read", {"name": "prices.txt"}), text="I look.")
    result = record(
        [read, content_reply("Brass 30, desk 45.")], test_name="prices", max_iterations=3
    )
    golden = load_golden("case.json")
    assert golden["golden_output"] == result
    assert golden["test_name"] == "prices"
    assert golden["recorded_from"] == "protocol server"
    assert golden["input"]["user_prompt"] == "What is there?"
    assert golden["input"]["max_iterations"] == 3
    first, second = golden["provider_responses"]
    assert (first["iteration"], second["iteration"]) == (1, 2)
    assert first["request"]["messages"][-1] == {"role": "user", "content": "What is there?"}
    assert second["response"]["choices"][0]["message"]["content"] == "Brass 30, desk 45."
    assert first["token_usage"]["completion_tokens"] == 8
    assert compare_golden(replay("case.json"), golden) == []


def test_failures_of_the_provider_are_recorded_and_come_again() -> None:
    page = Reply(b"<html>Bad gateway</html>", 502, {"retry-after": "0"})
    record([Reply(drop=True), page, content_reply("There is nothing.")])
    broken, bad, good = load_golden("case.json")["provider_responses"]
    assert broken["error"][0] == "RemoteProtocolError"
    assert (bad["status"], bad["response"]) == (502, "<html>Bad gateway</html>")
    assert [entry["iteration"] for entry in (broken, bad, good)] == [1, 1, 1]
    replayed = replay("case.json")
    assert compare_golden(replayed, "case.json") == []
    assert replayed["final_result"] == "There is nothing."


def test_a_run_without_success_is_recorded_too() -> None:
    refused = Reply({"error": {"message": "No such model"}}, 404)
    assert not record([refused])["success"]
    replayed = replay("case.json")
    assert not replayed["success"]
    assert compare_golden(replayed, "case.json") == []


async def test_a_model_that_the_dotenv_file_names_is_recorded_as_what_it_is() -> None:
    with ModelServer(["Nothing."]) as model:
        Path(".env").write_text(f"OPENAI_BASE_URL={model.base_url}\n")
        await record_golden("case.json", **ASKED)
    golden = load_golden("case.json")
    assert golden["recorded_from"] == "protocol server"
    assert golden["input"]["base_url"].startswith("http://127.0.0.1")


async def test_without_a_key_nothing_is_recorded() -> None:
    with pytest.raises(LLMError, match="OPENAI_API_KEY"):
        await record_golden("case.json", **ASKED, base_url="https://api.openai.invalid.test")
    assert not Path("case.json").exists()


def test_the_servers_may_come_from_a_file() -> None:
    Path("servers.json").write_text(json.dumps(servers("files")))
    record(["Nothing."], server_config="servers.json")
    Path("servers.json").unlink()
    assert replay("case.json")["success"]


def test_a_transport_of_ones_own_is_recorded() -> None:
    with ModelServer(
        [calls(("files.read", {"name": "prices.txt"})), content_reply("Few.")]
    ) as model:
        recording = RecordingTransport()
        run = mcp_ghost(
            servers("files"),
            "",
            "openai",
            user_prompt="Which prices?",
            base_url=model.base_url,
            transport=recording,
        )
        result = asyncio.run(run)
    given = {
        "server_config": servers("files"),
        "provider": "openai",
        "user_prompt": "Which prices?",
    }
    save_golden(
        "case.json",
        result,
        input={**given, "base_url": "http://127.0.0.1/v1"},
        provider_responses=recording.exchanges,
    )
    assert compare_golden(replay("case.json"), "case.json") == []


def test_a_volatile_tool_may_return_anything() -> None:
    record([calls(("files.list", {})), content_reply("Some files.")], volatile=["files.l*"])
    Path("one more file").touch()
    assert compare_golden(replay("case.json"), "case.json") == []


def test_arguments_that_mcp_ghost_does_not_take_are_an_error_and_no_file() -> None:
    with pytest.raises(TypeError, match="'promt'"):
        record([], promt="Hello")
    assert not Path("case.json").exists()


# --- the file


def test_a_bare_result_is_enough_to_compare_with() -> None:
    result = record([content_reply("Nothing.")])
    golden = save_golden("bare/other.json", result)
    assert golden["test_name"] == "other"
    assert compare_golden(result, "bare/other.json") == []
    Path("printed.json").write_text(json.dumps(result), encoding="utf-8")
    assert load_golden("printed.json")["golden_output"] == result
    assert compare_golden(result, "printed.json", max_age_days=None) == []


def test_a_file_that_cannot_be_replaced_stays_and_leaves_nothing_behind() -> None:
    result = record([content_reply("Nothing.")])
    Path("folder/case.json").mkdir(parents=True)
    with pytest.raises(GoldenError, match="cannot be written"):
        save_golden("folder/case.json", result)
    assert [path.name for path in Path("folder").iterdir()] == ["case.json"]


async def test_where_nothing_can_be_written_nothing_is_asked() -> None:
    Path("taken").touch()
    with ModelServer([content_reply("Nothing.")]) as model:
        with pytest.raises(GoldenError, match="cannot be written"):
            await record_golden("taken/case.json", base_url=model.base_url, **ASKED)
        assert model.requests == []


async def test_where_the_disk_is_full_after_the_run_its_result_comes_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Path("case.json").write_text("before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ModelServer([content_reply("Nothing.")]) as model:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            result = await record_golden("case.json", base_url=model.base_url, **ASKED)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result["final_result"] == "Nothing."
    assert "case.json cannot be written" in str(result.fault)
    assert "case.json cannot be written" in caplog.text
    assert {path.name: path.read_text() for path in Path().iterdir()} == {"case.json": "before"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No golden at case.json. Record it with record_golden"),
        ("{", "cannot be read"),
        ("[]", "has no 'golden_output'"),
        ('{"golden_output": 1}', "has no 'golden_output'"),
    ],
)
def test_what_is_not_a_golden_is_an_error_with_the_reason(text: str | None, message: str) -> None:
    if text is not None:
        Path("case.json").write_text(text)
    with pytest.raises(GoldenError, match=message):
        load_golden("case.json")


def test_a_folder_is_no_golden_and_named_once() -> None:
    Path("cases").mkdir()
    with pytest.raises(GoldenError) as refused:
        load_golden("cases")
    assert str(refused.value) == "The golden cases cannot be read: Is a directory"
