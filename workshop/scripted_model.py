"""Serve a model that plays a given list of commands, to try the program without a provider.

    uv run python workshop/scripted_model.py commands.txt --port 8123
    uv run python main.py --base-url http://127.0.0.1:8123/v1 --story bundled

It reads the turn from the prompt and answers with that line of the file, so that an episode can
be stopped and resumed against it. After the last line it looks around. Asked to look back at its
turns, it remembers where it won points or found something.
"""

import argparse
import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mcp_ghost.cli.arguments import Parser, port_number, whole_number
from mcp_ghost.cli.program import DONE, program
from mcp_ghost.testing import (
    ModelRequest,
    ModelServer,
    Reply,
    content_reply,
    tool_reply,
)
from mcp_ghost.text import reason

SERVED_AS = "scripted_model.py"
"""The model that its replies name, whatever was asked for: no log can take it for another."""
_LOOKED_BACK_AT = re.compile(r"^Turn (\d+), .*?: > ([^\[\n]+?)( \[[^\n]*)?$", re.MULTILINE)
_TURN = re.compile(r"^Turn (\d+) of at most", re.MULTILINE)


class ScriptedModel:
    """Answers turn N with command N; every ``think_every`` turns it calls a tool first."""

    def __init__(self, commands: Sequence[str], think_every: int = 0) -> None:
        self._commands = commands
        self._think_every = think_every

    def __call__(self, request: ModelRequest) -> Reply:
        """The reply to one request."""
        reply = self._reply(request)
        return (
            replace(reply, body={**reply.body, "model": SERVED_AS})
            if isinstance(reply.body, dict)
            else reply
        )

    def _reply(self, request: ModelRequest) -> Reply:
        if is_reflection(request):
            return content_reply(json.dumps({"memories": _looked_back(request)}))
        if not request.tool_names and not request.chat.get("response_format"):  # the player `chat`
            said = sum(message["role"] == "user" for message in request.messages)
            return content_reply(self._command(said))
        turn = turn_of(request)
        asked = request.last["role"] == "user"
        if self._think_every and turn % self._think_every == 0 and asked and request.tool_names:
            return tool_reply(
                [(request.tool_names[0], thought(f"Line {turn} deserves a thought."))]
            )
        return action_reply(self._command(turn), f"Line {turn} says so.")

    def _command(self, turn: int) -> str:
        return self._commands[turn - 1] if turn <= len(self._commands) else "look"


def action_reply(action: str, thinking: str = "As planned.") -> Reply:
    """A game command in the form that ZorkGPT's agent answers in."""
    answer = {"thinking": thinking, "action": action, "new_objective": None}
    return content_reply(json.dumps(answer))


def walkthrough(
    commands: Iterable[str], calls: Sequence[tuple[str, object]] = ()
) -> Callable[[ModelRequest], Reply]:
    """A model that plays ``commands`` in order; where tools are on offer, ``calls`` come first."""
    remaining = iter(commands)

    def answer(request: ModelRequest) -> Reply:
        if calls and request.tool_names and request.last["role"] != "tool":
            return tool_reply(calls)
        return action_reply(next(remaining, "look"))

    return answer


def read_commands(path: Path) -> list[str]:
    """One command a line; empty lines and comments (#) are left out."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def turn_of(request: ModelRequest) -> int:
    """The turn that ``request`` is about, by its own words."""
    texts = (_text(message["content"]) for message in request.messages if message.get("content"))
    return next((int(found[1]) for text in texts if (found := _TURN.search(text))), 1)


def is_reflection(request: ModelRequest) -> bool:
    """Whether ``request`` asks to look back."""
    asked_for = (request.chat.get("response_format") or {}).get("json_schema") or {}
    return bool(asked_for.get("name") == "ReflectionAnswer")


def thought(text: str) -> dict[str, object]:
    """What the bundled tool is called with."""
    return {"thought": text, "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": False}


def _looked_back(request: ModelRequest) -> list[dict[str, object]]:
    """A memory of each turn that brought points or something to carry."""
    text = "\n".join(_text(message.get("content")) for message in request.messages)
    memories: list[dict[str, object]] = []
    for turn, command, facts in _LOOKED_BACK_AT.findall(text):
        if "[score" in facts or "[gained" in facts:
            scored = "[score" in facts
            memories.append(
                {
                    "turn": int(turn),
                    "category": "success" if scored else "discovery",
                    "title": f"{command} works",
                    "text": f"Here '{command}' brought this about: {facts.strip()}",
                    "persistence": "permanent",
                    "tentative": not scored,
                    "supersedes": [],
                }
            )
    return memories


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commands", type=Path, help="file with one command per line")
    parser.add_argument(
        "--port", type=port_number, default=0, help="loopback port (default: a free one)"
    )
    parser.add_argument(
        "--think-every",
        type=whole_number(),
        default=0,
        metavar="N",
        help="call a tool first in every Nth turn",
    )
    flags = parser.parse_args(arguments)
    return program("scripted_model.py", lambda: _serve(flags, parser))


def _serve(flags: argparse.Namespace, parser: Parser) -> int:
    model = ScriptedModel(read_commands(flags.commands), flags.think_every)
    try:
        served = ModelServer(model, port=flags.port)
    except OSError as error:
        parser.error(f"cannot serve on port {flags.port} ({reason(error)}): choose another --port")
    with served as server:
        print(server.base_url, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
    return DONE


if __name__ == "__main__":
    sys.exit(main())
