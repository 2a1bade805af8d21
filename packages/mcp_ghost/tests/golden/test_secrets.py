"""What a golden must not hold: keys, passwords, tokens, and paths of the machine it comes from."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.golden import compare_golden, load_golden, record_golden, replay_golden, save_golden
from mcp_ghost.testing import ModelServer, content_reply, error_reply
from tests.support.golden_cases import PROVIDERS, Wire, calls
from tests.support.servers import FAULTY
from tests.support.wires import spoken

KEY = "planted-as-argument"
DESK = FAULTY.with_name("desk.py")
PYTHON = ["-S", str(FAULTY), "ok"]


def tempting_servers() -> dict[str, Any]:
    """Secrets wherever a configuration can hold one."""
    variables = {
        "SHOP_LOGIN": "planted-in-env",
        "SHOP_KEY": "{env:SHOP_VARIABLE}",
        "SHOP_CODE": "${env:SHOP_VARIABLE}",
        "SHOP_PIN": "${SHOP_PIN:-planted-as-default}",
        "SHOP_DEBUG": "1",
        "PYTHONPATH": str(Path.cwd()),
    }
    Path("shop.env").write_text("SHOP_WORD=planted-in-a-file\n")
    flags = [
        "--token",
        "planted-after-flag",
        "--db-password=planted-in-flag",
        "--key",
        "{env:HOME}",
    ]
    return {
        "mcpServers": {
            "shop": {
                "command": sys.executable,
                "args": [*PYTHON, *flags],
                "env": variables,
                "envFile": "shop.env",
            },
            "later": {
                "url": "http://127.0.0.1:9/mcp",
                "auth": {"type": "oauth", "client_id": "id", "client_secret": "planted-client"},
                "disabled": True,
            },
            "far": {
                "url": "http://me:planted-user@127.0.0.1:9/mcp?api_key=planted-query",
                "headers": {"Authorization": "Bearer planted-header", "X-Id": "{env:SHOP_ID}"},
            },
        }
    }


def record_temptation(wire: Wire, path: str | Path) -> dict[str, Any]:
    url = "https://me:planted-password@shop.example/x?access_token=planted-token&page=2"
    script = [
        error_reply(429, f"Incorrect API key provided: {KEY}.", {"retry-after": "0"}),
        calls(
            ("shop.environment", {"password": "planted-in-arguments", "page": "7"}),
            ("shop.echo", {"text": f"See {url}"}),
        ),
        content_reply(f"Use {url} with planted-in-env, or sk-planted0123456789."),
    ]
    with ModelServer(script, wire=wire) as model:
        recording = record_golden(
            path,
            volatile=["shop.environment"],
            server_config=tempting_servers(),
            system_prompt="The key of the shop is planted-by-reference.",
            **spoken(wire),
            api_key=KEY,
            user_prompt=f"Buy a lamp. My key is {KEY}.",
            base_url=model.base_url,
            startup_timeout=5,
        )
        return asyncio.run(recording)


@pytest.fixture
def planted_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_VARIABLE", "planted-by-reference")
    monkeypatch.setenv("SHOP_ID", "planted-id")
    monkeypatch.setenv("SOME_API_KEY", "planted-elsewhere")


@pytest.mark.parametrize("wire", PROVIDERS)
@pytest.mark.usefixtures("planted_environment")
def test_no_secret_enters_a_file(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    result = record_temptation(wire, "case.json")
    assert result["success"]
    assert result["tool_chain"][0]["result"]["SOME_API_KEY"] == "***"
    text = Path("case.json").read_text()
    assert [line for line in text.splitlines() if "planted" in line] == []
    golden = load_golden("case.json")
    shop = golden["input"]["server_config"]["mcpServers"]["shop"]
    assert shop["env"] == {
        "SHOP_LOGIN": "***",
        "SHOP_KEY": "{env:SHOP_VARIABLE}",
        "SHOP_CODE": "${env:SHOP_VARIABLE}",
        "SHOP_PIN": "***",
        "SHOP_DEBUG": "1",
        "PYTHONPATH": "{path:tests}",
    }
    assert shop["args"][-5:] == ["--token", "***", "--db-password=***", "--key", "{env:HOME}"]
    assert golden["input"].items() >= spoken(wire).items()
    assert golden["golden_output"]["tool_chain"][0]["arguments"] == {"password": "***", "page": "7"}


@pytest.mark.usefixtures("planted_environment")
def test_a_replay_needs_none_of_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    record_temptation("openai", "case.json")
    for name in ("SHOP_VARIABLE", "SHOP_ID", "SOME_API_KEY"):
        monkeypatch.delenv(name)
    Path("shop.env").unlink()
    replayed = asyncio.run(replay_golden("case.json"))
    assert compare_golden(replayed, "case.json") == []
    environment = replayed["tool_chain"][0]["result"]
    assert environment["SHOP_DEBUG"] == "1"
    assert not environment.keys() & {"SHOP_LOGIN", "SHOP_KEY", "SHOP_CODE", "SHOP_PIN", "SHOP_WORD"}


async def test_a_key_from_the_environment_is_filtered_like_a_given_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "planted-in-the-environment")
    with ModelServer(["You said planted-in-the-environment."], wire="gemini") as model:
        run = record_golden(
            "case.json",
            server_config={"mcpServers": {}},
            system_prompt="",
            provider="gemini",
            user_prompt="What is my key?",
            base_url=model.base_url,
        )
        await run
        assert model.requests[0].headers["x-goog-api-key"] == "planted-in-the-environment"
    assert "planted" not in Path("case.json").read_text()


def test_json_in_strings_stays_json() -> None:
    text = '{"primary_key": 12345678, "note": "token=abc12345"}'
    save_golden("case.json", {"golden_output": {"tool_chain": []}, "text": text})
    assert json.loads(load_golden("case.json")["text"]) == {
        "primary_key": 12345678,
        "note": "token=***",
    }


def test_a_golden_moves_to_another_machine_with_its_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / "tests" / "servers").mkdir(parents=True)
    server = shutil.copy(DESK, project / "tests" / "servers")
    path = project / "tests" / "goldens" / "case.json"
    inside = {"command": sys.executable, "args": ["-S", str(server), "files"], "cwd": str(project)}
    note = project / "note.txt"
    script = [calls(("files.write", {"name": str(note), "text": "hello"})), content_reply("Done.")]
    with ModelServer(script) as model:
        recording = record_golden(
            path,
            server_config={"mcpServers": {"files": inside}},
            system_prompt=f"Stay in {project}.",
            provider="openai",
            user_prompt="Write a note.",
            base_url=model.base_url,
        )
        asyncio.run(recording)
    text = path.read_text()
    for folder in (str(tmp_path), sys.executable, str(Path.home())):
        assert folder not in text
    assert "{path:root}/note.txt" in text

    moved = project.rename(tmp_path / "moved")
    (moved / "note.txt").unlink()
    monkeypatch.chdir(moved)
    golden = moved / "tests" / "goldens" / "case.json"
    assert compare_golden(asyncio.run(replay_golden(golden)), golden) == []
    assert (moved / "note.txt").read_text() == "hello"
