"""The goldens that come along: each is replayed, and recorded anew with ``--record-golden``."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from local_model.transport import embedded_transport
from mcp_ghost.__main__ import main
from mcp_ghost.golden import (
    assert_matches_golden,
    load_golden,
    provider_drift,
    record_golden,
    replay_golden,
)
from mcp_ghost.golden.scrub import places
from mcp_ghost.testing import ModelRequest, ModelServer, Reply
from shared_utils import EMBEDDED_BASE_URL, EMBEDDED_MODEL_NAME
from tests.support import PATIENCE, ROOT
from tests.support.golden_cases import CASES, GOLDENS, PROVIDERS, Case, desk

pytestmark = pytest.mark.mcp

LIBRARY = sorted(GOLDENS.glob("*/*.json"))
SMALL_MODEL = GOLDENS / "openai" / "small_model_lists_files.json"


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.record_golden
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_record_a_scripted_model(case: Case) -> None:
    with ModelServer(case.conversation().script, wire=case.provider) as model:
        recording = record_golden(
            case.path, base_url=model.base_url, api_key="made-up", **case.arguments
        )
        result = asyncio.run(recording)
    assert result["success"]
    assert model.refusals == []


@pytest.mark.record_golden
async def test_record_the_embedded_model() -> None:
    with ModelServer(_embedded) as server:
        recording = record_golden(
            SMALL_MODEL,
            recorded_from="embedded model",
            server_config=desk("files"),
            system_prompt="Use the tools.",
            provider="openai",
            model=EMBEDDED_MODEL_NAME,
            base_url=server.base_url,
            api_key="none",
            user_prompt="Which files are there? Call the tool files.list.",
            max_iterations=3,
        )
        result = await recording
    assert result["tool_chain"], "it called no tool this time; record it again"


def _embedded(request: ModelRequest) -> Reply:
    async def ask() -> httpx2.Response:
        async with httpx2.AsyncClient(transport=embedded_transport(), timeout=PATIENCE) as client:
            return await client.post(f"{EMBEDDED_BASE_URL}/chat/completions", json=request.body)

    response = asyncio.run(ask())
    return Reply(response.json(), response.status_code)


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
async def test_a_golden_plays_again_as_it_was_recorded(path: Path) -> None:
    result = await replay_golden(path)
    assert_matches_golden(result, path, max_age_days=None)


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_a_golden_plays_again_without_its_servers(
    path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "--servers", "recorded", str(path)]) == 0
    assert capfd.readouterr().out == f"{path}: the same\n"


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_a_golden_is_complete_and_honest_about_its_origin(path: Path) -> None:
    golden = load_golden(path)
    assert golden["test_name"] == path.stem
    assert golden["input"].keys() >= {
        "server_config", "system_prompt", "provider", "user_prompt", "model",
    }  # fmt: skip
    embedded = path == SMALL_MODEL
    assert golden["recorded_from"] == ("embedded model" if embedded else "protocol server")
    assert all(entry["request"] for entry in golden["provider_responses"])
    assert provider_drift(golden) == []


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_a_golden_names_no_place_and_no_key_of_a_machine(path: Path) -> None:
    text = path.read_text()
    for folder in (*places(path).values(), "/home", "/root", "/Users", sys.prefix):
        assert not re.search(rf"(?<![\w<]){re.escape(folder)}(?![\w.-])", text), folder
    assert "made-up" not in text


def test_there_are_goldens_of_every_kind() -> None:
    assert {name_of(path) for path in LIBRARY} == {*(it.file for it in CASES), name_of(SMALL_MODEL)}


def test_the_same_chain_is_recorded_on_all_providers() -> None:
    chains = [
        [
            (call["tool_name"], call["arguments"], call["result"])
            for call in load_golden(GOLDENS / provider / "database_report.json")["golden_output"][
                "tool_chain"
            ]
        ]
        for provider in PROVIDERS
    ]
    assert len(chains[0]) == 5
    assert all(chain == chains[0] for chain in chains)


@pytest.mark.soak
def test_recording_is_left_out_unless_it_is_asked_for() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    target = f"{__file__}::test_record_a_scripted_model"
    run = subprocess.run(
        [*command, target], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert f"{len(CASES)} skipped" in run.stdout
