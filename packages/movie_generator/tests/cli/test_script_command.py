"""``python -m movie_generator script``, as a process of its own."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, error_reply, tool_reply
from movie_generator import VideoScript
from movie_generator.cli.scripts import check_writable
from movie_generator.errors import SettingsError
from tests.support import ROOT, warm
from tests.support.movie import SERVERS, script_reply, site

pytestmark = pytest.mark.mcp

PAGE: dict[str, Any] = {"/": ("text/html", b"<title>Bridges</title><p>Bridges cross rivers.</p>")}


def run(*flags: str, said: str | None = None, **variables: str) -> tuple[int, str, str]:
    """Exit code, output, and what was shown; ``said`` comes through a pipe."""
    ours = ("MOVIE_", "MCP_CONFIG_PATH", "CONFIG_PATH", "OPENROUTER_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    done = warm.run(
        [sys.executable, "-m", "movie_generator", "script", *flags],
        said=said,
        env={**kept, "PYTHONPATH": str(ROOT), "MOVIE_ALLOW_PRIVATE_URLS": "1", **variables},
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", ["script.yaml", "folder/script.json"])
def test_a_script_is_shown_as_it_goes_and_saved(name: str) -> None:
    with site(PAGE) as served, ModelServer([script_reply()]) as model:
        code, out, shown = run(served.url, "-o", name, OPENROUTER_BASE_URL=model.base_url)
    assert (code, out) == (0, "")
    assert VideoScript.load(name).title == "Bridges"
    lines = shown.splitlines()
    assert "movie_generator" in lines[0]
    assert any("Reading the page" in line for line in lines)
    assert name in lines[-1]
    assert "2 sections" in lines[-1]


def test_without_a_file_the_script_is_printed_as_yaml() -> None:
    with site(PAGE) as served, ModelServer([script_reply()]) as model:
        code, out, _ = run(served.url, OPENROUTER_BASE_URL=model.base_url)
    assert code == 0
    assert VideoScript.model_validate(yaml.safe_load(out)).sections[1].title == "What to take away"


def test_flags_beat_the_configuration_and_several_pages_make_one_script() -> None:
    pages: dict[str, tuple[str, bytes] | str] = {
        "/one": ("text/html", b"<title>One</title><p>Rivers part us.</p>"),
        "/two": ("text/html", b"<title>Two</title><p>Build one.</p>"),
    }
    Path("saved.md").write_text("# Three\n\nBuild one.")
    flags = [
        "--sections",
        "3",
        "--model",
        "tiny",
        "--style",
        "dialogue",
        "--check",
        "rules",
        "--language",
        "en-GB",
    ]
    spoken = [{"text": "Build one.", "reading": "Build one.", "persona_id": "host"}]
    reply = script_reply(sections=[{"title": "A", "narrations": spoken}])
    with site(pages) as served, ModelServer([reply]) as model:
        urls = [f"{served.url}/one", "saved.md", f"{served.url}/two"]
        code, _, shown = run(*urls, *flags, "-o", "s.yaml", OPENROUTER_BASE_URL=model.base_url)
    assert code == 0, shown
    (request,) = model.requests
    assert request.body["model"] == "tiny"
    system, user = (it["content"] for it in request.messages)
    assert "Aim for 3 sections" in system
    assert "English (United Kingdom)" in system
    assert "- expert: Ken." in system
    assert "# One\n\nRivers part us.\n\n# Three\n\n# Three\n\nBuild one.\n\n# Two" in user
    page = VideoScript.load("s.yaml").page
    assert page
    assert page.url == urls[0]
    assert page.others == [Path("saved.md").absolute().as_uri(), urls[2]]


def test_a_saved_page_is_read_from_a_file_or_a_pipe() -> None:
    page = '<title>Saved</title><p>Rivers part us. <img src="/a.png"></p>'
    Path("page").write_text(page)
    with ModelServer([script_reply()] * 2) as model:
        code, out, shown = run(
            "--html", "page", "https://pages.invalid/it", OPENROUTER_BASE_URL=model.base_url
        )
        assert code == 0, shown
        assert yaml.safe_load(out)["page"]["url"] == "https://pages.invalid/it"
        assert "https://pages.invalid/a.png" in model.requests[0].messages[1]["content"]
        code, out, shown = run("--html", "-", said=page, OPENROUTER_BASE_URL=model.base_url)
    assert code == 0, shown
    assert "Rivers part us." in out


def test_flags_that_cannot_be_used_are_wrong_use() -> None:
    for flags, said in {
        (
            "https://x.example",
            "--language",
            "klingon-x",
        ): "--language: 'klingon-x' is not a language",
        ("https://x.example", "--sections", "0"): "must be from 1 to 50",
        (): "Name a page: a URL, a saved file, or --html FILE",
        ("--html", "nowhere.html"): "nowhere.html cannot be read: No such file",
        ("--html", "a.html", "--html", "b.html"): "--html takes one page",
    }.items():
        code, _, shown = run(*flags, OPENROUTER_API_KEY="k")
        assert code == 2
        assert said in shown


@pytest.mark.parametrize("name", ["script.yaml", "script.json"])
def test_a_script_that_cannot_be_saved_any_more_is_printed(name: str) -> None:
    folder = Path("folder")
    folder.mkdir()

    def vanish(_: ModelRequest) -> str:
        folder.rmdir()
        folder.write_text("a file")
        return script_reply()

    with site(PAGE) as served, ModelServer(vanish) as model:
        code, out, shown = run(
            served.url, "-o", f"folder/{name}", OPENROUTER_BASE_URL=model.base_url
        )
    assert code == 1
    assert f"error: folder/{name} could not be written (Not a directory). The script was" in shown
    Path(name).write_text(out)
    assert VideoScript.load(name).title == "Bridges"


def test_a_disk_without_room_is_noticed_before_the_first_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check_writable("folder/script.yaml", "-o")

    def full_disk(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    said = (
        r"^script\.yaml cannot be written \(No space left on device\)\. Choose another file with -o"
    )
    with pytest.raises(SettingsError, match=said):
        check_writable("script.yaml", "-o")
    assert not [*Path().iterdir()]


def test_with_mcp_servers_an_agent_reads_the_page() -> None:
    def script(request: ModelRequest) -> Reply | str:
        if not request.tool_names:
            spoken = {"text": "川は人を分けます。", "reading": "カワワ ヒトヲ ワケマス。"}
            sections = [{"title": "川", "narrations": [spoken]}]
            return script_reply(title="橋", description="", sections=sections)
        if request.last["role"] == "tool":
            return json.dumps({"title": "T", "description": "D", "results": [1]})
        return tool_reply([("fetch", {"url": "http://127.0.0.1:1/bridges"})])

    Path("bridges").write_text("Words of the tool.")
    server = {
        "command": sys.executable,
        "args": [str(SERVERS / "pages.py")],
        "env": {"PAGES": "${PAGES_FOLDER}"},
        "colour": "red",
    }
    Path("mcp.json").write_text("// servers\n" + json.dumps({"mcpServers": {"pages": server}}))
    Path("config.yaml").write_text("language: ja\nobey_robots: false\n")
    with ModelServer(script) as model:
        code, _, shown = run(
            "http://127.0.0.1:1/bridges",
            "-o",
            "s.yaml",
            "--config",
            "config.yaml",
            OPENROUTER_BASE_URL=model.base_url,
            MCP_CONFIG_PATH="mcp.json",
            PAGES_FOLDER=str(Path.cwd()),
        )
    assert code == 0
    assert "Words of the tool." in model.requests[-1].messages[1]["content"]
    assert "katakana" in model.requests[-1].messages[0]["content"]
    assert 'fetch {"url": "http://127.0.0.1:1/bridges", "max_length": 60000}' in shown
    assert "mcp.json: server 'pages': unknown key 'colour'" in shown


def test_what_goes_wrong_is_one_line_and_an_exit_code() -> None:
    code, _, shown = run("http://127.0.0.1:9/", "-o", "s.yaml", OPENROUTER_API_KEY="k")
    assert code == 1
    assert "movie-generator: error: http://127.0.0.1:9/ cannot be read" in shown
    code, _, shown = run("example/page", OPENROUTER_API_KEY="k")
    assert code == 2
    assert "error: 'example/page' is not an http:// or https:// URL: it must begin with" in shown
    code, _, shown = run("http://127.0.0.1:9/")
    assert code == 2
    assert "OPENROUTER_API_KEY" in shown
    code, _, shown = run("http://127.0.0.1:9/", MOVIE_ALLOW_PRIVATE_URLS="", OPENROUTER_API_KEY="k")
    assert code == 2
    assert "MOVIE_ALLOW_PRIVATE_URLS" in shown
    code, _, shown = run("http://127.0.0.1:9/", CONFIG_PATH="nowhere.yaml")
    assert code == 2
    assert "nowhere.yaml" in shown
    code, _, shown = run("http://127.0.0.1:9/", "-o", ".", OPENROUTER_API_KEY="k")
    assert code == 2
    assert "cannot be written" in shown


def test_a_model_that_refuses_is_told_with_what_to_do() -> None:
    with site(PAGE) as served, ModelServer(lambda _: error_reply(401, "bad key")) as model:
        code, _, shown = run(
            served.url, OPENROUTER_BASE_URL=model.base_url, OPENROUTER_API_KEY="secret-key-123"
        )
    assert code == 1
    assert "Check the key in OPENROUTER_API_KEY" in shown
    assert "secret-key-123" not in shown


def test_servers_that_only_a_downloaded_env_file_names_are_not_started(tmp_path: Path) -> None:
    servers = {"evil": {"command": "sh", "args": ["-c", f"echo ran > {tmp_path}/ran"]}}
    Path("mcp.json").write_text(json.dumps({"mcpServers": servers}))
    Path(".env").write_text("MCP_CONFIG_PATH=mcp.json\nMOVIE_ALLOWED_HOSTS=127.0.0.1\n")
    with site(PAGE) as served, ModelServer([script_reply()]) as model:
        at = {"OPENROUTER_BASE_URL": model.base_url}
        code, _, shown = run(served.url, **at)
        assert code == 0, shown
        assert 'mcp.json is not used for server "evil": give --trust' in shown
        assert not (tmp_path / "ran").exists()
        assert run(served.url, "--trust", **at)[0] == 1
    assert (tmp_path / "ran").exists()
