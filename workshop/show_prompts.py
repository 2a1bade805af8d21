"""Show what the player is told in turn 50, part by part with its cost, for docs/player.md.

    uv run python workshop/show_prompts.py --write

It plays the bundled story: an episode for the ledger, then one with each profile.
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE, program
from mcp_ghost.files import write_whole
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from workshop.benchmarks.prompt_cost import CHARACTERS_PER_TOKEN
from workshop.scripted_model import ScriptedModel, is_reflection, read_commands

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "player.md"
MARK = "<!-- From here on written by workshop/show_prompts.py -->"
TURN = 50
_FIRST_EPISODE = 30
_WALKTHROUGH = ROOT / "tests" / "data" / "weatherworks_walkthrough.txt"
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_PLAN = "1. Bring what I carry to the kettle. 2. Look for the other weathers on the way back."
_NONE = '{"turn": 0}'
_REFUSED = "The game was not given"
_OBJECTIVE = "Find out what the kettle in the workshop is for"


@dataclass(frozen=True)
class _Part:
    """A part of a prompt."""

    name: str
    text: str


class _Planner:
    """Plays the solution; it sets a goal and keeps a plan. A prompt need not tell the turn."""

    def __init__(self) -> None:
        self._commands = read_commands(_WALKTHROUGH)
        self._turn = 0
        self.asked: list[ModelRequest] = []
        """For commands, in order."""

    def __call__(self, request: ModelRequest) -> Reply:
        form = (request.chat.get("response_format") or {}).get("json_schema", {}).get("name")
        if form != "AgentResponse":
            return ScriptedModel([])(request) if is_reflection(request) else content_reply(_NONE)
        if not _text(request.messages[-1]["content"]).startswith(_REFUSED):
            self._turn += 1
            self.asked.append(request)
        said = {"thinking": f"Line {self._turn} says so.", "action": self._commands[self._turn - 1]}
        if self._turn == TURN - 20:
            said["new_objective"] = _OBJECTIVE
        if self._turn == TURN - 5:
            said["plan"] = _PLAN
        return content_reply(json.dumps(said))


def page() -> str:
    """The generated part of the page."""
    with tempfile.TemporaryDirectory() as folder:
        uid, _ = _played(folder, "first", _FIRST_EPISODE, "full")
        requests = {profile: _played(folder, profile, TURN, profile)[1] for profile in _ABOUT}
    lines = [MARK]
    for profile, request in requests.items():
        parts = [_Part(it.name, it.text.replace(uid, "k7f3qa")) for it in _parts(request)]
        lines += ["", f"## Turn {TURN}, profile `{profile}`", "", _ABOUT[profile], ""]
        lines += _table(parts)
        for message in request.messages:
            text = _text(message["content"]).replace(uid, "k7f3qa")
            lines += ["", f"**{message['role']}**", "", "````text", text, "````"]
    return "\n".join([*lines, ""])


_ABOUT = {
    "full": "For large models. The first messages are the same in every turn, or only grow.",
    "compact": "For the embedded model, whose commands are chosen from a menu.",
}


def _played(folder: str, episode: str, turns: int, profile: str) -> tuple[str, ModelRequest]:
    """The uid of an episode and the last request for a command."""
    model = _Planner()
    with ModelServer(model) as server:
        config = GameConfiguration.model_validate(
            {
                "client_base_url": server.base_url,
                "agent_model": "scripted",
                "story": "bundled",
                "seed": 7,
                "workdir": folder,
                "context_profile": profile,
                "reflection_enabled": True,
                "max_turns_per_episode": turns,
            }
        )
        with ZorkOrchestratorV2(episode, config) as orchestrator:
            orchestrator.play_episode()
            return orchestrator.uid, model.asked[-1]


def _parts(request: ModelRequest) -> Iterator[_Part]:
    """Rules, what earlier episodes taught, the turns so far, and each section of what is new."""
    head, *story, now = [_text(message["content"]) for message in request.messages]
    yield from _sections(head, "The rules")
    if story:
        yield _Part("The story: the turns so far", "\n\n".join(story))
    first = "The answer to the latest command" if story else "What is told in this turn"
    yield from _sections(now, first)


def _sections(text: str, first: str) -> Iterator[_Part]:
    beginning, *others = _HEADING.split(text)
    yield _Part(first, beginning)
    for name, body in zip(others[::2], others[1::2], strict=True):
        yield _Part(name, f"## {name}\n{body}")


def _table(parts: Sequence[_Part]) -> list[str]:
    total = sum(len(part.text) for part in parts)
    rows = [f"| {it.name} | {len(it.text) // CHARACTERS_PER_TOKEN:,} |" for it in parts]
    head = ["| part | tokens, at four characters each |", "|---|--:|"]
    return [*head, *rows, f"| **all** | **{total // CHARACTERS_PER_TOKEN:,}** |"]


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"write it into docs/{PAGE.name}")
    flags = parser.parse_args(arguments)
    return program("show_prompts.py", lambda: _show(flags))


def _show(flags: argparse.Namespace) -> int:
    made = page()
    if flags.write:
        write_whole(PAGE, PAGE.read_text(encoding="utf-8").partition(MARK)[0] + made)
    else:
        print(made)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
