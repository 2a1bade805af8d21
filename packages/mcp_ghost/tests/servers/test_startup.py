"""Servers that do not start: each failure says what to do, and nothing is left."""

import asyncio
import stat
import sys
from pathlib import Path

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.errors import MCPConfigError, MCPServerStartupError
from mcp_ghost.servers.diagnosis import TOO_OLD
from mcp_ghost.servers.installers import INSTALLERS
from mcp_ghost.servers.session import ServerSession
from tests.support.servers import call_in, faulty, is_running, pids, versions
from tests.support.work import growth

pytestmark = pytest.mark.mcp


def startup_failure(config: ServerConfig, timeout: float = 10.0) -> str:
    with pytest.raises(MCPServerStartupError) as failure:
        asyncio.run(ServerSession("demo", config).open(timeout))
    return str(failure.value)


def test_the_startup_error_has_the_specified_first_lines_and_the_end_of_stderr() -> None:
    message = startup_failure(faulty("exit3"))
    lines = message.splitlines()
    assert lines[0] == (
        "Failed to start MCP server 'demo': it exited with status 3 before it was ready"
    )
    assert lines[1].startswith("Command: ")
    assert lines[1].endswith("faulty.py exit3")
    assert lines[2].startswith("Check that the module or script exists")
    assert lines[-1] == "  fatal: missing API key, got none"


def test_secrets_do_not_reach_the_startup_error() -> None:
    config = faulty("exit3", DEMO_API_KEY="correct-horse-7")
    message = startup_failure(
        config.model_copy(update={"args": [*config.args, "--token", "tr0ub4dor"]})
    )
    assert "fatal: missing API key, got ***" in message
    assert "correct-horse-7" not in message
    assert "tr0ub4dor" not in message


@pytest.mark.parametrize("after", ["\n" + "fine so far\n" * 10, " fine so far"])
def test_the_end_of_stderr_never_begins_within_a_secret(after: str) -> None:
    secret = "correct horse battery staple-" + "7" * 40
    said = secret + after.ljust(4096 - 20, ".")  # the last 4,096 bytes hold its last 20
    program = f"import sys; sys.stderr.write({said!r}); sys.exit(3)"
    config = ServerConfig(
        command=sys.executable, args=["-S", "-c", program], env={"DEMO_API_KEY": secret}
    )
    message = startup_failure(config).partition("Its last output on stderr:")[2]
    assert "fine so far" in message
    assert "77" not in message


def test_a_secret_that_a_variable_holds_does_not_reach_the_startup_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_NAME", "correct-horse-7")
    message = startup_failure(faulty("exit3", DEMO_API_KEY="{env:SOME_NAME}"))
    assert "fatal: missing API key, got ***" in message


def test_what_a_program_prints_that_speaks_no_mcp_is_shown() -> None:
    says = "print('usage: demo --root FOLDER', 'see demo --help', sep='\\n', end='')"
    message = startup_failure(ServerConfig(command=sys.executable, args=["-S", "-c", says]))
    assert message.splitlines()[-3:] == [
        "Its last output on stdout:",
        "  usage: demo --root FOLDER",
        "  see demo --help",
    ]


def test_a_server_that_pours_out_lines_is_given_up() -> None:
    pour = "import sys\nwhile True: sys.stdout.write('y\\n' * 4096)"
    config = ServerConfig(command=sys.executable, args=["-S", "-c", pour])
    assert "it did not answer within 0.3 s" in startup_failure(config, timeout=0.3)


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    log = tmp_path / "log"
    message = startup_failure(faulty("mute", SERVER_LOG=str(log)), timeout=2)
    assert "it did not answer within 2 s" in message
    assert not is_running(pids(log)[0])


@pytest.mark.parametrize(
    ("config", "details", "hint"),
    [
        (ServerConfig(command="npx -y x"), "'command' is only the program; the rest", "on PATH"),
        (ServerConfig(command="no-such-program"), "command not found: no-such-program", "on PATH"),
        (
            ServerConfig(command="npx", env={"PATH": "/nowhere"}),
            "command not found: npx",
            "'node' was not found: install version 22 or newer from https://nodejs.org.",
        ),
        (
            ServerConfig(command="uvx", env={"PATH": "/nowhere"}),
            "not found: uvx",
            "uv is installed",
        ),
        (ServerConfig(command="/etc/passwd"), "/etc/passwd is not executable", ""),
        (ServerConfig(command="a\0b"), "embedded null byte", ""),
        (
            ServerConfig(command="npx", cwd="./nowhere"),
            "the working directory ./nowhere cannot be entered",
            "Check that this folder exists; a relative one is looked for in /",
        ),
        (faulty("badproto"), "Unsupported protocol version from the server: 1999-01-01", ""),
        (faulty("badinit"), "its answer is not MCP", ""),
        (ServerConfig(command="true"), "it exited with status 0 before it was ready", ""),
    ],
)
def test_each_failure_to_start_says_what_to_do(
    config: ServerConfig, details: str, hint: str
) -> None:
    message = startup_failure(config)
    assert details in message.splitlines()[0]
    assert hint in message.splitlines()[2]


@pytest.mark.parametrize("program", sorted({words[0] for words in INSTALLERS} | {"node", "uv"}))
def test_a_program_that_installs_and_is_missing_is_said_where_to_get(program: str) -> None:
    message = startup_failure(ServerConfig(command=program, env={"PATH": "/nowhere"}))
    assert f"command not found: {program}" in message
    hint = message.splitlines()[2]
    assert hint.startswith("Check that ")
    assert "https://" in hint


@pytest.mark.parametrize(
    ("last_words", "is_to_blame"),
    [
        ("npm warn EBADENGINE Unsupported engine", True),
        ("SyntaxError: Unexpected token 'with'", True),
        ("ReferenceError: File is not defined", True),
        ("npm error 404 Not Found - GET https://registry.npmjs.org/x", False),
        ("Error: API_KEY is required", False),
    ],
)
def test_a_node_that_is_too_old_is_named_where_it_is_the_cause(
    last_words: str, is_to_blame: bool, tmp_path: Path
) -> None:
    npx = f'echo "{last_words}" >&2; exit 1'
    for name, body in {"node": "echo v18.19.1", "npx": npx}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(stat.S_IRWXU)
    config = ServerConfig(command="npx", args=["-y", "x"], env={"PATH": f"{tmp_path}:/bin"})
    message = startup_failure(config)
    assert "Command: npx -y x" in message
    assert ("This is Node.js v18.19.1; current servers need a newer one" in message) is is_to_blame


def test_the_last_words_of_a_server_are_searched_in_linear_time() -> None:
    words = "TypeError: "
    assert growth(lambda size: TOO_OLD.search(words * (size // len(words))), 16_000) < 9


@pytest.mark.parametrize("body", [b"\x7fELF", b"#!/bin/sh\nexec /bin/sleep 60", b"#!/bin/sh"])
def test_a_node_that_does_not_run_is_named(
    body: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_ghost.servers.diagnosis._NODE_VERSION_TIMEOUT", 0.1)
    (tmp_path / "node").write_bytes(body)
    (tmp_path / "node").chmod(stat.S_IRWXU)
    config = ServerConfig(command="npx", env={"PATH": f"{tmp_path}:/nowhere"})
    assert f"'{tmp_path}/node' does not run: install version 22" in startup_failure(config)


def test_a_script_without_an_interpreter_line_is_named(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("echo hello\n")
    script.chmod(stat.S_IRWXU)
    assert "is not a program" in startup_failure(ServerConfig(command=str(script)))


async def test_an_undefined_variable_is_a_configuration_error() -> None:
    config = faulty(KEY="{env:NO_SUCH_VARIABLE}")
    with pytest.raises(MCPConfigError, match="'demo' needs the environment variable NO_SUCH_VAR"):
        await ServerSession("demo", config).open()


async def test_a_variable_that_makes_the_configuration_unusable_is_named_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NOTHING", "")
    monkeypatch.setenv("SOME_NAME", "correct-horse-7")
    config = ServerConfig(command="{env:NOTHING}", env={"A": "{env:SOME_NAME}"})
    with pytest.raises(MCPConfigError, match="server 'demo': 'command' is empty") as failure:
        await ServerSession("demo", config).open()
    assert "correct-horse-7" not in f"{failure.value} {failure.value.__cause__}"


def test_an_event_loop_that_does_not_show_its_pipes_will_do(  # such as uvloop's
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pipe = "asyncio.unix_events._UnixWritePipeTransport"
    monkeypatch.setattr(f"{pipe}.get_extra_info", lambda *_: None)
    assert asyncio.run(call_in(versions("2025-11-25"), "grow")).error_message is None


def test_nobody_looks_for_a_module_that_runs_and_speaks_nonsense() -> None:
    says = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    answer = {'jsonrpc': '2.0', 'id': json.loads(line).get('id'), 'result': {'a': 5}}\n"
        "    print(json.dumps(answer), flush=True)"
    )
    message = startup_failure(ServerConfig(command=sys.executable, args=["-S", "-c", says]))
    assert "Check that this is the program that you mean" in message
