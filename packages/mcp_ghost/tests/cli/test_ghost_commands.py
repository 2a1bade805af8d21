"""chat, tools, replay and the version, as processes."""

from __future__ import annotations

import json
import os
import pty
import resource
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from mcp_ghost import __version__
from mcp_ghost.testing import ModelServer, error_reply, tool_reply
from tests.support import PATIENCE
from tests.support.ghosts import KEY, PROVIDERS, Bank, Notes, said_to
from tests.support.program import Program, converse
from tests.support.servers import faulty, write_config
from tests.support.wires import wire_flags

pytestmark = pytest.mark.mcp


@pytest.fixture
def ghost(tmp_path: Path) -> Program:
    program = Program(tmp_path, "-m", "mcp_ghost")
    write_config(tmp_path / "servers.json", notes=Notes(tmp_path).config)
    return program


def chat(model: ModelServer, provider: str = "openai") -> list[str]:
    asked = [*wire_flags(provider), "--base-url", model.base_url]
    return ["chat", "--config", "servers.json", *asked]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_line_is_a_request_of_one_conversation(ghost: Program, provider: str) -> None:
    write = tool_reply([("notes.write", {"name": "a", "text": "milk"})])
    script = [write, "Noted.", '{"milk": "gone"}']
    with ModelServer(script, wire=provider, namespace="mcp_ghost") as model:  # type: ignore[arg-type]
        done = ghost.run(*chat(model, provider), said="Note the milk.\n\nAs JSON?\n")
    assert done.stdout == 'Noted.\n{"milk": "gone"}\n'
    assert done.returncode == 0, done.stderr
    assert "Note the milk." in said_to(model, 2)
    assert model.refusals == []


def test_at_a_terminal_requests_calls_and_answers_share_it(ghost: Program, tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    write_config(tmp_path / "servers.json", bank=bank.config)
    ours, theirs = pty.openpty()
    pay = tool_reply([("bank.transfer", {"name": "rent"})])
    shown = b""
    with ModelServer([pay, "Paid.", "Bye."], namespace="mcp_ghost") as model:
        process = ghost.start(*chat(model), stdin=theirs, stdout=theirs)
        os.close(theirs)
        said = ("> ", b"Pay the rent.\n"), ("why not: ", b"y\n"), ("> ", b"Thank you.\n/exit\n")
        _, errors = converse(process, ours, *said)
        with suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
        os.close(ours)
    assert process.returncode == 0
    assert bank.book == ["rent", "end of rent"]
    answers = [it for it in shown.decode().splitlines() if it in ("Paid.", "Bye.")]
    assert answers == ["Paid.", "Bye."]
    assert "The model may call the tools of bank" in errors
    assert "Ctrl-D or /exit ends the chat" in errors
    assert errors.count("openai") == 1, "the model is named once, not with each answer"
    assert "The model wants to call bank.transfer" in errors


def test_a_chat_whose_last_request_failed_ends_with_1(ghost: Program) -> None:
    with ModelServer(["Hello.", error_reply(404, "No such model")]) as model:
        done = ghost.run(*chat(model), said="Hello?\nAnd now?\n")
    assert (done.returncode, done.stdout) == (1, "Hello.\n")
    assert "No such model" in done.stderr


def test_a_key_that_the_model_repeats_is_not_printed(ghost: Program) -> None:
    ghost.env["OPENAI_API_KEY"] = KEY
    with ModelServer([f"Your key is {KEY}.", f'{{"key": "{KEY}"}}']) as model:
        done = ghost.run(*chat(model), said="Which key is it?\nAs JSON?\n")
    assert done.stdout == 'Your key is ***.\n{"key": "***"}\n'


def test_answers_that_the_output_cannot_spell_are_printed_with_question_marks(
    ghost: Program,
) -> None:
    with ModelServer(["Schöner Tag!", "Schöner Abend!"]) as model:
        done = subprocess.run(
            [*ghost.command, *chat(model)],
            cwd=ghost.folder,
            env={**ghost.env, "PYTHONIOENCODING": "ascii"},
            input=b"How is it?\nAnd later?\n",
            capture_output=True,
            timeout=PATIENCE,
            check=True,
        )
    assert done.stdout == b"Sch?ner Tag!\nSch?ner Abend!\n"


@pytest.mark.parametrize(
    ("closed", "printed", "code"),
    [("<&-", b"", 2), (">&-", b"", 0), ("2>&-", b"Noted.\n", 0)],
)
def test_a_stream_that_is_closed_from_the_start_is_done_without(
    ghost: Program, closed: str, printed: bytes, code: int
) -> None:
    with ModelServer(["Noted."]) as model:
        asked = ["run", *chat(model)[1:], "--prompt", "-"]
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" "$@" {closed}', *ghost.command, *asked],
            cwd=ghost.folder,
            env=ghost.env,
            input=b"Note the milk.\n",
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    assert (done.stdout, done.returncode) == (printed, code), done.stderr
    assert (b"The prompt is empty." in done.stderr) == (closed == "<&-")


def test_the_tools_of_the_servers_are_listed(ghost: Program, tmp_path: Path) -> None:
    write_config(
        tmp_path / "servers.json", bank=Bank(tmp_path).config, notes=Notes(tmp_path).config
    )
    done = ghost.run("tools", "--config", "servers.json", "--deny", "*.crowd")
    lines = done.stdout.splitlines()
    assert "bank.balance [readOnlyHint]: " in done.stdout
    assert "notes.write: write notes" in lines
    assert "crowd" not in done.stdout
    listed = json.loads(ghost.run("tools", "--config", "servers.json", "--json").stdout)
    assert {"name", "description", "parameters", "annotations"} == {*listed[0]}


def test_names_from_outside_cannot_move_the_cursor(ghost: Program) -> None:
    write_config(ghost.folder / "servers.json", **{"ill\x1b[31m\a": faulty("badtools")})
    shown = ghost.run("tools", "--config", "servers.json")
    assert "ill.echo: " in shown.stdout
    assert shown.stderr.count("'ill': Skipping a tool without a name") == 2
    with ModelServer(["Yes."]) as model:
        asked = ["run", *chat(model)[1:], "--prompt", "Go.", "--record", "g.json", "--quiet"]
        ran = ghost.run(*asked)
    assert "mcp-ghost: warning: MCP server 'ill': Skipping" in ran.stderr
    golden = json.loads((ghost.folder / "g.json").read_text())
    golden["golden_output"]["final_result"] = "No\x1b[31m."
    (ghost.folder / "g.json").write_text(json.dumps(golden))
    differs = ghost.run("replay", "g.json")
    assert "final_result: recorded" in differs.stdout
    for done in (shown, ran, differs):
        assert not {"\x1b", "\a"} & {*done.stdout, *done.stderr}


def test_what_servers_do_not_get_is_said_at_the_first_start(ghost: Program) -> None:
    ghost.env |= {"ANTHROPIC_API_KEY": "k", "LANGFUSE_SECRET_KEY": "k"}
    said = ghost.run("tools", "--config", "servers.json").stderr
    assert said.count("MCP servers do not get ANTHROPIC_API_KEY, LANGFUSE_SECRET_KEY, unless") == 1


def test_what_is_odd_about_the_choice_of_tools_is_said_beside_the_list(
    ghost: Program, tmp_path: Path
) -> None:
    entry = Notes(tmp_path).config.model_dump(exclude_none=True)
    servers = {"notes": {**entry, "excludeTool": ["notes.write"]}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    done = ghost.run("tools", "--config", "servers.json", "--deny", "notes.wirte")
    assert done.returncode == 0
    first, second = done.stderr.splitlines()
    assert first.startswith("mcp-ghost: warning: servers.json: server 'notes': unknown key")
    assert second == (
        "mcp-ghost: warning: these patterns of --allow or --deny match no tool: notes.wirte"
    )


def test_a_server_that_does_not_start_is_named_in_the_time_that_was_given(
    ghost: Program, tmp_path: Path
) -> None:
    write_config(tmp_path / "servers.json", mute=faulty("mute"), notes=Notes(tmp_path).config)
    done = ghost.run("tools", "--config", "servers.json", "--startup-timeout", "1.5")
    assert done.returncode == 1
    assert "mcp-ghost: error: mute: " in done.stderr
    assert "within 1.5 s" in done.stderr
    assert "notes.write" in done.stdout


# The others by hand: the wires themselves are tested elsewhere in every run.
@pytest.mark.parametrize(
    "provider",
    [it if it == "openai" else pytest.param(it, marks=pytest.mark.soak) for it in PROVIDERS],
)
def test_a_run_is_recorded_and_replayed_and_what_has_changed_is_said(
    ghost: Program, tmp_path: Path, provider: str
) -> None:
    script = [tool_reply([("notes.count", {})]), "None."]
    with ModelServer(script, wire=provider, namespace="mcp_ghost") as model:  # type: ignore[arg-type]
        asked = ["run", *chat(model, provider)[1:], "--prompt", "How many?", "--record", "g.json"]
        assert ghost.run(*asked).returncode == 0
    live = ("--servers", "live", "--config", "servers.json")
    done = ghost.run("replay", "g.json", *live)
    assert (done.returncode, done.stdout) == (0, "g.json: the same\n"), done.stderr
    (tmp_path / "notes" / "new").write_text("another note")
    done = ghost.run("replay", "g.json", *live)
    assert done.returncode == 1
    assert done.stdout.startswith("request 2: message 4, result of mcp_ghost_notes_count.")
    done = ghost.run("replay", "g.json")
    assert (done.returncode, done.stdout) == (0, "g.json: the same\n"), done.stderr


def test_a_golden_names_no_server_that_a_replay_starts(ghost: Program, tmp_path: Path) -> None:
    with ModelServer([tool_reply([("notes.count", {})]), "None."]) as model:
        asked = ["run", *chat(model)[1:], "--prompt", "How many?", "--record", "g.json"]
        assert ghost.run(*asked).returncode == 0
    golden = json.loads((tmp_path / "g.json").read_text())
    attack = {"command": "sh", "args": ["-c", "touch run"]}
    golden["input"]["server_config"] = {"mcpServers": {"notes": attack}}
    (tmp_path / "g.json").write_text(json.dumps(golden))
    assert ghost.run("replay", "g.json").stdout == "g.json: the same\n"
    refused = ghost.run("replay", "g.json", "--servers", "live")
    assert refused.returncode == 2
    assert "never those of a golden" in refused.stderr
    live = ghost.run("replay", "g.json", "--servers", "live", "--config", "servers.json")
    assert live.stdout == "g.json: the same\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [[], ["--quiet"]])
def test_an_answer_is_printed_though_the_disk_is_full(ghost: Program, more: list[str]) -> None:
    write_config(ghost.folder / "servers.json")
    with ModelServer(["None."]) as model:
        asked = ["run", *chat(model)[1:], "--prompt", "How many?", "--record", "g.json"]
        done = ghost.run(
            *asked, *more, limit=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        )
    assert (done.returncode, done.stdout) == (1, "None.\n")
    assert done.stderr.count("The golden g.json cannot be written: File too large") == 1


def test_the_version_is_told(ghost: Program) -> None:
    assert ghost.run("--version").stdout == f"mcp-ghost {__version__}\n"
