"""The README's examples run as they stand, in a fresh process, on every wire."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import ROOT, ghost_example, warm
from tests.support.collector import running_collector
from tests.support.wires import WIRES, name_of, provider_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp
# The two others by hand: the wires themselves are tested elsewhere in every run.
BY_HAND = ("anthropic", "gemini")
every_wire = pytest.mark.parametrize(
    "wire",
    [pytest.param(it, marks=pytest.mark.soak) if it in BY_HAND else it for it in WIRES],
)
READ = tool_reply([("mcp_ghost.notes.read_all", {})])


def run(
    folder: Path,
    script: Callable[[ModelRequest], Reply] | list[Reply],
    wire: WireName,
    *command: str,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """One program of the README with a model that refused nothing."""
    ghost_example.write_files(folder)
    with ModelServer(script, wire=wire) as server:
        # An address that ends so chooses this one of OpenAI's wires.
        address = server.base_url + ("/responses" if wire == "responses" else "")
        env = os.environ | {provider_of(wire).base_url_variable: address} | environment
        called = (sys.executable, *command, name_of(wire))
        done = warm.run(called, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    assert server.refusals == []
    return done


@every_wire
def test_the_shopping_list_is_read_from_the_notes(wire: WireName, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Two bottles of milk.\n")
    answer = content_reply(json.dumps({"items": [{"name": "milk", "amount": 2}]}))
    done = run(tmp_path, [READ, content_reply("Milk."), answer], wire, "shopping.py")
    assert done.stdout == "2 milk\n"


@every_wire
def test_a_call_that_is_refused_is_not_made(wire: WireName, tmp_path: Path) -> None:
    add = "mcp_ghost.notes.add"
    texts = ["The milk is gone.", "The password is swordfish."]
    calls = tool_reply([(add, {"text": text}) for text in texts])
    done = run(tmp_path, [calls, content_reply("One is noted.")], wire, "careful.py")
    assert (tmp_path / "notes.txt").read_text().splitlines() == texts[:1]
    first, second = done.stdout.splitlines()
    assert first == "The milk is gone. -> kept"
    assert second.endswith("the user refused this call: passwords do not belong in notes")


@every_wire
@pytest.mark.soak
def test_a_paused_run_goes_on_in_another_process(wire: WireName, tmp_path: Path) -> None:
    call = tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})])
    done = run(tmp_path, [call], wire, "later.py")
    assert done.stdout == "Waits for: ['notes.add']\n"
    assert not (tmp_path / "notes.txt").exists()
    done = run(tmp_path, [content_reply("The milk is noted.")], wire, "later.py")
    assert done.stdout == "The milk is noted.\n"
    assert (tmp_path / "notes.txt").read_text() == "The milk is gone.\n"


@every_wire
@pytest.mark.soak
def test_the_story_is_told_as_it_comes(wire: WireName, tmp_path: Path) -> None:
    call = tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})], "Noting it. ")
    done = run(tmp_path, [call, content_reply("Once upon a time.")], wire, "story.py")
    assert done.stdout == "Noting it. [notes.add]\nOnce upon a time.\n[2 replies]\n"


@every_wire
def test_a_server_of_the_program_itself_is_called(wire: WireName, tmp_path: Path) -> None:
    calls = tool_reply([("mcp_ghost.shop.price", {"article": it}) for it in ("milk", "bread")])
    done = run(tmp_path, [calls, content_reply("4.60 euros.")], wire, "small.py")
    assert done.stdout.splitlines() == [
        "shop.price {'article': 'milk'} -> {'result': 1.2}",
        "shop.price {'article': 'bread'} -> {'result': 3.4}",
        "4.60 euros.",
    ]


@every_wire
def test_a_tool_is_found_among_many(wire: WireName, tmp_path: Path) -> None:
    find = tool_reply([("mcp_ghost.find_tools", {"query": "price of milk"})])
    call = tool_reply([("mcp_ghost.shop.price_of_milk", {})])
    done = run(tmp_path, [find, call, content_reply("1.20 euros.")], wire, "many.py")
    assert done.stdout == "['find_tools', 'shop.price_of_milk']\n1.20 euros.\n"


@every_wire
@pytest.mark.soak
def test_a_golden_travels_without_its_servers(wire: WireName, tmp_path: Path) -> None:
    call = tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})])
    done = run(tmp_path, [call, content_reply("Noted.")], wire, "travel.py")
    assert done.stdout == "recorded\n"
    (tmp_path / "notes.txt").unlink()
    done = run(tmp_path, [], wire, "travel.py")
    assert done.stdout == "the same\n"
    assert not (tmp_path / "notes.txt").exists()


@every_wire
def test_a_long_book_is_summarised_on_the_way(wire: WireName, tmp_path: Path) -> None:
    def reader(request: ModelRequest) -> Reply:
        if "keep the memory of an assistant" in str(request.messages[0]["content"]):
            return content_reply("It rained in every chapter so far.")
        numbers.append(len(numbers) + 1)
        if len(numbers) > 6:
            return content_reply("It rains.")
        return tool_reply([("mcp_ghost.library.chapter", {"number": len(numbers)})])

    numbers: list[int] = []
    done = run(tmp_path, reader, wire, "reader.py")
    assert "True model It rained in every chapter so far.\n" in done.stdout
    assert done.stdout.endswith("\nIt rains.\n")


@every_wire
@pytest.mark.soak
def test_a_run_is_traced_to_a_collector(wire: WireName, tmp_path: Path) -> None:
    call = tool_reply([("mcp_ghost.notes.add", {"text": "The milk is gone."})])
    with running_collector() as collector:
        where = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.base_url}
        done = run(tmp_path, [call, content_reply("Noted.")], wire, "traced.py", **where)
    assert done.stdout == "Noted.\n"
    assert collector.objections.count("/v1/traces") >= 1
    (whole,) = collector.named("invoke_agent mcp_ghost")
    below = [span.name for span in collector.children(whole)]
    operation = "generate_content" if wire == "gemini" else "chat"
    model = provider_of(wire).default_model
    assert below.count(f"{operation} {model}") == 2
    (called,) = collector.named("execute_tool notes.add")
    assert called in collector.children(whole)
    assert [span.name for span in collector.children(called)] == ["MCP send tools/call add"]


RECIPES = {f"recipe_{n}.py": text for n, text in enumerate(ghost_example.recipes().values())}


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("how", "programs"),
    # The recipes leave annotations out.
    [("--strict", ghost_example.files()), ("--check-untyped-defs", RECIPES)],
    ids=["strict", "recipes"],
)
def test_a_type_checker_accepts_the_programs(
    how: str, programs: dict[str, str], tmp_path: Path
) -> None:
    for name, text in programs.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", how, "--config-file", os.devnull, *sorted(programs)]
    env = os.environ | {"MYPYPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
