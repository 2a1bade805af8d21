"""The command line: flags in, exit code out."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mcp_ghost.flags import Flags, parse_flags
from mcp_ghost.interruption import Interruption

if TYPE_CHECKING:
    from mcp_ghost.view import RunView

SUCCESS, NO_SUCCESS, WRONG_USE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    flags = parse_flags(arguments)
    # Imported only now: --help and wrong flags are not to wait for it.
    from mcp_ghost.errors import MCPGhostError

    # What libraries log is not to come between the lines shown.
    logging.getLogger().addHandler(logging.NullHandler())
    interruption = Interruption()
    interruption.install()
    try:
        return _inspect(flags) if flags.command == "inspect" else _run(flags, interruption)
    except KeyboardInterrupt:
        return interruption.exit_code
    except BrokenPipeError:
        # What Python still flushes on its way out must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (MCPGhostError, ValueError) as error:
        _complain(str(error))
        return WRONG_USE


def _run(flags: Flags, interruption: Interruption) -> int:
    import asyncio

    from mcp_ghost.screen import standard_screen
    from mcp_ghost.view import RunView

    prompt = sys.stdin.read() if flags.prompt == "-" else flags.prompt
    if not prompt.strip():
        raise ValueError("The prompt is empty.")
    view = None
    if not flags.quiet:
        view = RunView(standard_screen(interruption.output_closed, sys.stderr))
    with view.shown() if view else nullcontext():
        result = asyncio.run(_operation(flags, prompt, view))
    if view:
        view.summary(result)
    _print_result(result, as_json=flags.json)
    return SUCCESS if result["success"] else NO_SUCCESS


async def _operation(flags: Flags, prompt: str, view: RunView | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "server_config": flags.config,
        "system_prompt": flags.system,
        "provider": flags.provider,
        "user_prompt": prompt,
        "on_event": view.show if view else None,
        **flags.options(),
    }
    if flags.record:
        from mcp_ghost.golden import record_golden

        return await record_golden(flags.record, **arguments)
    from mcp_ghost.ghost import mcp_ghost

    return await mcp_ghost(**arguments)


def _inspect(flags: Flags) -> int:
    from mcp_ghost.inspection import facts_of, inspect_golden, read_recording

    if flags.json:
        _write(json.dumps(facts_of(read_recording(flags.file)), indent=2))
    else:
        inspect_golden(flags.file)
    return SUCCESS


def _print_result(result: dict[str, Any], *, as_json: bool) -> None:
    from mcp_ghost.text import harmless

    if as_json:
        _write(json.dumps(result, indent=2))
        return
    answer = result["final_result"]
    if answer is not None:
        text = (
            answer if isinstance(answer, str) else json.dumps(answer, indent=2, ensure_ascii=False)
        )
        _write(harmless(text))
    if not result["success"]:
        _complain(result["summary"])


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", errors="replace") + b"\n")
    sys.stdout.flush()


def _complain(message: str) -> None:
    from mcp_ghost.text import plain

    print(plain(f"mcp_ghost: {message}"), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
