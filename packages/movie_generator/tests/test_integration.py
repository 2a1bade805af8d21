"""Scripts through servers as users have them: mcp-server-fetch, and Firecrawl on loopback."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from movie_generator import VideoScript, generate_script_from_url_with_agent
from movie_generator.settings import AppConfig
from tests.support.movie import Site, script_reply, site, written_from

FETCH = "mcp-server-fetch==2026.10.24"
FIRECRAWL = "firecrawl-mcp@3.26.0"
PATIENT = AppConfig.model_validate({"limits": {"page_timeout": 60, "startup_timeout": 90}})
PARAGRAPHS = "".join(
    f"<p>Paragraph {number} tells how bridge number {number} was built, and by whom.</p>\n"
    for number in range(150)
)
HTML = f"""<!doctype html><html><head><title>Bridges and rivers</title>
<meta name="description" content="How they meet"></head><body><main><article>
<h1>Bridges of the world</h1>{PARAGRAPHS}
<p><img src="/arch.png" alt="An arch"> The last word.</p></article></main></body></html>"""


def install(command: list[str], folder: Path, **variables: str) -> None:
    """Run a package manager, or skip the test where it is missing or cannot reach its registry."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    try:
        subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, **variables},
            check=True,
            capture_output=True,
            text=True,
            timeout=200,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} did not finish within 200 s")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"{' '.join(command)} failed: {error.stderr.strip()[-200:]}")


def generated(
    url: str, servers: dict[str, Any], call: tuple[str, dict[str, Any]]
) -> tuple[VideoScript, ModelServer, list[str]]:
    """A script whose agent makes ``call``, the model's requests, and what was told meanwhile."""
    told: list[str] = []

    def script(request: ModelRequest) -> Reply | str:
        if not request.tool_names:
            return script_reply()
        if request.last["role"] == "tool":
            return json.dumps({"title": "Bridges", "description": "On bridges", "results": [1]})
        return tool_reply([call])

    with ModelServer(script) as model:
        result = asyncio.run(
            generate_script_from_url_with_agent(
                url,
                {"mcpServers": servers},
                base_url=model.base_url,
                config=PATIENT,
                allow_private_urls=True,
                on_progress=lambda _, message: told.append(message),
            )
        )
        assert model.refusals == []
    return result, model, told


@pytest.mark.network
@pytest.mark.timeout(400)
def test_a_long_page_is_read_through_mcp_server_fetch_as_a_whole(tmp_path: Path) -> None:
    folders = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    install(["uv", "tool", "install", "--no-config", FETCH], tmp_path, **folders)
    program = tmp_path / "bin" / "mcp-server-fetch"
    # With Node on its PATH it would install more at its first call.
    env = {"PATH": str(program.parent), "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    server = {"command": str(program), "args": ["--allow-private-ips"], "env": env}
    with site({"/bridges": ("text/html; charset=utf-8", HTML.encode())}) as served:
        url = f"{served.url}/bridges"
        result, model, _ = generated(url, {"fetch": server}, ("fetch", {"url": url}))
    assert result.sections[0].narrations[0].text == "Rivers part us."
    given = written_from(model.requests[-1])
    for number in range(150):
        assert f"Paragraph {number} tells how bridge number {number} was built" in given
    assert "The last word." in given
    assert "truncated" not in given
    assert "title: Bridges and rivers\ndescription: How they meet\n" in given
    assert f"{served.url}/arch.png An arch" in given
    assert served.asked.count("/bridges") == 1  # all of its source at once


@pytest.mark.network
@pytest.mark.timeout(400)
def test_the_firecrawl_scenario_runs_against_an_api_on_loopback(tmp_path: Path) -> None:  # A14 A25
    (tmp_path / "package.json").write_text("{}")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent"]
    install([*command, FIRECRAWL], tmp_path)
    program = tmp_path / "node_modules" / ".bin" / "firecrawl-mcp"
    scraped = {
        "success": True,
        "data": {
            "markdown": "# A blog\n\nIts words.\n\n![An arch](https://example.com/arch.png)",
            "metadata": {"title": "The blog", "description": "What it is about"},
        },
    }
    answer = ("application/json", json.dumps(scraped).encode())
    with site({"/v2/scrape": answer}) as api:
        result, model, _ = generated(
            "https://example.com/blog",
            {"firecrawl": firecrawl(program, api)},
            ("firecrawl_scrape", {"url": "https://example.com/blog", "formats": ["markdown"]}),
        )
    assert isinstance(result, VideoScript)
    assert "firecrawl_scrape" in model.requests[0].tool_names
    assert api.bodies[0]["url"] == "https://example.com/blog"
    given = written_from(model.requests[-1])
    assert "title: The blog\ndescription: What it is about\n" in given
    assert "https://example.com/arch.png An arch" in given
    assert "# A blog\n\nIts words." in given


def firecrawl(program: Path, api: Site) -> dict[str, Any]:
    return {
        "command": str(program),
        "env": {
            "FIRECRAWL_API_URL": api.url,
            "FIRECRAWL_API_KEY": "fc-none",
            "no_proxy": "127.0.0.1",
            "NO_PROXY": "127.0.0.1",
        },
    }
