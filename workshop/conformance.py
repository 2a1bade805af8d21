"""Runs MCP's official conformance suite against our own session, and against our game server.

    uv run poe conformance                                  # everything; takes minutes
    uv run poe conformance --only auth/ --revision 2026-07-28
    uv run poe conformance --extensions --details
    uv run poe conformance --server                         # the game server, over HTTP

The suite (npm @modelcontextprotocol/conformance) is fetched through npm into the user's cache; it
needs Node 22 or newer, which the task brings along from PyPI. The client that it starts is
tests/support/processes/conformance.py.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import platformdirs
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from mcp_ghost.cli.arguments import Parser  # noqa: E402
from mcp_ghost.cli.program import DONE, FAILED, Errors, program  # noqa: E402
from workshop.node import node_and_npm  # noqa: E402

PACKAGE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
DRIVER = ROOT / "tests" / "support" / "processes" / "conformance.py"
FOR_ANY_SERVER = (
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "tools-call-error",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "caching",
    "http-header-validation",
    "input-required-result-unsupported-methods",
)
"""Scenarios that apply to a server whose only feature is tools; the others ask for prompts,
resources, requests to the client, or tools that only the suite's own example has."""
AT_ONCE = 2
SECONDS = 120
"""For one scenario, on however busy a machine."""
LISTED = re.compile(r"^  - (\S+) \[(.*)\]$", re.MULTILINE)
COUNTS = re.compile(r"^Passed: (\d+)/(\d+), (\d+) failed, (\d+) warnings$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How one scenario went at one revision."""

    passed: bool
    counts: str
    """The checks that passed, of how many."""
    said: str


@dataclass(frozen=True)
class Suite:
    """The conformance suite, installed."""

    node: str
    program: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Its command line."""
        command = [self.node, str(self.program), *arguments]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            timeout=2 * SECONDS,  # the suite ends by itself after SECONDS
        )

    def scenarios(self, *, of_servers: bool) -> dict[str, list[str]]:
        """Each scenario for us, with the revisions that it is for."""
        said = self.run("list").stdout
        servers, _, rest = said.partition("Client scenarios")
        clients, _, _ = rest.partition("Authorization server scenarios")
        listed = LISTED.findall(servers if of_servers else clients)
        mine = [it for it in listed if it[0] in FOR_ANY_SERVER] if of_servers else listed
        return {name: revisions.split(",") for name, revisions in mine}

    def play(self, scenario: str, revision: str) -> Outcome:
        """Let our client through one scenario."""
        driver = shlex.join([sys.executable, str(DRIVER)])
        at = ["--spec-version", revision] if revision != "extension" else []
        timeout = ["--timeout", str(SECONDS * 1000)]
        return self.outcome("client", "--command", driver, "--scenario", scenario, *at, *timeout)

    def ask(self, address: str, scenario: str, revision: str) -> Outcome:
        """Let the server at an address through one scenario."""
        at = ["--url", address, "--scenario", scenario, "--spec-version", revision]
        return self.outcome("server", *at, "--timeout", str(SECONDS * 1000))

    def outcome(self, *arguments: str) -> Outcome:
        """Run one scenario, and say on standard error how it went."""
        try:
            ran = self.run(*arguments)
        except subprocess.TimeoutExpired:
            outcome = Outcome(passed=False, counts="no result", said="The suite did not end.")
        else:
            said = ran.stdout + ran.stderr
            counted = COUNTS.search(said)
            counts = f"{counted[1]}/{counted[2]}" if counted else "no result"
            outcome = Outcome(ran.returncode == 0 and bool(counted), counts, said)
        at = arguments.index("--scenario") + 1
        print(*arguments[at : at + 3 : 2], _cell(outcome), file=sys.stderr, flush=True)
        return outcome


@contextmanager
def serving() -> Iterator[str]:
    """Our game server, in a work folder of its own; its address."""
    command = [sys.executable, "-m", "game_server", "--http", "--story", "bundled"]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [*command, "--workdir", folder], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        with process:
            try:
                line = process.stdout.readline() if process.stdout else ""
                if not line:
                    raise ValueError("The game server did not start.")
                yield line.split()[2]
            finally:
                process.terminate()


def installed() -> Suite:
    """The suite, fetched if it is not there yet."""
    node, npm = node_and_npm()
    home = platformdirs.user_cache_path("zorkgpt") / f"conformance-{VERSION}"
    suite = Suite(node, home / "node_modules" / PACKAGE / "dist" / "index.js")
    if not suite.program.exists():
        home.mkdir(parents=True, exist_ok=True)
        fetch = ["install", "--prefix", str(home), "--no-audit", "--no-fund"]
        subprocess.run([node, npm, *fetch, f"{PACKAGE}@{VERSION}"], check=True)
    return suite


def show(outcomes: dict[tuple[str, str], Outcome], console: Console) -> None:
    """The table, and what it comes to."""
    revisions = sorted({revision for _, revision in outcomes})
    table = Table("scenario", *revisions)
    for scenario in dict.fromkeys(name for name, _ in outcomes):
        row = (outcomes.get((scenario, revision)) for revision in revisions)
        table.add_row(scenario, *(_cell(outcome) for outcome in row))
    console.print(table)
    for revision in revisions:
        mine = [outcome for (_, at), outcome in outcomes.items() if at == revision]
        console.print(f"{revision}: {sum(one.passed for one in mine)} of {len(mine)} pass")
    passed = sum(outcome.passed for outcome in outcomes.values())
    console.print(f"{passed} passed, {len(outcomes) - passed} failed")


def _cell(outcome: Outcome | None) -> str:
    if outcome is None:
        return ""
    return f"{'pass' if outcome.passed else 'FAIL'} {outcome.counts}"


def main() -> int:
    """Play what the flags ask for; 0 if everything passed."""
    parser = Parser(prog="conformance.py", description="Run MCP's conformance suite.")
    parser.add_argument("--only", metavar="TEXT", help="only scenarios with TEXT in the name")
    parser.add_argument(
        "--server", action="store_true", help="test the game server, not the client"
    )
    parser.add_argument("--revision", action="append", help="one of the protocol (default: all)")
    parser.add_argument("--extensions", action="store_true", help="run those of extensions, too")
    parser.add_argument("--details", action="store_true", help="show what failing scenarios said")
    flags = parser.parse_args()
    errors = Errors(wrong_use=(ValueError,))
    return program("conformance.py", lambda: _play_all(flags), lambda: errors)


def _play_all(flags: argparse.Namespace) -> int:
    suite = installed()
    wanted = [
        (scenario, revision)
        for scenario, revisions in suite.scenarios(of_servers=flags.server).items()
        for revision in revisions
        if (flags.only or "") in scenario
        and (flags.extensions or revision != "extension")
        and revision in (flags.revision or [revision])
    ]
    if not wanted:
        raise ValueError("There are no such scenarios.")
    with ThreadPoolExecutor(AT_ONCE) as pool, ExitStack() as stack:
        play = partial(suite.ask, stack.enter_context(serving())) if flags.server else suite.play
        outcomes = dict(zip(wanted, pool.map(lambda it: play(*it), wanted), strict=True))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    for (scenario, revision), outcome in outcomes.items():
        if flags.details and not outcome.passed:
            console.print(f"--- {scenario} {revision}\n{outcome.said}", markup=False)
    show(outcomes, console)
    return DONE if all(outcome.passed for outcome in outcomes.values()) else FAILED


if __name__ == "__main__":
    sys.exit(main())
