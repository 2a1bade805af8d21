"""config.yaml, mcp.jsonc and the saved script (A23, A24, A28 and the settings of A18)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import movie_generator
from mcp_ghost.config import load_servers
from mcp_ghost.errors import MCPConfigError, MCPConfigNotFoundError
from movie_generator import MCPClient, Narration, RoleAssignment, ScriptSection, VideoScript
from movie_generator.errors import ScriptError, SettingsError
from movie_generator.settings import AppConfig
from tests.support.movie import SERVERS, desk

pytestmark = pytest.mark.mcp

SHIPPED = Path(movie_generator.__file__).parent
SCRIPT = VideoScript(
    title="東京: the city",
    description="About it",
    sections=[
        ScriptSection(
            title="One",
            narrations=[Narration(text="東京", reading="トウキョウ", persona_id="host")],
            slide_prompt="A tower",
            source_image_url="https://x.example/a.png",
        ),
        ScriptSection(title="Two", narrations=[Narration(text="yes", reading="yes")]),
    ],
    role_assignments=[RoleAssignment(persona_id="host", role="guide", description="Leads")],
)


def config_file(text: str, name: str = "config.yaml") -> Path:
    path = Path(name)
    path.write_text(text, encoding="utf-8")
    return path


# --- config.yaml


@pytest.mark.parametrize("text", ["{}", "", "# nothing\n"])
def test_an_empty_configuration_is_all_defaults(text: str) -> None:
    assert AppConfig.load(config_file(text)) == AppConfig.load(None) == AppConfig.load("")
    config = AppConfig()
    assert (config.language, config.style, config.limits.iterations) == ("en", "single", 10)


def test_the_shipped_configuration_shows_the_defaults() -> None:
    assert AppConfig.load(SHIPPED / "config.yaml") == AppConfig()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modell: x", r"config\.yaml: unknown key 'modell' \(did you mean 'model'\?\)"),
        ("limits: {iteration: 3}", r"unknown key 'limits.iteration' \(did you mean 'iterations'"),
        ("qqqq: 1", "known keys: model, wire, language"),
        ("language: xx-none", "'language': .*'xx-none' is not a language"),
        ("limits: {iterations: 0}", "'limits.iterations'.*greater than or equal to 1"),
        ("style: dialogue\npersonas: []", "at least two personas"),
        ("personas: [{id: a, name: A}, {id: a, name: B}]", "its own id"),
        ("personas: [{id: a, nane: A}]", r"did you mean 'name'"),
        ("[1, 2]", r"holds no settings\. Write one on each line, such as 'language: en'"),
        ("English, please", "holds no settings"),
        ("a: [", r"config\.yaml cannot be read: line 1, column 5: "),
        ("model: 2024-13-45", r"config\.yaml cannot be read: a date .*month must be in 1\.\.12"),
        ("[" * 1000, r"config\.yaml cannot be read: it is nested too deeply\.$"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_names_it(text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        AppConfig.load(config_file(text))


def test_a_missing_configuration_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.yaml.*unset CONFIG_PATH"):
        AppConfig.load("nowhere.yaml")
    with pytest.raises(SettingsError, match=r"Configuration \. cannot be read: Is a directory\."):
        AppConfig.load(".")
    Path("latin.yaml").write_bytes(b"model: gr\xf6\xdfer")
    with pytest.raises(SettingsError, match=r"latin\.yaml is not UTF-8"):
        AppConfig.load("latin.yaml")


# --- MCP servers


def test_servers_that_cannot_be_read_are_one_plain_sentence() -> None:
    with pytest.raises(MCPConfigError, match=r"^MCP configuration \. cannot be read: Is a dir"):
        MCPClient(".")
    Path("mcp.json").write_bytes(b'{"mcpServers": {"gr\xfcn": {}}}')
    with pytest.raises(MCPConfigError, match=r"^MCP configuration mcp\.json is not UTF-8"):
        MCPClient("mcp.json")


@pytest.mark.parametrize("name", ["mcp.jsonc", "mcp.json"])
async def test_comments_and_trailing_commas_are_allowed_in_any_file(name: str) -> None:  # A23
    entry = desk("db")["mcpServers"]["db"]
    arguments = json.dumps([*entry["args"], "http://example.com//path /* no comment */"])
    text = f"""// servers
    {{ /* all
        of them */
      "mcpServers": {{
        "db": {{"command": {json.dumps(sys.executable)}, "args": {arguments},}}, // the only one
      }},
    }}"""
    path = config_file(text, name)
    assert load_servers(path, lenient=True)["db"].args[-1].startswith("http://example.com//path")

    async def tools() -> list[str]:
        async with MCPClient(str(path)) as client:
            return [tool["name"] for tool in client.available_tools]

    assert await tools() == ["list", "describe", "query"]


def test_a_configuration_that_cannot_be_used_is_an_error_that_names_the_file() -> None:
    with pytest.raises(MCPConfigNotFoundError, match=r"none\.jsonc"):
        MCPClient("none.jsonc")
    with pytest.raises(MCPConfigError, match=r"bad\.jsonc, line 1"):
        MCPClient(config_file("{ nonsense", "bad.jsonc"))


async def test_variables_are_resolved_everywhere_in_a_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # A24
    monkeypatch.setenv("FOLDER", "up")
    monkeypatch.setenv("lower_case", "low")
    entry: dict[str, Any] = {
        "command": sys.executable,
        "args": [str(SERVERS / "faulty.py"), "normal"],
        "env": {"JOINED": "{env:FOLDER}/{env:lower_case}"},
    }

    async def environment() -> Any:  # noqa: ANN401
        async with MCPClient({"mcpServers": {"s": entry}}) as client:
            return (await client.call_tool("environment")).content

    assert (await environment())["JOINED"] == "up/low"


async def test_an_undefined_variable_is_an_error_only_for_the_server_that_needs_it() -> None:  # A28
    config = desk("db")
    needy = {"command": sys.executable, "env": {"KEY": "{env:NOT_SET_ANYWHERE}"}}
    config["mcpServers"]["brave"] = needy
    config["mcpServers"]["off"] = {**needy, "disabled": True}

    async def failures() -> dict[str, str]:
        async with MCPClient(config) as client:
            assert client.available_tools
            return {name: str(error) for name, error in client.failures.items()}

    (problem,) = (await failures()).items()
    assert problem[0] == "brave"
    assert "'brave' needs the environment variable NOT_SET_ANYWHERE" in problem[1]


def test_the_shipped_servers_are_fetch_and_two_that_are_off() -> None:
    servers = load_servers(SHIPPED / "mcp.jsonc")
    assert {name: entry.disabled for name, entry in servers.items()} == {
        "fetch": False,
        "firecrawl": True,
        "brave-search": True,
    }
    assert servers["fetch"].command_line() == "uvx mcp-server-fetch"
    assert servers["firecrawl"].command_line() == "npx -y firecrawl-mcp"


# --- the script's file


@pytest.mark.parametrize("name", ["script.yaml", "folder/script.json", "script"])
def test_a_saved_script_is_loaded_as_it_was(name: str) -> None:
    SCRIPT.save(name)
    assert VideoScript.load(name) == SCRIPT
    assert [path.name for path in Path(name).parent.iterdir()] == [Path(name).name]
    assert "東京" in Path(name).read_text(encoding="utf-8")


def test_json_and_yaml_are_chosen_by_the_name() -> None:
    SCRIPT.save("a.json")
    SCRIPT.save("a.yaml")
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["title"] == SCRIPT.title
    assert Path("a.yaml").read_text(encoding="utf-8").startswith("title: ")


def test_a_save_that_fails_leaves_nothing_behind() -> None:
    Path("a.yaml").mkdir()
    with pytest.raises(OSError, match=r"a\.yaml"):
        SCRIPT.save("a.yaml")
    assert [path.name for path in Path().iterdir()] == ["a.yaml"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("it.yaml", b"title: 1", "'title': Input should be a valid string"),
        ("it.yaml", b"", "it has no title and no sections"),
        ("it.yaml", b"title: [a\nb: c", "line 2, column 2: expected ',' or ']', but got ':'"),
        (
            "it.yaml",
            b"title: 2024-13-45",
            "a date or number in it is impossible (month must be in ",
        ),
        ("it.yaml", b"[" * 1000, "it is nested too deeply"),
        ("it.yaml", b"a: \0", "unacceptable character #x0000"),
        ("it.yaml", b"\xff", "it is not UTF-8"),
        ("it.json", b"{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
    ],
)
def test_a_file_that_is_not_a_script_is_refused_in_one_line(
    name: str, content: bytes, reason: str
) -> None:
    Path(name).write_bytes(content)
    with pytest.raises(ScriptError) as caught:
        VideoScript.load(name)
    said = str(caught.value)
    assert said.startswith(f"{name} is not a video script: {reason}")
    assert said.endswith(". Name a file that `script` or `result` has saved.")
    assert "\n" not in said
