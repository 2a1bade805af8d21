"""Plays other people's MCP servers, as they are published, through the public ways in.

    uv run poe real-servers                       # everything; takes a quarter of an hour
    uv run poe real-servers --only "time stdio" --details

npm's and PyPI's servers are downloaded into folders of this run, so that each is started with an
empty cache first. Every run is a process of its own, in which a scripted model on this machine
calls one tool of each server; it passes if the model was told what only the server can know, and no
process is left. Exit code 1: something failed, or nothing could be tried.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ghost.cli.arguments import Parser  # noqa: E402
from mcp_ghost.cli.program import DONE, FAILED, Errors, program  # noqa: E402
from workshop.interoperability.cases import (  # noqa: E402
    Case,
    Workshop,
    free_ports,
    installers_folders,
    listening,
    variables_with,
)
from workshop.interoperability.catalogue import Place, over_http  # noqa: E402
from workshop.interoperability.run import Outcome  # noqa: E402
from workshop.node import path_with_node  # noqa: E402

COLUMNS = ("server", "transport", "cache", "through", "tools", "revision", "call", "seconds")


class Pages(SimpleHTTPRequestHandler):
    """Serves a folder without a word."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  inherited name
        """Nobody wants to know."""


@contextmanager
def pages(folder: Path) -> Iterator[str]:
    """The address of a page, which is served while the context lasts."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()


def table(outcomes: dict[Case, Outcome]) -> Table:
    """One row for each case."""
    shown = Table(*COLUMNS, box=SIMPLE_HEAD, pad_edge=False)
    for case, outcome in outcomes.items():
        tools = [server.call.tool for server in case.servers.values()]
        verdict = "pass" if outcome.passed else "not here" if outcome.missing else "FAIL"
        revisions = ", ".join(sorted(set(outcome.revisions.values())))
        counted = str(outcome.tools or "")
        called = f"{verdict}: {tools[0] if len(tools) == 1 else f'{len(tools)} tools'}"
        row = (
            case.name,
            case.transport,
            outcome.cache,
            case.front.name,
            counted,
            revisions,
            called,
        )
        shown.add_row(*row, f"{outcome.seconds:.1f}")
    return shown


def main() -> int:
    """Play what the flags ask for; 0 if everything that could be tried passed."""
    parser = Parser(prog="real_servers.py", description="Play with other people's MCP servers.")
    parser.add_argument("--only", metavar="TEXT", help="only rows that begin with TEXT")
    parser.add_argument(
        "--details", action="store_true", help="show what was wrong with failing rows"
    )
    flags = parser.parse_args()
    errors = Errors(wrong_use=(ValueError,))
    return program("real_servers.py", lambda: _play_all(flags), lambda: errors)


def _play_all(flags: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="real-servers-") as name, ExitStack() as stack:
        folder = Path(name)
        place = Place(folder, stack.enter_context(pages(folder / "files")))
        place.furnish()
        workshop = Workshop(place, free_ports())
        wanted = [case for case in workshop.cases() if case.label.startswith(flags.only or "")]
        if not wanted:
            raise ValueError(f"No row begins with '{flags.only}'.")
        variables = variables_with(path_with_node(folder / "node"))
        if any(case.transport != "stdio" for case in wanted):
            _serve(workshop, variables, stack)
        return _report(_played(wanted, variables), details=flags.details)


def _serve(workshop: Workshop, variables: dict[str, str], stack: ExitStack) -> None:
    folder = workshop.place.folder
    own = {**variables, **installers_folders(folder / "listening")}
    for port, server in zip(workshop.ports, over_http(workshop.ports).values(), strict=True):
        stack.enter_context(listening(server, port, own, folder / f"{server.name}.log"))


def _played(cases: list[Case], variables: dict[str, str]) -> dict[Case, Outcome]:
    outcomes = {}
    for number, case in enumerate(cases, start=1):
        print(f"[{number}/{len(cases)}] {case.label}", file=sys.stderr, flush=True)
        outcomes[case] = case.outcome(variables)
    return outcomes


def _report(outcomes: dict[Case, Outcome], *, details: bool) -> int:
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 125)
    for case, outcome in outcomes.items():
        if outcome.missing:
            console.print(f"--- {case.label}\n{outcome.missing}", markup=False)
        elif outcome.faults and details:
            console.print("\n".join([f"--- {case.label}", *outcome.faults]), markup=False)
    console.print(table(outcomes))
    passed = sum(outcome.passed for outcome in outcomes.values())
    missing = sum(bool(outcome.missing) for outcome in outcomes.values())
    failed = len(outcomes) - passed - missing
    console.print(f"{passed} passed, {failed} failed, {missing} not available on this machine")
    return DONE if passed and not failed else FAILED


if __name__ == "__main__":
    sys.exit(main())
