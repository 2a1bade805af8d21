"""Measure what a turn, and a run of mcp_ghost(), cost on top of model, game and tools.

    uv run python workshop/benchmark.py [--only game|mind|library|viewer] [--turns 40] [--long 1000]

Quote ratios, not milliseconds.

The model is a scripted one in its own process; the tool server is the bundled one.
"""

import argparse
import logging
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from rich.console import Console
from rich.table import Table

from llm_client import LLMClient
from managers.mcp_manager import MCPManager
from mcp_ghost.cli.arguments import Parser, seed_number, whole_number
from mcp_ghost.cli.program import DONE, program
from mcp_ghost.toolset import Call, Outcome
from session.game_configuration import GameConfiguration
from workshop.benchmarks.game import game
from workshop.benchmarks.library import library
from workshop.benchmarks.mind import mind
from workshop.benchmarks.model import BenchModel, served
from workshop.benchmarks.viewer import viewer
from workshop.scripted_model import read_commands
from zork_agent import ZorkAgent

ROOT = Path(__file__).parent.parent
BUNDLED_WALKTHROUGH = ROOT / "tests" / "data" / "weatherworks_walkthrough.txt"
WANDER = ("look", "examine me", "inventory", "wait", "north", "south", "east", "west")
"""What the long episode continues with after the walkthrough."""
PARTS = ("game", "mind", "library", "viewer")


class TimedManager(MCPManager):
    """Notes how long each part of a session takes."""

    parts: ClassVar[dict[str, list[float]]] = defaultdict(list)

    async def connect_session(self) -> None:
        """Timed."""
        started = time.perf_counter()
        await super().connect_session()
        self.parts["connect"].append(time.perf_counter() - started)

    async def disconnect_session(self) -> None:
        """Timed."""
        started = time.perf_counter()
        await super().disconnect_session()
        self.parts["disconnect"].append(time.perf_counter() - started)

    async def call(self, call: Call) -> Outcome:
        """Timed; waiting for the connection included."""
        started = time.perf_counter()
        outcome = await super().call(call)
        self.parts["call"].append(time.perf_counter() - started)
        return outcome


def agent_turns(model: BenchModel, turns: int, *, mcp: bool) -> dict[str, float]:
    """Milliseconds: median of whole turns and of their parts, warmed up."""
    TimedManager.parts.clear()
    logger = logging.getLogger("benchmark")
    with served(model) as base_url:
        config = GameConfiguration(
            client_base_url=base_url,
            client_api_key="none",
            mcp_enabled=mcp,
            mcp_config_file=str(ROOT / "mcp_config.json"),
            mcp_max_tool_iterations=30,
        )
        manager = TimedManager(config=config, logger=logger) if mcp else None
        agent = ZorkAgent(config, client=LLMClient(config=config), mcp_manager=manager)
        walls = []
        for turn in range(turns + 3):
            started = time.perf_counter()
            agent.get_action_with_reasoning("You are in a room.")
            if turn >= 3:
                walls.append(time.perf_counter() - started)
    medians = {name: statistics.median(times) for name, times in TimedManager.parts.items()}
    return {
        key: value * 1000 for key, value in {"turn": statistics.median(walls), **medians}.items()
    }


def cost_of_turns(console: Console, turns: int) -> None:
    """Turns with an instant model."""
    scenarios = {
        "MCP off": (BenchModel(), False),
        "no tool calls": (BenchModel(), True),
        "3 calls in a row": (BenchModel(3), True),
        "20 calls in a row": (BenchModel(20), True),
        "one batch of 3": (BenchModel(3, batch=3), True),
    }
    table = Table("instant model, ms (median)", "turn", "connect", "one call", "disconnect")
    for name, (model, mcp) in scenarios.items():
        ms = agent_turns(model, turns, mcp=mcp)
        parts = [ms.get(part) for part in ("turn", "connect", "call", "disconnect")]
        table.add_row(name, *("" if part is None else f"{part:.1f}" for part in parts))
    console.print(table)


def visible_cost(console: Console, turns: int) -> None:
    """What MCP adds to a turn without tool calls, when the model takes 300 ms."""
    slow = BenchModel(seconds=0.3)
    without = agent_turns(slow, turns, mcp=False)["turn"]
    with_mcp = agent_turns(slow, turns, mcp=True)["turn"]
    table = Table("model of 300 ms, ms (median)", "MCP off", "MCP on", "visible")
    table.add_row("no tool calls", *(f"{x:.1f}" for x in (without, with_mcp, with_mcp - without)))
    console.print(table)


def help_time(console: Console) -> None:
    """Seconds that ``main.py --help`` takes."""
    times = []
    for _ in range(7):
        started = time.perf_counter()
        subprocess.run(
            [sys.executable, str(ROOT / "main.py"), "--help"], check=True, capture_output=True
        )
        times.append(time.perf_counter() - started)
    console.print(f"main.py --help: {statistics.median(times) * 1000:.0f} ms (median of 7)")


def main() -> int:
    """Print every table; returns the exit code."""
    parser = Parser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=PARTS, help="one part of the figures")
    parser.add_argument(
        "--turns", type=whole_number(), default=40, help="turns or runs of each scenario"
    )
    parser.add_argument(
        "--long", type=whole_number(), default=1000, help="turns of the long episode"
    )
    parser.add_argument(
        "--story", default="bundled", help="another story for the figures of game and mind"
    )
    parser.add_argument("--seed", type=seed_number, default=12, help="seed of its dice")
    parser.add_argument(
        "--walkthrough", type=Path, default=BUNDLED_WALKTHROUGH, help="its commands, one per line"
    )
    flags = parser.parse_args()
    return program("benchmark.py", lambda: _print_all(flags))


def _print_all(flags: argparse.Namespace) -> int:
    console = Console()
    for part in [flags.only] if flags.only else PARTS:
        _print(part, console, flags)
    return DONE


def _print(part: str, console: Console, arguments: argparse.Namespace) -> None:
    match part:
        case "game":
            help_time(console)
            walkthrough = read_commands(arguments.walkthrough)
            game(console, [*dict.fromkeys(("bundled", arguments.story))], walkthrough)
            cost_of_turns(console, arguments.turns)
            visible_cost(console, max(5, arguments.turns // 4))
        case "mind":
            commands = read_commands(arguments.walkthrough)
            options = {"story": arguments.story, "seed": arguments.seed}
            mind(console, commands, WANDER, arguments.long, **options)
        case "library":
            library(console, arguments.turns)
        case "viewer":
            viewer(console)


if __name__ == "__main__":
    sys.exit(main())
