"""What an agent's tools returned is all that a script may rest on, whatever the agent says."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, tool_reply
from movie_generator import VideoScript, generate_script_from_url_with_agent
from tests.support.movie import SERVERS, script_reply, site

pytestmark = pytest.mark.mcp
TRUE = "Anna Lind opened the bridge in 1834."
READ = "Anna Lind opened the Harlow Bridge in 1834. It is 412 metres long."
ASIDE = "In 1901, Otto Brandt painted it green."


def narrated(*texts: str) -> str:
    narrations = [{"text": text, "reading": text} for text in texts]
    return script_reply(sections=[{"title": "The opening", "narrations": narrations}])


def made(
    folder: Path, description: str, drafts: list[str]
) -> tuple[VideoScript, ModelServer, list[str]]:
    """The script of a page of which an agent reads two texts and hands one over."""
    pages = folder / "pages"
    pages.mkdir()
    (pages / "bridge").write_text(READ)
    (pages / "aside").write_text(ASIDE)
    replies = iter(drafts)
    told: list[str] = []
    server = {
        "command": sys.executable,
        "args": [str(SERVERS / "pages.py")],
        "env": {"PAGES": str(pages), "SERVER_LOG": str(folder / "calls")},
    }
    with site({}) as served:
        urls = [f"{served.url}/bridge", f"{served.url}/aside"]

        def reply(request: ModelRequest) -> Reply | str:
            if not request.tool_names:
                return next(replies)
            if request.last["role"] == "tool":
                handed = {"title": "Bridges", "description": description, "results": [1]}
                return json.dumps(handed)
            return tool_reply([("fetch", {"url": url}) for url in urls])

        with ModelServer(reply) as model:
            script = asyncio.run(
                generate_script_from_url_with_agent(
                    urls[0],
                    {"mcpServers": {"pages": server}},
                    base_url=model.base_url,
                    allow_private_urls=True,
                    on_progress=lambda _, message: told.append(message),
                )
            )
            assert model.refusals == []
    assert next(replies, None) is None
    calls = [json.loads(line) for line in (folder / "calls").read_text().splitlines()]
    assert Counter(name for name, _ in calls) == {"fetch": 2}
    return script, model, told


def spoken(script: VideoScript) -> list[str]:
    return [it.text for section in script.sections for it in section.narrations]


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("It is 512 metres long.", "number “512 metres”"),  # the tool said otherwise
        ("Then Otto Brandt painted it green.", "name “Otto Brandt”"),  # read, not handed over
        ("Then Rosa Vexler wept.", "name “Rosa Vexler”"),  # only the agent says so
    ],
)
def test_what_no_tool_returned_for_the_script_is_repaired_once_and_then_dropped_and_told(
    tmp_path: Path, wrong: str, reason: str
) -> None:
    draft = narrated(TRUE, wrong)
    script, model, told = made(tmp_path, "Rosa Vexler weeps at a bridge", [draft, draft])
    writing = [request for request in model.requests if not request.tool_names]
    assert len(writing) == 2
    assert f"{reason} of: {wrong}" in writing[1].last["content"]
    assert spoken(script) == [TRUE]
    (dropped,) = script.dropped or []
    assert (dropped.text, dropped.reasons) == (wrong, [reason])
    assert any("is being corrected" in it and reason in it for it in told)
    assert any("Left out" in it and wrong in it for it in told)


def test_a_correction_that_the_tools_bear_out_is_kept(tmp_path: Path) -> None:
    drafts = [narrated(TRUE, "It is 512 metres long."), narrated(TRUE, "It is 412 metres long.")]
    script, _, _ = made(tmp_path, "A bridge", drafts)
    assert spoken(script) == [TRUE, "It is 412 metres long."]
    assert script.dropped is None
    assert script.page
    assert str(script.page.text).endswith(READ)
    assert script.page.title is None  # the agent's title is not the page's
