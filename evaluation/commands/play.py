"""Plays an evaluation and reports on it.

When run again with the same --out (or --name), it continues where it was interrupted.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console

from evaluation.achievements.achievement import SUFFIX, at_hand
from evaluation.commands.report import write_report
from evaluation.figures import EpisodeFigures
from evaluation.fleet.cluster import HERE, cluster
from evaluation.fleet.limits import Limits
from evaluation.plan import CHOICES, MCP, WALKTHROUGH, Fork, Plan, Variant, variants_of
from evaluation.progress import ProgressBars, say
from evaluation.protocols.protocol import SHIPPED, Protocol, refuse_flags
from evaluation.run import Executor, LocalExecutor, Played, cores, declined, play, taken, unfinished
from evaluation.suites.at_hand import hints_of, keep_achievements, stories_of, walkthroughs_of
from evaluation.suites.suite import SHIPPED as SUITES
from evaluation.suites.suite import Suite
from game_interface import StoryInfo, open_game
from llm_client import LLMClient
from mcp_ghost.cli.arguments import Parser, add_flags, add_trust, dollars, http_url, whole_number
from mcp_ghost.cli.program import DONE, FAILED
from mcp_ghost.redact import redact
from mcp_ghost.text import counted, did_you_mean
from players import PLAYERS
from players.walkthrough import WalkthroughPlayer, read_walkthrough
from session.game_configuration import ConfigurationError, GameConfiguration
from session.playing import GUEST, USES_MODEL
from session.record.branch import shared_lines
from session.record.event_log import read
from session.record.resume import story_of
from session.record.schema import EpisodeStart
from terminal.flags import episode_at_turn
from terminal.resume import find_episode

DESCRIPTION = (
    "Measure how much the player, and each of its parts, is worth by playing a matrix of episodes."
)
EPILOG = """\
exit code: 0 every episode was played to its end; 1 some were not (run again
  to continue them); 2 wrong usage or configuration; 130 interrupted by Ctrl-C
  (143 by SIGTERM, 129 by a closed terminal)

Other commands, each with its own --help:
  evaluate.py report DIR        the figures of what was played, computed again
  evaluate.py compare A B...    several evaluations side by side
  evaluate.py merge OUT A B...  one evaluation out of several machines' parts
  evaluate.py export DIR        what was played, as tables in CSV or Parquet
  evaluate.py measure EPISODE   the achievements that an episode earned
  evaluate.py document DIR      the results, put into docs/evaluation.md

Settings that have no flag here come from the environment (ZORKGPT_*), .env
and pyproject.toml.
"""
_PLAYED = """\
--protocol NAME|PATH  play by a file that pins every setting: {protocols}, or yours
--story NAME|PATH  zork1, bundled, a game that `main.py games` lists, or a story file
--suite NAME|PATH  many games instead: {suites}, a suite's file, or a folder of story files
--at-hand          play only those games of the suite whose files are on this machine
--shard I/N        play the I-th of N parts of the games and seeds; `merge` joins the parts
--seeds N,N,...    seeds of the game's dice (default 1,2,3,4,5)
--episodes N       episodes of each variant and seed (default 1)
--turns N          at most this many turns per episode (default 100)
--fork EPISODE@TURN  play branches of that episode, from that turn on, instead of new games
--carry-over       pass on what is learned from episode to episode of one variant and seed
"""
_PLAYER = f"""\
--player NAME      who plays; may be repeated: {", ".join(PLAYERS)} (default model), mcp:COMMAND
--walkthrough PATH  commands for walkthrough, one per line; for a suite, a folder of GAME.txt files
--hints PATH       text that models get beforehand; for a suite, a folder of GAME.txt files
--model NAME       the model's name at the endpoint
--base-url URL     the model's endpoint (default: that of the key that is set, or the small model)
--mcp              offer MCP tools
--without PART     also play without this part; may be repeated: {", ".join(CHOICES)}
--each             also play without each part, without any, with the critic, with other tools
"""
_HOW = """\
--jobs J           episodes at a time (default: one per core, here {cores}; on Ray, of all nodes)
--on PLACE         where: local (default), ray (a cluster on this machine), or ray://HOST:PORT
--requests-per-minute N  at most N requests to models in any minute, all episodes together
--max-cost USD     dollars that all episodes together may cost, if the provider reports costs
--name NAME        name of the evaluation, which its episodes record
--out DIR          where everything goes (default: game_files/evaluations/NAME)
--yes              start without asking, however long it may take
"""
LOCAL = "local"
_MAX_SEED = 2**31 - 1
_SEEDS, _TURNS = (1, 2, 3, 4, 5), 100


def run(flags: argparse.Namespace) -> int:
    """Play what is missing, and report; returns the exit code."""
    if not flags.name and not flags.out:
        flags.name = datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S")
        flags.words += ["--name", flags.name]
    try:
        return _play(flags)
    except KeyboardInterrupt:
        again = redact(shlex.join(["uv", "run", "python", "scripts/evaluate.py", *flags.words]))
        print(f"\nInterrupted. What was played is kept; to continue:\n  {again}", file=sys.stderr)
        raise
    except OSError as error:  # such as a full disk
        error.add_note("What was played is kept.")
        raise


def _play(flags: argparse.Namespace) -> int:
    plan = _plan(flags)
    with taken(plan.out) as lock:
        plan.agree()
        keep_achievements(plan)
        console, jobs = Console(stderr=True), flags.jobs or cores()
        played = {cell: EpisodeFigures.read(plan.folder(cell)) for cell in plan.cells}
        lines = unfinished(plan, played, console)
        if lines and not flags.yes and declined(plan, lines, played, jobs, console):
            return FAILED
        if lines:
            with executor_of(plan, flags, played, console, lock) as (executor, most):
                jobs = max(1, min(most, len(lines)))
                model = plan.config.role().model if plan.asks_a_model else "no model"
                by = f" by the protocol {plan.protocol.name}" if plan.protocol else ""
                say(
                    console,
                    f"{plan.name}: {counted(len(plan.cells), 'episode')} of {plan.title} with "
                    f"{model}{by}, {sum(map(len, lines))} to play, {jobs} at a time, into "
                    f"{plan.out}",
                )
                # For the bars, an episode that has ended is done, however early it did.
                turns = {
                    it: plan.turns if its.finished else its.turns for it, its in played.items()
                }
                with ProgressBars(console, plan, turns, max_cost=flags.max_cost) as progress:
                    play(plan, lines, progress, executor, jobs=jobs)
        return DONE if write_report(plan.out, flags.jobs or cores()) else FAILED


def _plan(flags: argparse.Namespace) -> Plan:
    if flags.at_hand and not flags.suite:
        raise ConfigurationError("--at-hand is for the games of a suite: add --suite.")
    if flags.suite and (flags.story or flags.fork):
        other = "--story" if flags.story else "--fork"
        raise ConfigurationError(f"{other} is for one story: leave it out, or leave out --suite.")
    suite = Suite.read(flags.suite) if flags.suite else None
    by = flags.protocol or (suite.protocol if suite else "")
    protocol = Protocol.read(by) if by else None
    if protocol:
        refuse_flags(protocol, vars(flags))
    config = _configuration(flags, protocol)
    matrix, players = protocol.matrix if protocol else None, flags.player
    seeds = matrix.seeds if matrix else flags.seeds or _SEEDS
    fork, start = _trunk_of(flags, config) or (None, None)
    if start:
        story = story_of(start, config.story)
        config = config.model_copy(update={"story": story, "observation_level": start.level})
        # Nobody stands for our own player, as when a guest has left.
        players = () if start.player in ("model", GUEST) else (start.player,)
        seeds = (start.seed or 0,)
    variants = variants_of(config, flags.without, each=flags.each, players=players)
    refuse_guests(variants, flags)
    if any(variant.player in USES_MODEL for variant in variants):
        config.refuse_missing_models()
        with closing(LLMClient(config=config)):
            pass  # report a key that cannot be sent, or a bad model file, before we begin
    elif flags.hints:
        raise ConfigurationError("--hints is for models: add --player model, or --player chat.")
    if config.mcp_enabled:
        from managers.mcp_manager import MCPConfig

        MCPConfig.from_file(config.mcp_config_file).get_server_configs(config.mcp_servers)
    out = Path(flags.out) if flags.out else Path(config.workdir) / "evaluations" / flags.name
    stories = stories_of(suite, at_hand=flags.at_hand) if suite else {"": _story(config)}
    if protocol:
        for played in stories.values():
            protocol.refuse_story(played)
    walked = suite and WALKTHROUGH in flags.player
    return Plan(
        name=flags.name or out.resolve().name,
        out=out,
        config=config,
        stories=stories,
        variants=variants,
        seeds=seeds,
        episodes=matrix.episodes if matrix else flags.episodes or 1,
        carry_over=matrix.carry_over if matrix else flags.carry_over,
        protocol=protocol,
        fork=fork,
        suite=suite,
        shard=flags.shard,
        walkthroughs=walkthroughs_of(flags.walkthrough, list(stories)) if walked else {},
        hints=hints_of(flags.hints, list(stories)),
    )


def _trunk_of(
    flags: argparse.Namespace, config: GameConfiguration
) -> tuple[Fork, EpisodeStart] | None:
    """Find the episode that ``--fork`` names, and how it began; None without it."""
    if not flags.fork:
        return None
    for name in ("story", "seeds", "player", "protocol", "carry_over"):
        if getattr(flags, name):
            flag = name.replace("_", "-")
            raise ConfigurationError(f"--{flag} is for new games: a branch keeps its trunk's.")
    wanted, turn = flags.fork
    folder = find_episode(wanted, config.workdir)
    list(shared_lines(folder, turn, ""))  # which says what is wrong
    if config.max_turns_per_episode <= turn:
        raise ConfigurationError(
            f"No turn would be played: --turns counts from the beginning, and turn {turn} is where "
            "the branches begin."
        )
    start = next(it.event for it in read(folder) if isinstance(it.event, EpisodeStart))
    return Fork(folder, turn, start.uid), start


def refuse_guests(variants: Sequence[Variant], flags: argparse.Namespace) -> None:
    """Refuse limits on a guest: they hold for our requests, and we do not see those of a guest.

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
def executor_of(
    plan: Plan, flags: argparse.Namespace, played: Played, console: Console, lock: int
) -> Iterator[tuple[Executor, int]]:
    """Open what plays the episodes, as the flags say, and how many it plays at a time."""
    spent = sum(it.billed.cost for it in played.values())
    limits = (flags.requests_per_minute, flags.max_cost, spent)
    jobs = flags.jobs or cores()

    def threads(processors: int) -> int | None:
        """Of the embedded model, which all episodes share."""
        return max(1, processors // jobs) if plan.config.uses_embedded_model else None

    if flags.on == LOCAL:
        yield LocalExecutor(plan, Limits(*limits), lock=lock, threads=threads(cores())), jobs
        return

    from evaluation.fleet.on_ray import RayExecutor

    with cluster(flags.on, jobs, partial(say, console)) as ray:
        there = int(ray.cluster_resources().get("CPU", 1))
        if flags.on != HERE:
            jobs = flags.jobs or there
        shared = threads(cores() if flags.on == HERE else there)
        try:
            yield RayExecutor(ray, plan, flags.on, limits, shared), jobs
        except ray.exceptions.RayError as error:
            error.add_note("What was played is kept; the same command continues it.")
            raise


def _configuration(flags: argparse.Namespace, protocol: Protocol | None) -> GameConfiguration:
    """The settings; those that a protocol pins come before all others."""
    given = {
        "story": flags.story,
        "agent_model": flags.model,
        "client_base_url": flags.base_url,
        "max_turns_per_episode": flags.turns or _TURNS,
        "mcp_enabled": flags.mcp,
    }
    overrides: dict[str, object] = {key: it for key, it in given.items() if it is not None}
    if WALKTHROUGH in flags.player:
        if flags.suite and not flags.walkthrough:
            raise ConfigurationError(
                "The player 'walkthrough' needs its commands: give --walkthrough FOLDER, with a "
                "file GAME.txt for each game of the suite that has a walkthrough."
            )
        commands: tuple[str, ...] = ()
        if not flags.suite:
            commands = read_walkthrough(flags.walkthrough) if flags.walkthrough else ()
            WalkthroughPlayer(commands)  # which says what is wrong with them
        overrides["player_commands"] = commands
    elif flags.walkthrough:
        raise ConfigurationError("--walkthrough is for a player: add --player walkthrough.")
    if protocol:
        overrides |= {"without": (), **protocol.settings}
    if flags.base_url:
        overrides["agent_base_url"] = None  # a configured one would win over the flag
    return GameConfiguration.at_hand(None, **overrides).ask_about_servers()


def _story(config: GameConfiguration) -> StoryInfo:
    """Find the story once, before any episode; Zork I may have to be downloaded."""
    with closing(open_game(config.story, seed=1, engine=config.engine)) as game:
        game.start()
        story = game.story
        if game.facts().score is None and not at_hand(story.sha256, story.path):
            raise ConfigurationError(
                f"The score of {game.story.title} cannot be read, so there is nothing to measure: "
                "play a game that `uv run python main.py games` lists with its points, or make a "
                "profile of this one (scripts/story/README.md says how), or put a file of "
                f"achievements beside it, {story.path.stem}{SUFFIX}."
            )
        return story


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py``."""
    count = {"type": whole_number()}
    add_flags(
        it.add_argument_group("what is played"),
        _PLAYED.format(protocols=", ".join(SHIPPED), suites=", ".join(SUITES)),
        seeds={"type": _seeds},
        N=count,
        shard={"type": _shard},
        fork={"type": episode_at_turn},
    )
    add_flags(
        it.add_argument_group("who plays"),
        _PLAYER,
        player={"action": "append", "type": _player, "default": []},
        walkthrough={"type": Path},
        hints={"type": Path},
        base_url={"type": http_url},
        without={"action": "append", "choices": CHOICES, "default": []},
    )
    add_flags(
        it.add_argument_group("how"),
        _HOW.format(cores=cores()),
        jobs=count,
        on={"type": _place, "default": LOCAL},
        requests_per_minute=count,
        max_cost={"type": dollars},
        name={"type": _name},
    )
    add_trust(it)


def _place(text: str) -> str:
    if text in (LOCAL, HERE) or re.fullmatch(r"ray://[^/:@\s]+:\d+", text):
        return text
    raise argparse.ArgumentTypeError(
        f"'{text}' is not a place to play: choose local, ray, or ray://HOST:PORT"
    )


def _shard(text: str) -> tuple[int, int]:
    if match := re.fullmatch(r"(\d{1,4})/(\d{1,4})", text):
        number, count = map(int, match.groups())
        if 1 <= number <= count:
            return number, count
    raise argparse.ArgumentTypeError(f"'{text}' is not a part such as 2/5")


def _seeds(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) <= _MAX_SEED for word in words):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of whole numbers from 0 to {_MAX_SEED}, such as 1,2,3"
        )
    return tuple(dict.fromkeys(map(int, words)))


def _player(text: str) -> str:
    try:
        if text in PLAYERS or (text.startswith(MCP) and shlex.split(text.removeprefix(MCP))):
            return text
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}' is not a command: {error}") from error
    hint = did_you_mean(text, PLAYERS) or f"choose from {', '.join(PLAYERS)}, or {MCP}COMMAND"
    raise argparse.ArgumentTypeError(f"there is no player '{text}': {hint}")


def _name(text: str) -> str:
    if not text or text.startswith(".") or "/" in text:
        raise argparse.ArgumentTypeError(
            f"'{text}' cannot name a folder: leave out '/' and a leading '.'"
        )
    return text
