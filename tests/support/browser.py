"""A headless browser for tests of the viewer's page, and episodes to look at."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from playwright.sync_api import expect, sync_playwright

from mcp_ghost.testing import ModelServer
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from tests.support import ROOT
from tests.support.games import BUNDLED_COMMANDS
from workshop.scripted_model import ScriptedModel

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The headless shell does the same with four fifths of the CPU time."""
PATIENCE = 30_000
"""Milliseconds that anything on the page may take."""
expect.set_options(timeout=PATIENCE)
TURNS_WITH_TOOLS = 18
WITHOUT = (
    "PaintHolding",
    "SpareRendererForSitePerProcess",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)
"""Features that are switched off: the address bar of each window, which nobody sees, would have two
pages of its own that cost more than ours. Playwright's own list, of which the first of these is
one, gives way to this one."""
Result = TypeVar("Result")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """Debian's Chromium, headless.

    Meanwhile this thread has a running event loop: whatever uses asyncio.run() needs another.
    """
    flags = [f"--disable-features={','.join(WITHOUT)}"]
    flags += ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:  # noqa: ANN401  of any context
    """The page at ``address``; whatever the browser complained of fails the test.

    Args:
        browser: Where to open it.
        address: With its hash.
        options: Of the context, besides ``forgiven``: what the console may say.
    """
    forgiven: str = options.pop("forgiven", "")
    # A light that breathes while a game is live would be drawn sixty times a second, without a GPU.
    still = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"}
    context = browser.new_context(**{**still, **options})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    problems: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not (forgiven and forgiven in message.text):
            problems.append(message.text)

    def refuse(dialog: Dialog) -> None:
        problems.append(dialog.message)
        dialog.dismiss()

    page.on("console", hear)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", refuse)
    try:
        page.goto(address)
        yield page
        assert problems == [], problems
    finally:
        context.close()


def current(page: Page) -> Locator:
    """The turn that is shown."""
    return page.locator(".turn[aria-current]")


def beside(work: Callable[[], Result]) -> Result:
    """What ``work`` gives, done in a thread of its own: it may use asyncio.run()."""
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join(60)
    return results[0]


def shows(page: Page, turn: int) -> None:
    """The transcript is at ``turn``."""
    expect(current(page)).to_have_attribute("data-turn", str(turn))


@contextmanager
def served_files(folder: Path) -> Iterator[str]:
    """The address at which the standard library's file server has a folder."""
    handler = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


def play_with_tools(workdir: Path) -> Path:
    """The folder of an episode in which a real tool was called every four turns."""
    server = {
        "command": sys.executable,
        "args": ["-m", "thoughtbox"],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    workdir.mkdir(parents=True, exist_ok=True)
    servers = workdir / "mcp.json"
    servers.write_text(json.dumps({"mcpServers": {"thoughtbox": server}}))
    with ModelServer(ScriptedModel(BUNDLED_COMMANDS, 4)) as model:
        config = GameConfiguration(
            client_base_url=model.base_url,
            story="bundled",
            seed=7,
            workdir=str(workdir),
            max_turns_per_episode=TURNS_WITH_TOOLS,
            mcp_enabled=True,
            mcp_config_file=str(servers),
            reflection_enabled=True,
        )
        with ZorkOrchestratorV2("played", config) as orchestrator:
            orchestrator.play_episode()
            return orchestrator.folder
