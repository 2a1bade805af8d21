"""The configuration's layers, sections and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_ghost.trust import VARIABLE
from session.configuration_file import sections
from session.game_configuration import ConfigurationError, GameConfiguration
from shared_utils import EMBEDDED_BASE_URL

MCP_DEFAULTS = {
    "mcp_enabled": False,
    "mcp_config_file": "mcp_config.json",
    "mcp_max_tool_iterations": 20,
    "mcp_tool_call_timeout_seconds": 30,
    "mcp_server_startup_timeout_seconds": 10,
    "mcp_force_tool_support": False,
}


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "ZORKGPT_AGENT_MODEL"):
        monkeypatch.delenv(name, raising=False)


def toml(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_defaults_of_mcp_are_those_of_the_specification(tmp_path: Path) -> None:
    for config in (
        GameConfiguration(),
        GameConfiguration.from_toml(toml(tmp_path, "")),
        GameConfiguration.from_toml(toml(tmp_path, "[tool.zorkgpt.mcp]\n")),
    ):
        assert {name: getattr(config, name) for name in MCP_DEFAULTS} == MCP_DEFAULTS


# Property 45: whatever is left out has its default.
@settings(max_examples=100)
@given(given_keys=st.sets(st.sampled_from(sorted(MCP_DEFAULTS))))
def test_what_a_section_leaves_out_has_its_default(given_keys: set[str]) -> None:
    values = {
        "mcp_enabled": "true",
        "mcp_config_file": '"other.json"',
        "mcp_max_tool_iterations": "7",
        "mcp_tool_call_timeout_seconds": "3",
        "mcp_server_startup_timeout_seconds": "4",
        "mcp_force_tool_support": "true",
    }
    lines = [f"{name.removeprefix('mcp_')} = {values[name]}" for name in sorted(given_keys)]
    path = Path("partial.toml")
    path.write_text("\n".join(["[tool.zorkgpt.mcp]", *lines]), encoding="utf-8")
    config = GameConfiguration.from_toml(path)
    for name, default in MCP_DEFAULTS.items():
        assert (getattr(config, name) == default) is (name not in given_keys)


# Property 4: what the file says is what the configuration holds.
@settings(max_examples=100)
@given(
    enabled=st.booleans(),
    file=st.from_regex(r"[a-z]{1,12}\.json", fullmatch=True),
    iterations=st.integers(1, 10_000),
    timeout=st.integers(1, 10_000),
    startup=st.floats(0.01, 1000, allow_nan=False),
    force=st.booleans(),
)
def test_mcp_settings_are_loaded_as_written(
    enabled: bool, file: str, iterations: int, timeout: int, startup: float, force: bool
) -> None:
    path = Path("written.toml")
    path.write_text(
        "[tool.zorkgpt.mcp]\n"
        f"enabled = {str(enabled).lower()}\nconfig_file = '{file}'\n"
        f"max_tool_iterations = {iterations}\ntool_call_timeout_seconds = {timeout}\n"
        f"server_startup_timeout_seconds = {startup!r}\n"
        f"force_tool_support = {str(force).lower()}\n",
        encoding="utf-8",
    )
    config = GameConfiguration.from_toml(path)
    assert config.mcp_enabled is enabled
    assert config.mcp_config_file == file
    assert config.mcp_max_tool_iterations == iterations
    assert config.mcp_tool_call_timeout_seconds == timeout
    assert config.mcp_server_startup_timeout_seconds == startup
    assert config.mcp_force_tool_support is force


def test_every_field_but_the_keys_has_exactly_one_place_in_the_file() -> None:
    keys = {name for name in GameConfiguration.model_fields if name.endswith("_api_key")}
    fields = set(GameConfiguration.model_fields) - keys
    in_sections = [field for table in sections(fields).values() for field in table.values()]
    assert sorted(in_sections) == sorted(fields)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool.zorkgpt.mcp]\nenabeld = true", "did you mean 'enabled'"),
        ("[tool.zorkgpt.mpc]\nenabled = true", "did you mean 'mcp'"),
        ("[tool.zorkgpt.llm]\nagnet_model = 'x'", "did you mean 'agent_model'"),
        ("[tool.zorkgpt]\nmcp = true", "Unknown key 'mcp'"),
    ],
)
def test_an_unknown_key_is_an_error_that_names_the_nearest(
    tmp_path: Path, text: str, expected: str
) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        GameConfiguration.from_toml(toml(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[tool.zorkgpt.mcp]\nmax_tool_iterations = 0",
            r"\[tool\.zorkgpt\.mcp\] max_tool_iterations in .*toml: must be 1 or more, not 0",
        ),
        ("[tool.zorkgpt.mcp]\nenabled = 'perhaps'", "'perhaps' is neither true nor false"),
        ("[tool.zorkgpt.orchestrator]\nturn_delay_seconds = -1", "must be 0 or more, not -1"),
        ("[tool.zorkgpt.mcp]\nsession = 'day'", "must be 'turn' or 'episode', not 'day'"),
        ("[tool.zorkgpt.retry]\nmax_attempts = 'x'", "attempts in .*: 'x' is not a whole number"),
        ("[tool.zorkgpt.mcp\n", "Cannot read"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_it(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        GameConfiguration.from_toml(toml(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        GameConfiguration.from_toml(tmp_path)
    assert str(caught.value) == f"Cannot read {tmp_path}: Is a directory"


def test_a_wrong_value_is_named_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toml(tmp_path, "[tool.zorkgpt.game]\nseed = 7")

    def refused(**given: object) -> str:
        with pytest.raises(ConfigurationError) as caught:
            GameConfiguration.from_toml(path, **given)
        return str(caught.value).splitlines()[1].strip()

    (tmp_path / ".env").write_text("zorkgpt_seed=soon\n", encoding="utf-8")
    assert refused() == "zorkgpt_seed in .env: 'soon' is not a whole number"
    monkeypatch.setenv("ZORKGPT_SEED", "late")
    assert refused() == "ZORKGPT_SEED: 'late' is not a whole number"
    monkeypatch.delenv("ZORKGPT_SEED")
    (tmp_path / ".env").unlink()
    assert refused(seed="now") == "seed: 'now' is not a whole number"


def test_a_missing_file_is_an_error_that_names_it() -> None:
    with pytest.raises(ConfigurationError, match=r"nowhere\.toml"):
        GameConfiguration.from_toml("nowhere.toml")


def test_an_unknown_keyword_is_an_error() -> None:
    with pytest.raises(ValueError, match="agnet_model"):
        GameConfiguration(agnet_model="x")  # type: ignore[call-arg]  # the mistake


def test_argument_beats_environment_beats_dotenv_beats_file_beats_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toml(tmp_path, "[tool.zorkgpt.llm]\nagent_model = 'file'")
    assert GameConfiguration().agent_model == "auto"
    assert GameConfiguration.from_toml(path).agent_model == "file"
    (tmp_path / ".env").write_text("ZORKGPT_AGENT_MODEL=dotenv\nUNRELATED=1\n", encoding="utf-8")
    assert GameConfiguration.from_toml(path).agent_model == "dotenv"
    monkeypatch.setenv("ZORKGPT_AGENT_MODEL", "environment")
    assert GameConfiguration.from_toml(path).agent_model == "environment"
    assert GameConfiguration.from_toml(path, agent_model="flag").agent_model == "flag"


def test_a_mistyped_name_in_dotenv_is_an_error_that_names_the_nearest_one(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ZORKGPT_AGNET_MODEL=x\n", encoding="utf-8")
    expected = r"ZORKGPT_AGNET_MODEL in \.env: did you mean 'ZORKGPT_AGENT_MODEL'"
    with pytest.raises(ConfigurationError, match=expected):
        GameConfiguration.from_toml(toml(tmp_path, ""))
    with pytest.raises(ValueError, match="agnet_model"):
        GameConfiguration()


def test_a_mistyped_name_in_the_environment_is_an_error_that_names_the_nearest_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZORKGPT_LOCAL_THREDS", "2")
    with pytest.raises(
        ConfigurationError, match="environment: did you mean 'ZORKGPT_LOCAL_THREADS'"
    ):
        GameConfiguration.from_toml(toml(tmp_path, ""))


def test_an_empty_variable_counts_as_unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("ZORKGPT_AGENT_MODEL=\nOPENAI_API_KEY=\n", encoding="utf-8")
    monkeypatch.setenv("ZORKGPT_SEED", "")
    config = GameConfiguration.from_toml(toml(tmp_path, "[tool.zorkgpt.game]\nseed = 7"))
    assert (config.agent_model, config.seed, config.uses_embedded_model) == ("auto", 7, True)


def test_a_dotenv_that_is_not_text_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match=r"Cannot read \.env: it is not UTF-8"):
        GameConfiguration.from_toml(toml(tmp_path, ""))


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nzorkgpt = 3"])
def test_a_value_in_place_of_a_table_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a table"):
        GameConfiguration.from_toml(toml(tmp_path, text))


def test_a_key_for_a_provider_in_the_file_is_an_error_that_says_where_keys_go(
    tmp_path: Path,
) -> None:
    with pytest.raises(ConfigurationError, match=r"environment or \.env") as refused:
        GameConfiguration.from_toml(toml(tmp_path, "[tool.zorkgpt.llm]\nclient_api_key = 'sk-77'"))
    assert "sk-77" not in str(refused.value)


def test_a_key_in_dotenv_is_used(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OPENAI_API_KEY=sk-dotenv\n", encoding="utf-8")
    assert GameConfiguration().role().api_key == "sk-dotenv"


def test_without_a_key_the_embedded_model_plays() -> None:
    config = GameConfiguration()
    assert config.uses_embedded_model
    assert config.prompt_profile() == "compact"
    assert config.role().api_key is None


@pytest.mark.parametrize(
    ("variable", "host"),
    [
        ("OPENROUTER_API_KEY", "openrouter.ai"),
        ("OPENAI_API_KEY", "api.openai.com"),
        ("ANTHROPIC_API_KEY", "api.anthropic.com"),
        ("GOOGLE_API_KEY", "generativelanguage.googleapis.com"),
        ("GEMINI_API_KEY", "generativelanguage.googleapis.com"),
    ],
)
def test_a_key_in_the_environment_chooses_its_provider(
    monkeypatch: pytest.MonkeyPatch, variable: str, host: str
) -> None:
    monkeypatch.setenv(variable, "sk-123")
    role = GameConfiguration().role()
    assert host in role.base_url
    assert role.api_key == "sk-123"
    assert role.model not in ("auto", "default")


def test_the_wire_is_a_setting_of_the_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toml(tmp_path, "[tool.zorkgpt.llm]\nwire = 'chat'")
    assert GameConfiguration().llm_wire == "auto"
    assert GameConfiguration.from_toml(path).llm_wire == "chat"
    monkeypatch.setenv("ZORKGPT_LLM_WIRE", "responses")
    assert GameConfiguration.from_toml(path).llm_wire == "responses"
    monkeypatch.setenv("ZORKGPT_LLM_WIRE", "websocket")
    with pytest.raises(ConfigurationError, match="'auto', 'chat' or 'responses'"):
        GameConfiguration.from_toml(path)


@pytest.mark.parametrize(
    ("model", "effort", "most"),
    [
        ("gpt-6-luna", None, 10_000),
        ("openai/gpt-6-luna", None, 10_000),
        ("gpt-6-luna", "none", 2000),
        ("gpt-5.4-mini", None, 2000),
        ("gpt-5.4-mini", "low", 10_000),
    ],
)
def test_a_model_that_thinks_has_room_for_it(model: str, effort: Any, most: int) -> None:  # noqa: ANN401
    config = GameConfiguration(agent_model=model, agent_reasoning_effort=effort)
    assert config.role().sampling["max_tokens"] == most


def test_of_several_keys_the_first_provider_is_asked_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []
    for name in ("GEMINI", "ANTHROPIC", "OPENAI", "OPENROUTER"):
        monkeypatch.setenv(f"{name}_API_KEY", f"sk-of-{name}")
        role = GameConfiguration().role()
        asked.append((role.base_url.split("/")[2], role.api_key))
    assert asked == [
        ("generativelanguage.googleapis.com", "sk-of-GEMINI"),
        ("api.anthropic.com", "sk-of-ANTHROPIC"),
        ("api.openai.com", "sk-of-OPENAI"),
        ("openrouter.ai", "sk-of-OPENROUTER"),
    ]
    for provider, key in (
        ("anthropic", "ANTHROPIC"),
        ("gemini", "GEMINI"),
        ("openai", "OPENROUTER"),
    ):
        assert GameConfiguration(provider=provider).role().api_key == f"sk-of-{key}"
    here = GameConfiguration(provider="anthropic", client_base_url="http://127.0.0.1:9").role()
    assert (here.api_key, here.model) == ("sk-of-ANTHROPIC", "claude-haiku-5-5")


def test_a_provider_that_is_named_is_asked_without_a_key_too() -> None:
    asked = [GameConfiguration(provider=name).llm_base_url for name in ("openai", "anthropic")]
    assert asked == ["https://api.openai.com/v1", "https://api.anthropic.com"]


@pytest.mark.parametrize("variable", ["OPENROUTER_API_KEY", "OPENAI_API_KEY"])
@pytest.mark.parametrize(
    ("base_url", "goes"),
    [
        ("http://192.168.1.7/v1", False),
        ("https://evil-openrouter.ai/v1", False),
        ("https://openai.com.example.org/v1", False),
        ("http://127.0.0.1:11434/v1", True),
    ],
)
def test_a_providers_key_goes_to_no_other_host(
    monkeypatch: pytest.MonkeyPatch, variable: str, base_url: str, goes: bool
) -> None:
    monkeypatch.setenv(variable, "sk-1")
    key = GameConfiguration(client_base_url=base_url).role().api_key
    assert key == ("sk-1" if goes else None)


def test_a_key_of_its_own_goes_to_any_endpoint() -> None:
    config = GameConfiguration(client_base_url="http://192.168.1.7/v1", client_api_key="sk-2")
    assert config.role().api_key == "sk-2"


def test_no_key_shows_in_the_configuration_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "open sesame")
    config = GameConfiguration(client_api_key="sk-hidden", client_base_url=EMBEDDED_BASE_URL)
    assert "sk-hidden" not in repr(config)
    assert config.secrets[0] == "sk-hidden"
    assert "open sesame" in config.secrets


def test_a_key_that_goes_with_requests_is_a_secret_however_deep_it_is() -> None:
    body = {"plugins": [{"id": "web", "api_key": "sk-deep-in-a-list"}], "service_tier": "flexible"}
    for role in ("agent", "reflection", "critic"):
        secrets = GameConfiguration.model_validate({f"{role}_extra_body": body}).secrets
        assert "sk-deep-in-a-list" in secrets
        assert "flexible" not in secrets


def test_a_key_too_short_to_be_one_spoils_no_log() -> None:
    assert "x" not in GameConfiguration(client_api_key="x").secrets
    assert "EMPTY" not in GameConfiguration(client_api_key="EMPTY").secrets


# --- what a folder may name that nobody vouches for


@pytest.mark.parametrize(
    ("lines", "field", "expected"),
    [
        ("[tool.zorkgpt.game]\ninterpreter_path = '.'", "interpreter_path", None),
        ("[tool.zorkgpt.game]\nstory = 'gym:this:X-v0'", "story", "zork1"),
        ("[tool.zorkgpt.game]\nstory = 'bundled'", "story", "bundled"),
        ("[tool.zorkgpt.game]\nworkdir = '/tmp/elsewhere'", "workdir", "game_files"),
        ("[tool.zorkgpt.storage]\ndatabase_url = 'sqlite:////x'", "storage_database_url", None),
    ],
)
def test_settings_found_here_play_but_run_and_open_nothing(
    tmp_path: Path, lines: str, field: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = toml(tmp_path, lines).rename("pyproject.toml")
    named = getattr(GameConfiguration.from_toml(file), field)
    assert getattr(GameConfiguration.at_hand(file), field) == named
    assert getattr(GameConfiguration.at_hand(), field) == expected
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert getattr(GameConfiguration.at_hand(), field) == named


@pytest.mark.parametrize("section", ["[tool.zorkgpt.llm]\nclient_base_url", ".env"])
@pytest.mark.parametrize("key", ["ZORKGPT_CLIENT_API_KEY", "OPENAI_API_KEY"])
def test_a_key_of_the_environment_is_not_sent_where_a_file_found_here_says(
    tmp_path: Path, section: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://127.0.0.1:9/v1"
    monkeypatch.setenv(key, "sk-mine")
    if section == ".env":
        (tmp_path / ".env").write_text(f"ZORKGPT_CLIENT_BASE_URL={address}\n")
    else:
        toml(tmp_path, f"{section} = '{address}'").rename("pyproject.toml")
    with pytest.raises(ConfigurationError, match=rf"The key in {key} is not sent to {address}"):
        GameConfiguration.at_hand().role()
    by_flag = GameConfiguration.at_hand(client_base_url=address).role()
    assert (by_flag.base_url, by_flag.api_key) == (address, "sk-mine")
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert GameConfiguration.at_hand().role().api_key == "sk-mine"


def test_an_address_found_here_may_be_asked_without_a_key_or_with_its_own(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ZORKGPT_CLIENT_BASE_URL=http://127.0.0.1:9/v1\n")
    assert GameConfiguration.at_hand().role().api_key is None
    with (tmp_path / ".env").open("a") as file:
        file.write("ZORKGPT_CLIENT_API_KEY=its-own\n")
    assert GameConfiguration.at_hand().role().api_key == "its-own"


@pytest.mark.parametrize(
    ("said", "becomes"),
    [
        ({}, "off"),  # as the folder's own settings say
        ({"mcp_enabled": True}, "refused"),
        ({"mcp_enabled": True, "mcp_config_file": "mcp_config.json"}, "on"),
        ({"mcp_enabled": False}, "off"),
        ({"ZORKGPT_MCP_ENABLED": "1"}, "refused"),
        ({"ZORKGPT_MCP_CONFIG_FILE": "mcp_config.json"}, "on"),
        ({VARIABLE: "."}, "on"),
        ({"--config": "pyproject.toml"}, "on"),
        ({"--config": "elsewhere/settings.toml"}, "refused"),
    ],
)
def test_servers_that_a_folder_names_start_only_if_somebody_vouches_for_them(
    tmp_path: Path, said: dict[str, Any], becomes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    for name in ("pyproject.toml", "elsewhere/settings.toml"):
        (tmp_path / name).write_text("[tool.zorkgpt.mcp]\nenabled = true")
    (tmp_path / "mcp_config.json").write_text('{"mcpServers": {"evil": {"command": "sh"}}}')
    for name in filter(str.isupper, said):
        monkeypatch.setenv(name, str(said[name]))
    fields = {name: value for name, value in said.items() if name.islower() and "-" not in name}
    config = GameConfiguration.at_hand(said.get("--config"), **fields)
    if becomes == "refused":
        with pytest.raises(ConfigurationError, match="give --trust if you know who wrote it"):
            config.ask_about_servers()
    else:
        assert config.ask_about_servers().mcp_enabled == (becomes == "on")
