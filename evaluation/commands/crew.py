"""Who plays an evaluation, as `--on`, `--jobs`, `--requests-per-minute` and `--max-cost` say."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from evaluation.figures import EpisodeFigures
from evaluation.fleet.cluster import HERE, cluster
from evaluation.fleet.limits import Limits
from evaluation.fleet.local import LocalCrew
from evaluation.plan import Plan, Variant
from evaluation.run import Crew, cores
from session.configuration_file import ConfigurationError
from session.playing import GUEST

LOCAL = "local"


def refuse_guests(variants: Sequence[Variant], flags: argparse.Namespace) -> None:
    """Limits hold for what we ask of models; what a guest asks, we do not see.

    Raises:
        ConfigurationError: A limit would not hold for one of the players.
    """
    if any(variant.player == GUEST for variant in variants):
        for name in ("requests_per_minute", "max_cost"):
            if getattr(flags, name):
                raise ConfigurationError(
                    f"--{name.replace('_', '-')} cannot limit a player mcp:COMMAND, which asks "
                    "models by itself: limit it there, and leave out the flag when it plays."
                )


@contextmanager
def crew_of(
    plan: Plan, flags: argparse.Namespace, console: Console, lock: int
) -> Iterator[tuple[Crew, int]]:
    """Those who play, and how many episodes they play at a time."""
    spent = 0.0
    if flags.max_cost:
        figures = (EpisodeFigures.read(plan.folder(cell)) for cell in plan.cells)
        spent = sum(it.provenance.billed.cost for it in figures)
    limits = (flags.requests_per_minute, flags.max_cost, spent)
    jobs = flags.jobs or cores()
    if flags.on == LOCAL:
        threads = _threads(plan, cores(), jobs)
        rate, dollars, _ = limits
        counted = Limits(rate, dollars, spent=spent)
        yield LocalCrew(plan, counted, lock=lock, threads=threads), jobs
        return

    from evaluation.fleet.on_ray import RayCrew

    def say(line: str) -> None:
        console.print(Text(line), soft_wrap=True)

    with cluster(flags.on, jobs, say) as ray:
        there = int(ray.cluster_resources().get("CPU", 1))
        if flags.on != HERE:
            jobs = flags.jobs or there
        threads = _threads(plan, cores() if flags.on == HERE else there, jobs)
        try:
            yield RayCrew(ray, plan, flags.on, limits, threads), jobs
        except ray.exceptions.RayError as error:
            error.add_note("What was played is kept; the same command continues it.")
            raise


def _threads(plan: Plan, processors: int, jobs: int) -> int | None:
    """Of the embedded model, which all episodes share."""
    return max(1, processors // jobs) if plan.config.uses_embedded_model else None
