"""The commands of the command line: each takes the flags, and returns the exit code."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from mcp_ghost.cli.asking import Person, line_after
from mcp_ghost.cli.flags import PROGRAM, Flags
from mcp_ghost.cli.inspect import facts_of, show_facts
from mcp_ghost.cli.program import DONE, FAILED, complain
from mcp_ghost.cli.screen import standard_screen
from mcp_ghost.cli.view import RunView, Warnings
from mcp_ghost.config import load_servers
from mcp_ghost.errors import GoldenExhaustedError
from mcp_ghost.files import read_regular
from mcp_ghost.ghost import Ghost, mcp_ghost
from mcp_ghost.golden import compare_golden, load_golden, record_golden, replay_golden
from mcp_ghost.text import harmless, one_line
from mcp_ghost.toolsets.union import Toolbox

_STARTUP_SECONDS = 30.0
_logger = logging.getLogger(__name__)


def _view_of(flags: Flags, *, is_there: bool, types: bool = True) -> tuple[RunView, dict[str, Any]]:
    """What shows runs, and their options, with which whoever sits at the terminal is asked.

    ``is_there``: somebody to ask; ``types``: answers are written as they come.
    """
    screen = standard_screen(sys.stderr)
    types = types and sys.stdout is not None and sys.stdout.isatty()
    view = RunView(screen, sys.stdout if types else None, quiet=flags.quiet)
    options = {"stream": types, "on_event": view.show, **flags.arguments()}
    person = Person(screen)
    if is_there:
        options["elicit"] = person.fill_in
    if when := flags.approve_when(somebody_is_there=is_there):
        options |= {"approve": person.approve, "approve_when": when}
    return view, options


def run(flags: Flags) -> int:
    """Do one operation, and print its result."""
    prompt = "".join(sys.stdin or ()) if flags.prompt == "-" else flags.prompt
    if not prompt.strip():
        raise ValueError("The prompt is empty.")
    is_there = flags.prompt != "-" and _is_terminal()
    types = not (flags.json or flags.output_schema)
    view, options = _view_of(flags, is_there=is_there, types=types)
    output = None
    if path := flags.output_schema:
        try:
            output = json.loads(read_regular(Path(path)))
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from error
        if not isinstance(output, dict):
            raise ValueError(f"{path} is not a JSON schema: it must be an object.")
    arguments = {"user_prompt": prompt, "output": output, **options}
    fault = None
    with view.shown():
        if flags.record:
            recorded = asyncio.run(record_golden(flags.record, **arguments))
            result, fault = dict(recorded), recorded.fault
        else:
            result = asyncio.run(mcp_ghost(**arguments))
    if not flags.quiet:
        view.summary(result)
    answer = result["final_result"]
    if flags.json:
        _write(json.dumps(result, indent=2))
    elif answer is not None and not view.has_shown(answer):
        is_text = isinstance(answer, str)
        _write(answer if is_text else json.dumps(answer, indent=2, ensure_ascii=False))
    if not (flags.json or result["success"]):
        complain(PROGRAM, result["summary"])
    if fault and flags.quiet:  # else the view has shown the same line of the log
        complain(PROGRAM, f"{fault}. Nothing is recorded, but the run is done.")
    return DONE if result["success"] and not fault else FAILED


def chat(flags: Flags) -> int:
    """Do request after request until the input ends; return the last one's exit code."""
    is_there = _is_terminal()
    view, options = _view_of(flags, is_there=is_there)
    if is_there and not flags.quiet:
        servers = ", ".join(load_servers(flags.config)) or "no server"
        offer = f"The model may call the tools of {servers}, started with your first request."
        view.screen.text(offer)
        view.screen.text("Enter sends a request; Ctrl-D or /exit ends the chat.", "dim")

    async def converse() -> int:
        code = DONE
        async with Ghost(**options) as ghost:
            async for request in _requests(is_there=is_there):
                result = await ghost.run(request)
                answer = result["final_result"]
                if answer is not None and not view.has_shown(answer):
                    said = result["conversation_history"][-1]["content"]  # as it is, without keys
                    _write(said)
                code = DONE if result["success"] else FAILED
                if code == FAILED:
                    complain(PROGRAM, result["summary"])
        return code

    with view.shown():
        return asyncio.run(converse())


async def _requests(*, is_there: bool) -> AsyncIterator[str]:
    """The lines of standard input that say something."""
    piped = iter(sys.stdin or ())
    while True:
        try:
            line = (await line_after("> ") if is_there else next(piped)).strip()
        except (EOFError, StopIteration):
            return
        if is_there and line in ("/exit", "/quit"):
            return
        if line:
            yield line


def tools(flags: Flags) -> int:
    """Print every tool that a run would offer."""
    warn = Warnings(lambda text: complain(PROGRAM, text, "warning"))
    logging.getLogger("mcp_ghost").addHandler(warn)
    return asyncio.run(_tools(flags))


async def _tools(flags: Flags) -> int:
    async with Toolbox(
        load_servers(flags.config),
        allow=flags.allow,
        deny=flags.deny,
        startup_timeout=flags.startup_timeout or _STARTUP_SECONDS,
    ) as toolbox:
        if toolbox.unmatched:
            patterns = ", ".join(toolbox.unmatched)
            _logger.warning("these patterns of --allow or --deny match no tool: %s", patterns)
        listed, failures = [*toolbox.tools.values()], dict(toolbox.failures)
    for server, error in failures.items():
        complain(PROGRAM, f"{server}: {error}")
    if flags.json:
        shown = [{**tool.schema["function"], "annotations": tool.hints} for tool in listed]
        _write(json.dumps(shown, indent=2))
        return FAILED if failures else DONE
    for tool in listed:
        hints = ", ".join(name for name, holds in tool.hints.items() if holds)
        described = one_line(tool.schema["function"]["description"], 200)
        _write(f"{tool.name}{f' [{hints}]' if hints else ''}: {described}")
    return FAILED if failures else DONE


def inspect(flags: Flags) -> int:
    """Show what was recorded."""
    facts = facts_of(load_golden(flags.file))
    if flags.json:
        _write(json.dumps(facts, indent=2))
    else:
        show_facts(facts)
    return DONE


def replay(flags: Flags) -> int:
    """Run a golden again, and print how the two runs differ."""
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
    for line in differences or [f"{flags.file}: the same"]:
        _write(line)
    return FAILED if differences else DONE


def _is_terminal() -> bool:
    """Whether somebody may sit at standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


def _write(text: str) -> None:
    if (output := sys.stdout) is not None:  # closed by whoever started us
        output.buffer.write(f"{harmless(text)}\n".encode(output.encoding or "utf-8", "replace"))
        output.flush()
