"""What the package's README and pages say is so: examples run, and tables are complete."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
import textwrap
import typing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_ghost import mcp_ghost
from mcp_ghost.events import EVENTS
from mcp_ghost.golden.comparison import MAX_AGE_DAYS
from mcp_ghost.providers.registry import get_provider
from mcp_ghost.run.report.account import ErrorRecord, GhostResult, RunMetadata, ToolRecord
from mcp_ghost.run.report.events import EventType
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import ghost_example, warm

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName


def section(title: str) -> str:
    """The pages' part under ``title``."""
    text = ghost_example.text()
    found = re.search(rf"^## {title}\n(.*?)(?=^##? |\Z)", text, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def rows(title: str) -> list[list[str]]:
    """The cells of the tables under ``title``, header and rule left out."""
    lines = re.sub(r"^\|.*\n\|---.*\n", "", section(title), flags=re.MULTILINE).splitlines()
    return [line[2:-2].split(" | ") for line in lines if line.startswith("|")]


def run(folder: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return warm.run(command, cwd=folder, env=os.environ | env)


def test_no_page_is_too_long_and_every_one_is_linked() -> None:
    readme, *pages = ghost_example.PAGES
    long = [it.name for it in ghost_example.PAGES if it.read_text().count("\n") >= 150]
    assert long == ["cookbook.md"]  # ten programs, each short
    assert [it.name for it in pages if f"(docs/{it.name})" not in readme.read_text()] == []


def test_the_first_program_needs_no_key(tmp_path: Path) -> None:
    ghost_example.write_files(tmp_path)
    done = run(tmp_path, sys.executable, "try_it.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ghost_example.shown("try_it.py")


def test_the_example_runs_as_it_stands_and_prints_what_the_readme_shows(tmp_path: Path) -> None:
    ghost_example.write_files(tmp_path)
    with ModelServer(ghost_example.model) as server:
        done = run(tmp_path, sys.executable, "example.py", OPENAI_BASE_URL=server.base_url)
    assert done.returncode == 0, done.stderr
    assert server.refusals == []
    ghost_example.assert_it_worked(tmp_path, done.stdout)


@pytest.mark.parametrize(
    "provider",
    ["openai", *(pytest.param(it, marks=pytest.mark.soak) for it in ("anthropic", "gemini"))],
)
def test_the_conversation_runs_as_it_stands_with_every_provider(
    provider: WireName, tmp_path: Path
) -> None:
    def model(request: ModelRequest) -> Reply:
        asked = [message["content"] for message in request.messages if message["role"] == "user"]
        if len(asked) == 3:
            return content_reply(f"You asked: {asked[0]}")
        if request.messages[-1]["role"] == "user":
            return tool_reply([("mcp_ghost.notes.add", {"text": asked[-1]})])
        return content_reply(f"{len(asked)} noted.")

    ghost_example.write_files(tmp_path)
    with ModelServer(model, wire=provider) as server:
        variable = get_provider(provider).base_url_variable
        command = (sys.executable, "conversation.py", provider)
        done = run(tmp_path, *command, **{variable: server.base_url})
    assert done.returncode == 0, done.stderr
    assert server.refusals == []
    said = ["1 noted.", "2 noted.", "You asked: Note that the milk is gone."]
    assert done.stdout.splitlines() == said
    assert len((tmp_path / "notes.txt").read_text().splitlines()) == 2


def test_the_snippets_about_providers_work(tmp_path: Path) -> None:
    ask, add = re.findall(r"```python\n(.*?)```", section("Providers"), re.DOTALL)
    started = "async def main():\n" + textwrap.indent(ask, "    ")
    asked = 'await mcp_ghost({"mcpServers": {}}, "", "groq", user_prompt="Good evening?")'
    ended = f"    print(({asked})['final_result'])\n"
    program = f"import asyncio\n{add}\n{started}\n{ended}\nasyncio.run(main())\n"
    (tmp_path / "ask.py").write_text("from mcp_ghost import mcp_ghost\n" + program)
    with (
        ModelServer(["Good morning."], wire="anthropic") as claude,
        ModelServer(["Good evening."]) as groq,
    ):
        env = {"ANTHROPIC_BASE_URL": claude.base_url, "GROQ_BASE_URL": groq.base_url}
        done = run(tmp_path, sys.executable, "ask.py", **env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Good morning. None {'prompt_tokens': ")
    assert done.stdout.endswith("\nGood evening.\n")
    assert groq.requests[0].body["model"] == "llama-3.3-70b-versatile"


def test_every_option_is_explained_with_its_default() -> None:
    explained = {name: default for name, default, _ in rows("Options")}
    parameters = inspect.signature(mcp_ghost).parameters.values()
    assert list(explained) == [f"`{parameter.name}`" for parameter in parameters]
    for parameter in parameters:
        told = explained[f"`{parameter.name}`"]
        if parameter.default is parameter.empty:
            assert told == "required"
        else:
            assert ast.literal_eval(told.strip("`")) == parameter.default, parameter.name


def test_every_field_of_the_result_is_explained() -> None:
    fields = [
        field
        for record in (GhostResult, ToolRecord, RunMetadata)
        for field in record.__dataclass_fields__
        if field not in {"cached_tokens", "cost", "_output"}
    ]
    assert [row[0].strip("`") for row in rows("The result")] == fields
    for field in ErrorRecord.__dataclass_fields__:
        assert f"`{field}`" in section("The result")


def test_every_provider_is_listed_with_its_variables_address_and_model() -> None:
    listed = rows("Providers")
    assert [row[0].strip("`") for row in listed] == ["openai", "anthropic", "gemini"]
    for name, keys, address, model in listed:
        provider = get_provider(name.strip("`"))
        assert re.findall(r"`(.+?)`", keys) == list(provider.key_variables)
        assert address == f"`{provider.base_url_variable}`: `{provider.base_url}`"
        assert model == f"`{provider.default_model}`"


def test_every_event_is_listed_and_has_a_type() -> None:
    listed = [name for row in rows("Events") for name in re.findall(r"`(\w+)`", row[0])]
    assert listed == list(typing.get_args(EventType)) == list(EVENTS)


def test_the_age_at_which_goldens_are_flagged_is_the_real_one() -> None:
    assert f"older than {MAX_AGE_DAYS} days" in section("Goldens")
