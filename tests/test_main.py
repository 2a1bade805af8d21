from __future__ import annotations

import os
import re
import resource
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from tests.support import FOREVER, PATIENCE
from tests.support.program import Program, heavy_imports, terminal
from workshop.scripted_model import action_reply

pytestmark = pytest.mark.mcp

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
FLAGS = (
    "--max-turns",
    "--episodes",
    "--continuous",
    "--resume",
    "--replay",
    "--story",
    "--seed",
    "--player",
    "--model",
    "--base-url",
    "--mcp",
    "--no-mcp",
    "--without",
    "--watch",
    "--no-open",
    "--config",
    "--version",
    "--help",
)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: action_reply("look", "Let us see.")) as server:
        yield server


class SlowModel:
    """Answers at once until request number ``slow``, which it keeps waiting."""

    def __init__(self, slow: int, *before: Reply) -> None:
        self.asked = threading.Event()
        self._before = iter(before)
        self._slow = slow
        self._count = 0

    def __call__(self, _request: ModelRequest) -> Reply:
        self._count += 1
        if self._count < self._slow:
            return next(self._before, action_reply("look"))
        self.asked.set()
        return action_reply("look").after(FOREVER)


def test_help_is_complete_and_says_what_exit_codes_mean(program: Program) -> None:
    played = program.run("--help")
    assert played.returncode == 0
    for words in (*FLAGS, "exit code", "OPENROUTER_API_KEY", "latest"):
        assert words in played.stdout
    assert max(map(len, played.stdout.splitlines())) <= 100


def test_help_does_not_wait_for_what_it_does_not_need() -> None:
    assert heavy_imports("main.py", "--help") == set()


def test_version_names_program_and_version(program: Program) -> None:
    played = program.run("--version")
    assert played.returncode == 0
    assert re.fullmatch(r"ZorkGPT \d+\.\d+\.\d+\S*\n", played.stdout)


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--turns", "3"], "--turns"),
        (["--max-turns", "0"], "must be 1 or more, not '0'"),
        (["game"], "unrecognized arguments: game (did you mean 'games'?)"),
        (["--story", "nosuch"], "there is no story file at nosuch"),
        (["--seed", "-1"], "from 0 to 2147483647"),
        (["--base-url", "localhost:11434"], "http://"),
        (["--episodes", "2", "--continuous"], "not allowed with"),
        (["--resume", "latest", "--story", "bundled"], "--story is for a new episode"),
        (["--resume", "latest"], "no episode in"),
        (["--resume", "yesterday"], "no episode 'yesterday'"),
        (["--config", "missing.toml"], "missing.toml"),
        (["--story", "missing.z5", "--base-url", "http://127.0.0.1:9/v1"], "missing.z5"),
        (["--mcp", "--base-url", "http://127.0.0.1:9/v1"], "mcp_config.json"),
    ],
)
def test_wrong_use_ends_with_2_and_a_line_that_says_why(
    program: Program, flags: list[str], hint: str
) -> None:
    played = program.run(*flags)
    assert played.returncode == 2
    assert "main.py: error:" in played.stderr
    assert hint in played.stderr


def test_an_unknown_setting_ends_with_2_and_names_the_nearest_one(program: Program) -> None:
    program.configure("[tool.zorkgpt.orchestrator]\nmax_turns_per_episod = 3\n")
    played = program.run()
    assert played.returncode == 2
    assert "did you mean 'max_turns_per_episode'?" in played.stderr


def test_a_flag_wins_over_environment_dotenv_and_pyproject_in_this_order(
    program: Program, model: ModelServer
) -> None:
    def asked_for(*flags: str) -> str:
        played = program.play(model, "--max-turns", "1", *flags)
        assert played.returncode == 0
        return str(model.requests[-1].body["model"])

    program.configure('[tool.zorkgpt.llm]\nagent_model = "of-pyproject"\n')
    assert asked_for() == "of-pyproject"
    (program.folder / ".env").write_text("ZORKGPT_AGENT_MODEL=of-dotenv\nSOMETHING_ELSE=1\n")
    assert asked_for() == "of-dotenv"
    program.env["ZORKGPT_AGENT_MODEL"] = "of-environment"
    assert asked_for() == "of-environment"
    assert asked_for("--model", "of-flag") == "of-flag"


def test_config_names_another_file_of_settings(program: Program, model: ModelServer) -> None:
    program.configure("[tool.zorkgpt.nonsense]\n")
    other = program.folder / "other.toml"
    other.write_text('[tool.zorkgpt.llm]\nagent_model = "of-other"\n')
    assert program.play(model, "--config", "other.toml").returncode == 0
    assert model.requests[0].body["model"] == "of-other"


def test_base_url_wins_over_a_configured_endpoint_of_the_agent(
    program: Program, model: ModelServer
) -> None:
    program.configure('[tool.zorkgpt.llm]\nagent_base_url = "http://127.0.0.1:9/v1"\n')
    assert program.play(model).returncode == 0
    assert model.requests


def test_piped_output_shows_the_episode_in_plain_lines_without_a_key(
    program: Program, model: ModelServer
) -> None:
    program.env["ZORKGPT_CLIENT_API_KEY"] = "sk-sesame-open-123456"
    played = program.play(model, "--model", "parrot")
    assert played.returncode == 0
    assert played.stderr == ""
    assert not CONTROL.search(played.stdout)
    folder = program.episodes()[0]
    for text in (
        f"parrot at {model.base_url}",
        "Turn 1 · ",
        "Turn 2 · ",
        "Let us see.",
        ">  look",
        "Turn limit reached",
        f"game_files/episodes/{folder.name}/episode.log",
        f"--resume {folder.name} ",
        "view    uv run python -m viewer --open\n",
    ):
        assert text in played.stdout
    assert (folder / "episode.log").is_file()
    assert model.requests[0].headers["authorization"] == "Bearer sk-sesame-open-123456"
    assert "sesame" not in played.stdout + (folder / "episode.log").read_text()


def test_the_dotenv_file_reaches_tool_servers_too(program: Program, model: ModelServer) -> None:
    program.serve_tools("sh", "-c", f'test "$SECRET" = 1 && exec {sys.executable} -m thoughtbox')
    assert program.play(model, "--mcp").returncode == 1
    (program.folder / ".env").write_text("SECRET=1\n")
    assert program.play(model, "--mcp").returncode == 0


def test_mcp_is_a_matter_of_the_flag(program: Program, model: ModelServer) -> None:
    program.serve_tools()
    program.configure("[tool.zorkgpt.mcp]\nenabled = true\n")
    assert program.play(model, "--no-mcp").returncode == 0
    assert not any(request.tool_names for request in model.requests)
    program.configure("")
    assert program.play(model, "--mcp").returncode == 0
    assert model.requests[-1].tool_names == ["thoughtbox_think"]
    assert program.leftovers() == []


def test_tool_calls_are_shown_as_they_went(program: Program) -> None:
    thought = {
        "thought": "Where am I?",
        "thoughtNumber": 1,
        "totalThoughts": 1,
        "nextThoughtNeeded": False,
    }
    replies = [tool_reply([("thoughtbox.think", thought)]), action_reply("north")]
    program.serve_tools()
    with ModelServer(replies) as model:
        played = program.play(model, "--mcp", "--max-turns", "1")
    assert re.search(r"✓  thoughtbox\.think · .* · thought: Where am I\?", played.stdout)
    assert "tools   1 call" in played.stdout


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_program_ends_at_once_leaves_nothing_and_says_how_to_go_on(
    program: Program, number: int, code: int
) -> None:
    program.serve_tools()
    script = SlowModel(2)
    with ModelServer(script) as model:
        process = program.start(*program.flags(model.base_url, 9), "--mcp")
        assert script.asked.wait(PATIENCE)
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert errors == ""
    assert "The episode was stopped" in output
    assert re.search(r"turns +1$", output, re.MULTILINE), "the finished turn was kept"
    assert f"--resume {program.episodes()[0].name}" in output
    assert program.leftovers() == []


def test_a_closed_pipe_ends_the_program_without_a_word(program: Program) -> None:
    program.serve_tools()
    script = SlowModel(10_000)
    with ModelServer(script) as model:
        process = program.start(*program.flags(model.base_url, 9999), "--mcp")
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ZorkGPT")
        process.stdout.close()
        assert process.wait(timeout=PATIENCE) == 141
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.stderr.close()
    assert program.leftovers() == []


@pytest.mark.parametrize("turns", [1, 9])
def test_a_model_that_cannot_be_reached_ends_with_1_and_an_episode_to_resume(
    program: Program, model: ModelServer, turns: int
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, but nobody listens
        played = program.run(
            *program.flags(f"http://127.0.0.1:{unused.getsockname()[1]}/v1", turns)
        )
    assert played.returncode == 1
    assert len(re.findall(r"^Turn \d+ · ", played.stdout, re.MULTILINE)) == 1
    assert "The model gave no usable answer" in played.stdout
    assert re.search(r"turns +0$", played.stdout, re.MULTILINE)
    assert re.search(r"failure +The model could not be asked: No server can be", played.stdout)
    assert "look" not in played.stdout
    resumed = program.run("--resume", "latest", "--max-turns", "4", "--base-url", model.base_url)
    assert resumed.returncode == 0


def test_a_tool_server_that_cannot_start_ends_with_1_and_names_the_log(
    program: Program, model: ModelServer
) -> None:
    program.serve_tools("sh", "-c", "printf '\\033[31mno space left\\n' >&2; exit 3")
    played = program.play(model, "--mcp")
    assert played.returncode == 1
    assert "no space left" in played.stderr
    assert "\x1b" not in played.stderr
    assert f"Log: game_files/episodes/{program.episodes()[0].name}/episode.log" in played.stderr


@pytest.mark.soak
def test_a_full_disk_ends_with_1_keeps_what_was_played_and_says_how_to_go_on(
    program: Program, model: ModelServer
) -> None:
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    program.env["PYTHONDONTWRITEBYTECODE"] = "1"
    played = program.run(*program.flags(model.base_url, 99), limit=small_disk)
    assert played.returncode == 1
    (episode,) = program.episodes()
    said = rf"main\.py: error: Cannot write .*: free .* --resume {episode.name}\.\nLog: .*\.log\n"
    assert re.fullmatch(said, played.stderr)
    assert "Traceback" in (episode / "episode.log").read_text()
    turns = len(re.findall("^Turn ", played.stdout, re.MULTILINE)) - 1
    flags = ("--resume", "latest", "--base-url", model.base_url, "--max-turns", "99")
    still_full = program.run(*flags, limit=small_disk)
    assert still_full.returncode == 1
    assert "free some space" in still_full.stderr
    resumed = program.run(*flags[:-1], str(turns + 2))
    assert f"continues after turn {turns}\n" in resumed.stdout
    assert resumed.returncode == 0


def test_a_folder_that_cannot_be_written_to_ends_with_2_and_names_the_setting(
    program: Program, model: ModelServer
) -> None:
    (program.folder / "game_files").touch()
    played = program.play(model)
    assert played.returncode == 2
    assert "ZORKGPT_WORKDIR" in played.stderr


def test_a_wrong_model_file_ends_with_2_and_names_the_setting(program: Program) -> None:
    program.env["ZORKGPT_LOCAL_MODEL_PATH"] = "~/missing.gguf"
    program.env["HOME"] = str(program.folder)
    played = program.run("--story", "bundled")
    assert played.returncode == 2
    assert str(program.folder / "missing.gguf") in played.stderr
    assert "model_path in [tool.zorkgpt.local]" in played.stderr


def test_a_second_player_of_an_episode_is_turned_away(program: Program) -> None:
    script = SlowModel(1)
    with ModelServer(script) as model:
        first = program.start(*program.flags(model.base_url))
        assert script.asked.wait(PATIENCE)
        second = program.run("--resume", "latest", "--base-url", model.base_url)
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=PATIENCE)
    assert second.returncode == 2
    assert "another process" in second.stderr


def test_several_episodes_are_played_one_after_the_other_and_summed_up(
    program: Program, model: ModelServer
) -> None:
    played = program.play(model, "--episodes", "2")
    assert played.returncode == 0
    assert len(program.episodes()) == 2
    assert len(model.requests) == 4
    assert "2 episodes: best score 0, mean 0.0, 4 turns" in played.stdout


def test_continuous_play_goes_on_until_it_is_interrupted(program: Program) -> None:
    script = SlowModel(3)
    with ModelServer(script) as model:
        process = program.start(*program.flags(model.base_url, 1), "--continuous")
        assert script.asked.wait(PATIENCE)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "3 episodes: " in output


@pytest.mark.parametrize(
    ("settings", "is_live"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_terminal_gets_colours_unless_it_or_its_user_wants_none(
    program: Program, model: ModelServer, settings: dict[str, str], is_live: bool
) -> None:
    program.env |= settings
    with terminal() as (device, read_all):
        process = program.start(*program.flags(model.base_url), stdout=device)
        os.close(device)
        output = read_all()
        assert process.wait(timeout=PATIENCE) == 0
        assert process.stderr is not None
        process.stderr.close()
    assert "Turn 2" in output
    assert bool(re.search(r"\x1b\[[\d;]*m", output)) == is_live
    assert is_live or not CONTROL.search(output.replace("\r\n", "\n"))


@pytest.mark.slow
def test_without_key_and_story_it_plays_and_says_what_it_fell_back_to(program: Program) -> None:
    program.env |= {"XDG_CACHE_HOME": str(program.folder), "https_proxy": "http://127.0.0.1:9"}
    played = program.run("--max-turns", "1")
    assert played.returncode == 0
    assert "No API key found" in played.stdout
    assert "OPENROUTER_API_KEY" in played.stdout
    assert "Zork I is not available" in played.stdout
    assert "Starting the embedded model" in played.stdout
    assert program.leftovers() == []
