"""The command line as a process: what it prints, how it ends, what it leaves behind."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import pytest

from mcp_ghost.golden import compare_golden, replay_golden
from mcp_ghost.testing import ModelServer, Reply, content_reply, error_reply
from tests.support import PATIENCE
from tests.support.golden_cases import GOLDENS, PROVIDERS, Wire, calls, servers
from tests.support.program import Program, heavy_imports, terminal
from tests.support.servers import eventually, faulty, pids, versions, write_config
from tests.support.wires import wire_flags

pytestmark = pytest.mark.mcp

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
HOSTILE = "[red]boo[/red] \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b5A \u202eback \r!"


@pytest.fixture
def ghost(tmp_path: Path) -> Program:
    program = Program(tmp_path, "-m", "mcp_ghost")
    program.env = {key: it for key, it in program.env.items() if not key.endswith("_BASE_URL")}
    (tmp_path / "servers.json").write_text(json.dumps(servers("db", "files")))
    return program


def flags(model: ModelServer, *more: str, provider: str = "openai") -> list[str]:
    asked = [*wire_flags(provider), "--base-url", model.base_url, "--prompt", "What is there?"]
    return ["run", "--config", "servers.json", *asked, *more]


def chain() -> list[Reply | str]:
    read = calls(("files.read", {"name": "prices.txt"}), text="I look into the file.")
    return [calls(("files.read", {"name": "nothing.txt"})), read, "Brass 30, desk 45."]


# --- run


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_answer_goes_to_stdout_and_the_progress_to_stderr(
    ghost: Program, provider: Wire
) -> None:
    with ModelServer(chain(), wire=provider) as model:
        run = ghost.run(*flags(model, provider=provider))
    assert run.stdout == "Brass 30, desk 45.\n"
    assert run.returncode == 0
    shown = [line.split(" · ")[0] for line in run.stderr.splitlines()]
    assert shown == [
        "mcp_ghost",
        "✓  db",
        "✓  files",
        "✗  files.read",
        "!  files.read failed: asking for another way",
        "…  I look into the file.",
        "✓  files.read",
        "✓  success",
    ]
    assert "no such file: nothing.txt" in run.stderr
    assert "2 calls (1 failed)" in run.stderr
    assert ghost.leftovers() == []


def test_a_retry_of_the_provider_and_a_lost_server_are_shown(ghost: Program) -> None:
    config = servers("files")
    config["mcpServers"]["gone"] = {"command": "no-such-program"}
    Path("servers.json").write_text(json.dumps(config))
    script = [
        error_reply(429, "Slow down.", {"retry-after": "0"}),
        calls(("files.check", {})),
        content_reply("Checked."),
    ]
    with ModelServer(script) as model:
        run = ghost.run(*flags(model))
    assert run.returncode == 0
    assert "!  Server 'gone' is not available" in run.stderr
    assert "!  Attempt 1 failed" in run.stderr
    assert "✗  files.check" in run.stderr
    assert "!  trying files.check again (retry 1)" in run.stderr
    assert "✓  files.check" in run.stderr


def test_quiet_shows_the_answer_only(ghost: Program) -> None:
    with ModelServer(chain()) as model:
        run = ghost.run(*flags(model, "--quiet"))
    assert (run.stdout, run.stderr, run.returncode) == ("Brass 30, desk 45.\n", "", 0)


def test_json_is_the_whole_result(ghost: Program) -> None:
    with ModelServer(chain()) as model:
        run = ghost.run(*flags(model, "--json", "--quiet"))
    result = json.loads(run.stdout)
    assert result["success"] is True
    assert [call["success"] for call in result["tool_chain"]] == [False, True]


def test_flags_reach_the_run(ghost: Program) -> None:
    script = [calls(("files.list", {})), content_reply("One file.")]
    with ModelServer(script) as model:
        more = ["--system", "Be brief.", "--model", "some-model", "--max-iterations", "1"]
        more += ["--allow", "files.*", "db.list", "--allow", "db.query", "--deny", "*.write"]
        more += ["--timeout", "5", "--deadline", "30", "--reply-tokens", "900"]
        more += ["--temperature", "0.5", "--reasoning-effort", "low"]
        more += ["--token-budget", "100000", "--cost-budget", "2.5"]
        run = ghost.run(*flags(model, *more))
    assert run.returncode == 0
    first, last = model.requests
    assert first.body["model"] == "some-model"
    assert first.body["max_tokens"] == 900
    assert (first.body["temperature"], first.body["reasoning_effort"]) == (0.5, "low")
    assert "Be brief." in first.messages[0]["content"]
    assert [name.removeprefix("mcp_ghost_") for name in first.tool_names] == [
        "db_list",
        "db_query",
        "files_list",
        "files_read",
        "files_check",
    ]
    assert last.tool_names == []


@pytest.mark.parametrize("flag", [[], ["--progress-extends-timeout"]])
def test_progress_extends_the_time_of_a_call_with_a_flag(
    ghost: Program, tmp_path: Path, flag: list[str]
) -> None:
    write_config(tmp_path / "servers.json", s=versions("2025-11-25"))
    script = [calls(("s.count", {"to": 6, "pause": 0.5})), content_reply("Counted.")]
    with ModelServer(script) as model:
        run = ghost.run(*flags(model, "--timeout", "2", "--json", *flag))
    assert [call["success"] for call in json.loads(run.stdout)["tool_chain"]] == [bool(flag)]


def test_the_prompt_may_come_from_stdin(ghost: Program) -> None:
    with ModelServer(["A question."]) as model:
        arguments = ["run", "--config", "servers.json", "--provider", "openai", "--quiet"]
        arguments += ["--base-url", model.base_url, "--prompt", "-"]
        assert ghost.run(*arguments, said="What is this?\n").stdout == "A question.\n"
    assert model.requests[0].last["content"] == "What is this?\n"


def test_an_answer_that_is_json_is_printed_as_json(ghost: Program) -> None:
    with ModelServer(['{"prices": [30, 45]}']) as model:
        assert json.loads(ghost.run(*flags(model)).stdout) == {"prices": [30, 45]}


def test_a_run_without_success_ends_with_1_and_the_reason(ghost: Program) -> None:
    with ModelServer([error_reply(404, "No such model")]) as model:
        run = ghost.run(*flags(model, "--quiet"))
    assert (run.stdout, run.returncode) == ("", 1)
    assert "No such model" in run.stderr
    assert run.stderr.startswith("mcp-ghost: error: ")


WITHOUT_MODEL = ["--config", "servers.json", "--provider", "openai", "--prompt", "Hello"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["run"], "--config, --provider, --prompt"),
        (["run", *WITHOUT_MODEL], "No API key for openai: set OPENAI_API_KEY"),
        (["run", *WITHOUT_MODEL, "--config", "no.json"], "MCP configuration not found: no.json"),
        (["run", *WITHOUT_MODEL, "--provider", "acme"], "openai, anthropic, gemini"),
        (["run", *WITHOUT_MODEL, "--prompt", " "], "The prompt is empty"),
        (["run", *WITHOUT_MODEL, "--timeout", "0"], "'0' is not a number of seconds above 0"),
        (
            ["run", *WITHOUT_MODEL, "--max-iterations", "x"],
            "'x' is not a whole number",
        ),
        (["run", *WITHOUT_MODEL, "--base-url", "ftp://x"], "not a usable base URL"),
        (["inspect", "no.json"], "No golden at no.json"),
    ],
)
def test_wrong_use_ends_with_2_and_a_line_that_says_why(
    ghost: Program, arguments: list[str], message: str
) -> None:
    run = ghost.run(*arguments)
    assert (run.stdout, run.returncode) == ("", 2)
    assert message in run.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_process(
    ghost: Program, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    log = tmp_path / "log"
    write_config(tmp_path / "servers.json", slow=faulty(SERVER_LOG=str(log)))
    with ModelServer([calls(("slow.hang", {}))]) as model:
        process = ghost.start(*flags(model))
        try:
            assert eventually(lambda: '"tools/call"' in log.read_text() if log.exists() else False)
            process.send_signal(number)
            output, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == code
    assert output == ""
    assert "Traceback" not in errors
    assert len(pids(log)) == 1
    assert ghost.leftovers() == []


def test_nothing_that_a_model_or_tool_says_is_obeyed_by_a_terminal(ghost: Program) -> None:
    script = [
        calls(("files.write", {"name": "a.txt", "text": HOSTILE}), text=HOSTILE),
        calls((f"files.read{HOSTILE}", {})),
        calls(("files.read", {"name": HOSTILE})),
        content_reply(HOSTILE),
    ]
    with ModelServer(script) as model:
        run = ghost.run(*flags(model, "--record", "case.json"))
    assert run.returncode == 0
    assert "[red]boo[/red] red" in run.stdout
    inspected = ghost.run("inspect", "case.json").stdout
    assert "[red]boo[/red] red" in inspected
    for text in (run.stdout, run.stderr, inspected):
        assert not CONTROL.search(text)


def test_on_a_terminal_the_view_is_alive_and_coloured(ghost: Program) -> None:
    with ModelServer(chain()) as model, terminal() as (device, read_all):
        process = ghost.start(*flags(model), stderr=device)
        os.close(device)
        shown = read_all()
        output, _ = process.communicate(timeout=PATIENCE)
    assert output == "Brass 30, desk 45.\n"
    assert "Servers are starting" in shown
    assert "The model thinks" in shown
    assert "\x1b[32mfiles.read" in shown


def test_output_that_nobody_reads_ends_without_a_traceback(ghost: Program) -> None:
    with ModelServer(chain()) as model:
        process = ghost.start(*flags(model))
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        with process.stderr:
            errors = process.stderr.read()
        assert process.wait(timeout=PATIENCE) == 141
    assert "Traceback" not in errors
    assert ghost.leftovers() == []


def test_a_recording_that_nobody_reads_ends_like_a_run(ghost: Program) -> None:
    process = ghost.start("inspect", str(GOLDENS / "shared" / "rate_limit.json"))
    assert process.stdout
    process.stdout.close()
    assert process.stderr
    with process.stderr:
        assert process.stderr.read() == ""
    assert process.wait(timeout=PATIENCE) == 141


def test_a_recorded_run_can_be_replayed(ghost: Program) -> None:
    with ModelServer([calls(("db.list", {})), content_reply("Two tables.")]) as model:
        assert ghost.run(*flags(model, "--record", "case.json")).returncode == 0
    assert compare_golden(asyncio.run(replay_golden("case.json")), "case.json") == []


# --- inspect


def test_inspect_shows_each_step_with_calls_times_tokens_and_failures(ghost: Program) -> None:
    shown = ghost.run("inspect", str(GOLDENS / "openai" / "file_not_found.json")).stdout
    for expected in (
        r"file_not_found · openai gpt-4o",
        r"from +protocol server",
        r"2  user\n   What do our lamps cost\? See the price list\.",
        r"3  assistant\n   I read the price list\.\n → files\.read {.name.: .price_list\.txt.}",
        r"4  tool ✗ files\.read · \d+ ms · no such file: price_list\.txt",
        r"8  tool ✓ files\.read · \d+ ms\n   brass 30, desk 45",
        r"request 1 · \d+ tokens in, 8 out",
        r"all · [\d,]+ tokens in, 32 out · 3 tool calls",
        r"✗  reply 1, files\.read: no such file: price_list\.txt → asked the model for another way",
    ):
        assert re.search(expected, shown), expected


def test_inspect_shows_retries_and_failed_requests(ghost: Program) -> None:
    shown = ghost.run("inspect", str(GOLDENS / "shared" / "server_restart.json")).stdout
    assert re.search(r"4  tool ✗ files\.check.*\n +tool ✓ files\.check · .* · retry 1\n", shown)
    shown = ghost.run("inspect", str(GOLDENS / "shared" / "rate_limit.json")).stdout
    assert "request 1 · no figures · failed: 429" in shown


def test_inspect_as_json_holds_the_same(ghost: Program) -> None:
    run = ghost.run("inspect", "--json", str(GOLDENS / "shared" / "parallel_calls.json"))
    facts = json.loads(run.stdout)
    assert facts["test_name"] == "parallel_calls"
    assert [step["role"] for step in facts["conversation"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "tool",
        "assistant",
    ]
    assert len(facts["failures"]) == 1
    assert facts["replies"][0]["token_usage"]["total_tokens"] > 0


def test_inspect_reads_what_run_printed(ghost: Program, tmp_path: Path) -> None:
    with ModelServer(chain()) as model:
        printed = ghost.run(*flags(model, "--json", "--quiet")).stdout
    (tmp_path / "result.json").write_text(printed)
    assert "4  tool ✗ files.read" in ghost.run("inspect", "result.json").stdout


def test_a_damaged_file_is_an_error_without_a_traceback(ghost: Program, tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text('{"golden_output": {"tool_chain": [3]}}')
    run = ghost.run("inspect", "case.json")
    assert run.returncode == 2
    assert "The recording is damaged" in run.stderr


# --- help


def test_help_names_commands_and_exit_codes_and_imports_next_to_nothing(ghost: Program) -> None:
    assert heavy_imports("-m", "mcp_ghost", "--help") == set()
    described, _, examples = ghost.run("--help").stdout.partition("examples:\n")
    assert "exit code: 0 success" in described
    assert all("mcp-ghost " in line for line in examples.splitlines())  # to be copied: not broken
    assert "--max-iterations" in ghost.run("run", "--help").stdout
    assert "Ctrl-D ends it." in ghost.run("chat", "--help").stdout


def test_a_download_is_told_once_with_a_view_and_without(tmp_path: Path) -> None:
    code = """
import logging, sys
from mcp_ghost.cli.program import program
from mcp_ghost.cli.screen import standard_screen
from mcp_ghost.cli.view import RunView
def work():
    logger = logging.getLogger("mcp_ghost.servers.installers")
    logger.warning("without")
    with RunView(standard_screen(sys.stderr), None, quiet=False).shown():
        logger.warning("with")
    return 0
program("demo", work)
"""
    said = Program(tmp_path, "-c").run(code).stderr
    assert (said.count("without"), len(re.findall(r"\bwith\b", said))) == (1, 1)
