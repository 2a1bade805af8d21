"""Makes the pictures in docs/screenshots: plays a showcase and looks at it with Debian's Chromium.

    uv run --group check python workshop/screenshots.py

A scripted model plays, with the real game, the real tool server and the real page: what is seen
is how the page looks, not how well a model plays.
"""

from __future__ import annotations

import io
import json
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ghost.cli.arguments import Parser  # noqa: E402
from mcp_ghost.cli.program import DONE, program  # noqa: E402
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply  # noqa: E402
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2  # noqa: E402
from session.game_configuration import GameConfiguration  # noqa: E402
from viewer.web.watch import watching  # noqa: E402
from workshop.benchmarks.viewer import chromium  # noqa: E402
from workshop.scripted_model import is_reflection, thought, turn_of  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


PICTURES = ROOT / "docs" / "screenshots"
SHOWCASE = yaml.safe_load((ROOT / "workshop" / "showcase.yaml").read_text(encoding="utf-8"))
EPISODE = "the-regatta"
LIVE_TURN, REPLAY_TURN = 33, 41
TRIALS = {"whole": (1, 2), "without-memories": (3, 4)}
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


class Showcase:
    """A model that thinks, calls tools and looks back as the showcase says, when it is let."""

    def __init__(self) -> None:
        self._tickets = threading.Semaphore(0)
        self._reflections = iter(SHOWCASE["reflections"])
        self._refused: set[int] = set()

    def let_play(self, turns: int) -> None:
        """Answer for so many turns more."""
        self._tickets.release(turns)

    def __call__(self, request: ModelRequest) -> Reply:
        """The reply to one request."""
        if is_reflection(request):
            return _answer({"memories": [], **next(self._reflections, {})})
        number = turn_of(request)
        turn = SHOWCASE["turns"][number - 1]
        if "tool" in turn and request.last["role"] == "user" and request.tool_names:
            return tool_reply([(request.tool_names[0], thought(turn["tool"]))], usage=_usage(900))
        if "first" in turn and number not in self._refused:
            self._refused.add(number)
            return _answer(_action(turn["first"][0]))
        self._tickets.acquire(timeout=60)
        return _answer(_action(turn))


class Forgetful:
    """A model that plays the commands it has, and learns nothing."""

    def __init__(self, commands: Iterator[str]) -> None:
        self._commands = commands

    def __call__(self, request: ModelRequest) -> Reply:
        """The reply to one request."""
        if is_reflection(request):
            return _answer({"memories": []})
        return _answer(_action({"do": next(self._commands, "wait"), "think": "As planned."}))


def _action(turn: dict[str, str]) -> dict[str, object]:
    return {"thinking": turn["think"], "action": turn["do"], "new_objective": turn.get("objective")}


def _answer(value: dict[str, object]) -> Reply:
    text = json.dumps(value)
    return content_reply(text, usage=_usage(len(text) // 4))


def _usage(completion: int) -> dict[str, object]:
    tokens = {"prompt_tokens": 2400, "completion_tokens": completion}
    return {**tokens, "prompt_tokens_details": {"cached_tokens": 1580}, "cost": 0.00042}


def _play(workdir: Path, model: ModelServer, episode: str, **settings: Any) -> None:  # noqa: ANN401  of any field
    config = GameConfiguration(
        client_base_url=model.base_url,
        client_api_key="none",
        agent_model="scripted",
        story="bundled",
        workdir=str(workdir),
        **settings,
    )
    with ZorkOrchestratorV2(episode, config) as orchestrator:
        orchestrator.play_episode()


def _play_showcase(workdir: Path, showcase: Showcase) -> None:
    command = {"command": sys.executable, "args": ["-m", "thoughtbox"]}
    servers = {"mcpServers": {"thoughtbox": {**command, "env": {"PYTHONPATH": str(ROOT)}}}}
    file = workdir / "mcp.json"
    file.write_text(json.dumps(servers), encoding="utf-8")
    with ModelServer(showcase) as model:
        turns = {"max_turns_per_episode": len(SHOWCASE["turns"]), "seed": 12}
        _play(workdir, model, EPISODE, mcp_enabled=True, mcp_config_file=str(file), **turns)


def _play_trials(workdir: Path) -> None:
    """An evaluation: players that forget a command now and then."""
    walkthrough = ROOT / "tests" / "data" / "weatherworks_walkthrough.txt"
    commands = walkthrough.read_text(encoding="utf-8").splitlines()
    for name, seeds in TRIALS.items():
        for seed in seeds:
            dice = random.Random(seed)  # noqa: S311  needs no cryptography
            kept = iter([it for it in commands if dice.random() < 0.97 - seed / 60])
            with ModelServer(Forgetful(kept)) as model:
                folder = workdir / name / f"seed-{seed}"
                settings = {"seed": seed, "max_turns_per_episode": 60, "storage_enabled": False}
                _play(folder, model, "trial", memories_enabled=name == "whole", **settings)


@contextmanager
def _opened(browser: Browser, address: str, scheme: str, **options: Any) -> Iterator[Page]:  # noqa: ANN401  of any context
    context = browser.new_context(**{"viewport": DESK, "color_scheme": scheme, **options})
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.goto(address)
    try:
        yield page
    finally:
        context.close()


def _shoot(page: Page, name: str) -> None:
    """Write the picture as small as it goes without losing a colour."""
    from PIL import Image

    page.mouse.move(0, 0)
    page.evaluate("document.fonts.ready")
    file = PICTURES / f"{name}.png"
    with Image.open(io.BytesIO(page.screenshot(animations="disabled"))) as picture:
        picture.convert("RGB").save(file, optimize=True)
    print(f"{file.relative_to(ROOT)} {file.stat().st_size // 1000} kB")


def _show(page: Page, turn: int) -> None:
    page.locator(f'.turn[aria-current][data-turn="{turn}"]').wait_for()


def _shoot_live(browser: Browser, address: str, showcase: Showcase) -> None:
    with _opened(browser, address, "light") as page:
        page.get_by_role("link", name=EPISODE).click()
        page.locator("#state", has_text="Live").wait_for()
        showcase.let_play(LIVE_TURN)
        _show(page, LIVE_TURN)
        page.get_by_role("button", name="Show the whole map").click()
        _shoot(page, "live-light")


def _shoot_replay(browser: Browser, address: str) -> None:
    with _opened(browser, f"{address}#/{EPISODE}/turn/{REPLAY_TURN}", "dark") as page:
        _show(page, REPLAY_TURN)
        page.locator(f'.turn[data-turn="{REPLAY_TURN}"] details.tool summary').click()
        page.get_by_role("button", name="Show the whole map").click()
        _shoot(page, "replay-dark")
        page.emulate_media(color_scheme="light")
        page.get_by_role("tab", name="Prompt").click()
        page.get_by_text("Only new lines").wait_for()
        _shoot(page, "prompt-light")
    with _opened(browser, f"{address}#/{EPISODE}/turn/34", "light", viewport=PHONE) as page:
        _show(page, 34)
        _shoot(page, "phone")


def _shoot_index(browser: Browser, address: str) -> None:
    with _opened(browser, address, "light") as page:
        page.get_by_role("link", name=EPISODE).wait_for()
        _shoot(page, "index-light")


def main() -> int:
    """Do what the command line says; returns the exit code."""
    Parser(description=(__doc__ or "").splitlines()[0]).parse_args()
    return program("screenshots.py", _take)


def _take() -> int:
    """Play, look, write."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        workdir, showcase = Path(folder) / "game_files", Showcase()
        workdir.mkdir()
        _play_trials(workdir)
        player = threading.Thread(target=_play_showcase, args=(workdir, showcase), daemon=True)
        player.start()
        with watching(workdir, open_browser=False) as address, chromium() as browser:
            if browser is None:
                sys.exit("This needs Chromium, and Playwright from the group 'check'.")
            _shoot_live(browser, address, showcase)
            showcase.let_play(len(SHOWCASE["turns"]))
            player.join()
            _shoot_replay(browser, address)
            _shoot_index(browser, address)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
