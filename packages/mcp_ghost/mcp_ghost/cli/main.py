"""What the command line of mcp_ghost does: flags in, exit code out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_ghost.cli.flags import PROGRAM, Flags, parse_flags
from mcp_ghost.cli.program import DONE, FAILED, WRONG_USE, Errors, complain, program
from mcp_ghost.errors import POSIX_ONLY

if TYPE_CHECKING:
    from mcp_ghost.cli.interruption import Interruption


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; returns the exit code."""
    if sys.platform == "win32":
        complain(PROGRAM, POSIX_ONLY)
        return WRONG_USE
    flags = parse_flags(arguments)
    work = {"run": _run, "inspect": _inspect, "replay": _replay, "chat": _chat, "tools": _tools}
    return program(PROGRAM, lambda it: work[flags.command](flags, it), _errors)


def _errors() -> Errors:
    from mcp_ghost.errors import MCPGhostError

    return Errors(wrong_use=(MCPGhostError, ValueError))


def _run(flags: Flags, interruption: Interruption) -> int:
    import asyncio

    from mcp_ghost.cli.asking import asked_of
    from mcp_ghost.cli.screen import standard_screen
    from mcp_ghost.cli.view import RunView, Typist, watched_by
    from mcp_ghost.text import harmless

    prompt = sys.stdin.read() if flags.prompt == "-" else flags.prompt
    if not prompt.strip():
        raise ValueError("The prompt is empty.")
    screen = standard_screen(interruption.output_closed, sys.stderr)
    view = None if flags.quiet else RunView(screen)
    somebody_is_there = flags.prompt != "-" and sys.stdin is not None and sys.stdin.isatty()
    asked = asked_of(flags, screen, somebody_is_there=somebody_is_there)
    typist = None
    if sys.stdout is not None and sys.stdout.isatty() and not (flags.json or flags.output_schema):
        typist = Typist(sys.stdout, screen)
    arguments = {
        "user_prompt": prompt,
        **watched_by(view, typist),
        **asked,
        "output": _schema(flags.output_schema) if flags.output_schema else None,
        **flags.arguments(),
    }
    with view.shown() if view else nullcontext():
        if flags.record:
            from mcp_ghost.golden import record_golden

            result = asyncio.run(record_golden(flags.record, **arguments))
        else:
            from mcp_ghost.ghost import mcp_ghost

            result = asyncio.run(mcp_ghost(**arguments))
    if view:
        view.summary(result)
    answer = result["final_result"]
    if flags.json:
        _write(json.dumps(result, indent=2))
    elif answer is not None and not (typist and typist.has_shown(answer)):
        is_text = isinstance(answer, str)
        _write(harmless(answer if is_text else json.dumps(answer, indent=2, ensure_ascii=False)))
    if not (flags.json or result["success"]):
        complain(PROGRAM, result["summary"])
    return DONE if result["success"] else FAILED


def _schema(path: str) -> dict[str, Any]:
    """The JSON schema in a file."""
    from mcp_ghost.files import read_regular  # on Windows, after main() has said so

    try:
        schema = json.loads(read_regular(Path(path)))
    except ValueError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(schema, dict):
        raise ValueError(f"{path} is not a JSON schema: it must be an object.")  # noqa: TRY004
    return schema


def _inspect(flags: Flags, _: Interruption) -> int:
    from mcp_ghost.cli.inspect import facts_of, inspect_golden
    from mcp_ghost.golden import load_golden

    if flags.json:
        _write(json.dumps(facts_of(load_golden(flags.file)), indent=2))
    else:
        inspect_golden(flags.file)
    return DONE


def _replay(flags: Flags, _: Interruption) -> int:
    import asyncio

    from mcp_ghost.errors import GoldenExhaustedError
    from mcp_ghost.golden import compare_golden, load_golden, replay_golden

    golden = load_golden(flags.file)
    if (flags.servers == "live") != (flags.config is not None):
        raise ValueError(
            "--servers live starts the servers that --config FILE names, never those of a golden: "
            "give both or neither."
        )
    live: dict[str, Any] = {"server_config": flags.config} if flags.config else {}
    try:
        result = asyncio.run(replay_golden(golden, servers=flags.servers, **live))
    except GoldenExhaustedError as error:
        complain(PROGRAM, str(error))
        return FAILED
    differences = compare_golden(result, golden, max_age_days=None)
    for line in differences:
        _write(line)
    if not differences:
        _write(f"{flags.file}: the same")
    return FAILED if differences else DONE


def _chat(flags: Flags, interruption: Interruption) -> int:
    from mcp_ghost.cli.chat import chat

    return chat(flags, interruption)


def _tools(flags: Flags, interruption: Interruption) -> int:
    from mcp_ghost.cli.tools import tools

    return tools(flags, interruption)


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", errors="replace") + b"\n")
    sys.stdout.flush()
