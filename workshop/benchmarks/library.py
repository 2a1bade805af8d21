"""What mcp_ghost() costs on top of model and tools; ``benchmark.py`` prints the figures."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mcp_ghost import mcp_ghost
from mcp_ghost.testing.wires import WireName
from workshop.benchmarks.model import BenchModel, served

ROOT = Path(__file__).parents[2]
SERVERS = {"mcpServers": {"thoughtbox": {"command": sys.executable, "args": ["-m", "thoughtbox"]}}}
SCENARIOS = {
    "no tool calls": BenchModel(),
    "3 calls in a row": BenchModel(3),
    "20 calls in a row": BenchModel(20),
    "one batch of 3": BenchModel(3, batch=3),
}
FIRST_RUN = """
import asyncio, json, resource, sys, time
started = time.perf_counter()
from mcp_ghost import mcp_ghost
imported = time.perf_counter()
servers, base_url = json.loads(sys.argv[1])
result = asyncio.run(mcp_ghost(servers, "", "openai", "none", "Think.", base_url=base_url))
ended = time.perf_counter()
assert result["success"], result["summary"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 if sys.platform == "linux" else 1024)
print(json.dumps([1000 * (imported - started), 1000 * (ended - started), peak / 1024]))
"""


def library(console: Console, runs: int) -> None:
    """All figures of the library."""
    cost_of_runs(console, runs)
    first_run(console)


def cost_of_runs(console: Console, runs: int) -> None:
    """Runs with an instant model on every wire, start and end of the tool server included."""
    wires: tuple[WireName, ...] = ("openai", "anthropic", "gemini")
    table = Table("mcp_ghost(), instant model, ms (median)", *wires, "of it until connected")
    for name, model in SCENARIOS.items():
        timed = [asyncio.run(_runs(model, wire, runs)) for wire in wires]
        connecting = statistics.median(connected for _, connected in timed)
        table.add_row(name, *(f"{whole:.1f}" for whole, _ in timed), f"{connecting:.1f}")
    console.print(table)


async def _runs(model: BenchModel, wire: WireName, runs: int) -> tuple[float, float]:
    """Milliseconds of a run, and until its server was connected: medians, warmed up."""
    walls, connects = [], []
    with served(model, wire) as base_url:
        for number in range(runs + 3):
            moments = _Moments()
            started = time.perf_counter()
            result = await mcp_ghost(
                SERVERS,
                "Think.",
                wire,
                "none",
                "Think in steps.",
                max_iterations=model.calls + 1,
                base_url=base_url,
                on_event=moments,
            )
            ended = time.perf_counter()
            if result["errors"] or len(result["tool_chain"]) != model.calls:
                raise RuntimeError(result["summary"])
            if number >= 3:
                walls.append(ended - started)
                connects.append(moments["server_connected"] - started)
    return statistics.median(walls) * 1000, statistics.median(connects) * 1000


class _Moments(dict[str, float]):
    """When each type of event came first."""

    def __call__(self, event: dict[str, Any]) -> None:
        self.setdefault(event["type"], time.perf_counter())


def first_run(console: Console) -> None:
    """What a fresh program waits for, and what it holds in memory."""
    with served(BenchModel()) as base_url:
        arguments = [sys.executable, "-c", FIRST_RUN, json.dumps([SERVERS, base_url])]
        figures = [
            json.loads(subprocess.run(arguments, check=True, capture_output=True, cwd=ROOT).stdout)
            for _ in range(7)
        ]
    imported, first, peak = (statistics.median(column) for column in zip(*figures, strict=True))
    table = Table("fresh program (median of 7)", "ms or MiB")
    table.add_row("from mcp_ghost import mcp_ghost", f"{imported:.0f} ms")
    table.add_row("the same and a first run without calls", f"{first:.0f} ms")
    table.add_row("peak memory", f"{peak:.0f} MiB")
    console.print(table)
