"""What an evaluation plays: every variant of the player with every seed, so many times.

Whoever plays into the same folder again must mean the same evaluation: what was agreed on is kept
there, and a matrix may only grow.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

from evaluation.agreement import SECRET, differences, kept_in, portable, program_at_hand
from evaluation.protocols.protocol import Protocol
from evaluation.suites.suite import Suite
from game_interface import StoryInfo
from game_interface.catalogue import game_of
from mcp_ghost.files import write_whole
from mcp_ghost.redact import Redactor
from mcp_ghost.text import address, counted
from orchestration.parts import PARTS
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.playing import GUEST, USES_MODEL, PlayerName
from session.record.event_log import EVENTS_FILE
from shared_utils import EMBEDDED_BASE_URL

PLAN_FILE = "evaluation.json"
TOOLS = "tools"
MCP = f"{GUEST}:"
"""Before the command of a guest, where a player is named."""
WALKTHROUGH = "walkthrough"
CHOICES = (*PARTS, TOOLS)
"""What the player can be played without."""


@dataclass(frozen=True)
class Variant:
    """The player, or what is left of it."""

    name: str
    off: tuple[str, ...] = ()
    """The parts that are switched off."""
    on: tuple[str, ...] = ()
    """Settings that are switched on, and off by default."""
    servers: tuple[str, ...] = ()
    """The tool servers that it uses, where those are not the configured ones."""
    player: PlayerName = "model"
    command: str = ""
    """Of a guest."""


WHOLE = Variant("whole")


class Fork(NamedTuple):
    """Where all episodes branch off."""

    trunk: Path
    turn: int
    uid: str
    """The trunk's."""


def variants_of(
    config: GameConfiguration,
    without: Sequence[str],
    *,
    each: bool,
    players: Sequence[str] = (),
) -> tuple[Variant, ...]:
    """List our player, one variant for each part to do without, the bare one, and the others.

    Raises:
        ConfigurationError: A part is switched off already, or nobody who plays has parts.
        MCPConfigError: With ``each``, where the tool servers cannot be read.
    """
    others: list[Variant] = []
    numbers = itertools.count(1)
    for player in dict.fromkeys(players):
        if player.startswith(MCP):
            number = next(numbers)
            name = GUEST if number == 1 else f"{GUEST}-{number}"
            others.append(Variant(name, player=GUEST, command=player.removeprefix(MCP)))
        elif player != "model":
            others.append(Variant(player, player=cast("PlayerName", player)))
    if players and "model" not in players:
        if without or each:
            flag = "--each" if each else "--without"
            raise ConfigurationError(f"{flag} is for the player 'model': add --player model.")
        return tuple(others)
    whole = Variant("model") if players else WHOLE
    return (*_with_parts(config, without, whole, each=each), *others)


def _with_parts(
    config: GameConfiguration, without: Sequence[str], whole: Variant, *, each: bool
) -> tuple[Variant, ...]:
    parts = [part.name for part in PARTS.values() if part.is_on(config)]
    parts += [TOOLS] * config.mcp_enabled
    for part in without:
        if part not in parts:
            how = "add --mcp" if part == TOOLS else f"set {PARTS[part].setting} to true"
            raise ConfigurationError(
                f"--without {part} would compare the player with itself, because that part is off: "
                f"{how}, or leave it out."
            )
    left_out = parts if each else [part for part in parts if part in without]
    single = [Variant(f"without-{part}", (part,)) for part in left_out]
    if not each:
        return (whole, *single)
    with_critic = [] if config.critic_enabled else [Variant("with-critic", on=("critic_enabled",))]
    with_servers = []
    if config.mcp_enabled:
        from managers.mcp_manager import MCPConfig

        file = MCPConfig.from_file(config.mcp_config_file)
        used = [*file.get_server_configs(config.mcp_servers)]
        with_servers = [
            Variant(f"tools-{name}", servers=(name,))
            for name, server in file.mcpServers.items()
            if not server.disabled and [name] != used
        ]
    return (whole, *single, *with_critic, *with_servers, Variant("bare", tuple(parts)))


class Cell(NamedTuple):
    """One episode of the matrix."""

    variant: str
    seed: int
    number: int
    """Counts the episodes of one variant and seed, from 1."""
    game: str = ""
    """Of a suite, by its name there."""

    def __str__(self) -> str:
        of = f"{self.game}, " if self.game else ""
        return f"{of}{self.variant}, seed {self.seed}, episode {self.number}"

    @property
    def row(self) -> tuple[str, str, int]:
        """Game, variant and seed: whatever learns from each other."""
        return self.game, self.variant, self.seed

    @property
    def place(self) -> Path:
        """Where it lies below the evaluation's folder."""
        row = Path(self.game, self.variant, f"seed-{self.seed}")
        return row / "episodes" / f"episode-{self.number}"


def cells_of(agreed: Mapping[str, Any]) -> Iterator[Cell]:
    """List every episode that was agreed on, as the tables list them."""
    shard, shards = agreed.get("shard") or (1, 1)
    games: Sequence[str] = list(agreed.get("stories") or [""])
    walked: Mapping[str, str] = agreed.get("walkthroughs", {})
    seeds: Sequence[int] = agreed["seeds"]
    for at, game in enumerate(games):
        for variant in agreed["variants"]:
            if variant == WALKTHROUGH and game not in walked and game:
                continue
            for beside, seed in enumerate(seeds):
                if (at * len(seeds) + beside) % shards == shard - 1:
                    for number in range(1, agreed["episodes"] + 1):
                        yield Cell(variant, seed, number, game)


@dataclass(frozen=True)
class Plan:
    """All that decides what is played."""

    name: str
    out: Path
    config: GameConfiguration
    """The settings of the whole player, its turns included."""
    stories: Mapping[str, StoryInfo]
    """By their names in the suite; a single one has none."""
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    episodes: int
    carry_over: bool
    protocol: Protocol | None = None
    fork: Fork | None = None
    suite: Suite | None = None
    shard: tuple[int, int] | None = None
    """Which part of how many is played here; None: all of it."""
    walkthroughs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The commands of the player `walkthrough` in the games of a suite that have some."""
    hints: Mapping[str, str] = field(default_factory=dict)
    """What players are told beforehand, by game."""

    @property
    def title(self) -> str:
        """What is played, for people."""
        if self.suite:
            return f"{counted(len(self.stories), 'game')} of the suite {self.suite.name}"
        return self.stories[""].title

    @property
    def asks_a_model(self) -> bool:
        """Whether any of the players does."""
        return any(variant.player in USES_MODEL for variant in self.variants)

    @property
    def turns(self) -> int:
        """Turns of an episode at most."""
        return self.config.max_turns_per_episode

    @property
    def cells(self) -> list[Cell]:
        """Every episode, as the tables list them."""
        return list(cells_of(self._matrix()))

    def lines(self) -> Iterator[list[Cell]]:
        """Episodes that wait for each other; all lines may be played at once.

        Seed by seed, so that what an interruption leaves can be compared.
        """
        rows = [list(row) for _, row in itertools.groupby(self.cells, attrgetter("row"))]
        rows.sort(key=lambda row: self.seeds.index(row[0].seed))
        if self.carry_over:
            yield from rows
        else:
            yield from ([row[at]] for at in range(self.episodes) for row in rows)

    def variant(self, cell: Cell) -> Variant:
        """Which variant plays an episode."""
        return next(it for it in self.variants if it.name == cell.variant)

    def workdir(self, cell: Cell) -> Path:
        """Where the episodes of one variant and seed lie, with what they learned."""
        return self.folder(cell).parents[1]

    def folder(self, cell: Cell) -> Path:
        """Where an episode's log lies."""
        return self.out / cell.place

    def errors(self, cell: Cell) -> Path:
        """Where an episode that failed says why."""
        return self.workdir(cell) / f"{cell.place.name}.err"

    def job(self, cell: Cell, threads: int | None) -> dict[str, Any]:
        """What the process of an episode is given; no keys."""
        variant = self.variant(cell)
        walk = self.walkthroughs.get(cell.game) if variant.name == WALKTHROUGH else None
        story = self.stories[cell.game]
        seeds: dict[str, object] = {"seed": cell.seed}
        if self.protocol and self.protocol.matrix.seeds_are == "player":
            dice = self.protocol.matrix.dice
            if dice == "walkthrough":
                known = game_of(story.sha256)
                dice = known.jericho_seed if known else 0
            seeds = {"seed": dice, "player_seed": cell.seed, "agent_seed": cell.seed}
        settings = {
            **self.config.model_dump(mode="json", exclude=SECRET),
            "without": [*self.config.without, *(part for part in variant.off if part != TOOLS)],
            "mcp_enabled": self.config.mcp_enabled and TOOLS not in variant.off,
            "mcp_servers": list(variant.servers or self.config.mcp_servers),
            "story": story.place,
            "player_name": variant.player,
            **({"player_commands": walk} if walk else {}),
            "player_hints": self.hints.get(cell.game, ""),
            **seeds,
            **dict.fromkeys(variant.on, True),
            "workdir": str(self.workdir(cell).resolve()),
            "storage_enabled": self.carry_over,
            "storage_carry_over": self.carry_over,
            "storage_database_url": None,  # the one in the workdir, which nobody else writes
            "local_threads": self.config.local_threads or threads,
            "evaluation_group": f"{self.name}/{variant.name}",
        }
        return {
            "episode": cell.place.name,
            "settings": settings,
            "resume": (self.folder(cell) / EVENTS_FILE).is_file(),
            "guest": variant.command,
            "fork": self.fork and [str(self.fork.trunk.resolve()), self.fork.turn],
            "program": program_at_hand(),
        }

    def agreement(self) -> dict[str, Any]:
        """What has to stay as it is, in words that mean the same on every machine."""
        role = self.config.role()
        embedded = role.base_url == EMBEDDED_BASE_URL
        redact = Redactor(self.config.secrets)
        only_some: dict[str, Any] = {}
        if it := self.protocol:
            seeds_are = it.matrix.seeds_are
            only_some["protocol"] = {"name": it.name, "sha256": it.sha256, "seeds_are": seeds_are}
        if fork := self.fork:
            only_some["fork"] = {"trunk": fork.trunk.name, "uid": fork.uid, "turn": fork.turn}
        if guests := {it.name: redact(it.command) for it in self.variants if it.command}:
            only_some["guests"] = guests
        return {
            "name": self.name,
            **only_some,
            "model": role.model if self.asks_a_model else "none",
            "endpoint": "this machine" if embedded else address(role.base_url),
            "turns": self.turns,
            "knowledge_carried_over": self.carry_over,
            "tools": self.config.mcp_enabled,
            **self._matrix(),
            "configuration": redact.each(
                portable(self.config.model_dump(mode="json", exclude=SECRET))
            ),
            **program_at_hand(),
        }

    def agree(self) -> None:
        """Store the agreement in the folder, or compare it with the one stored there.

        Raises:
            ConfigurationError: It is another one; the message names what differs.
        """
        path, now = self.out / PLAN_FILE, self.agreement()
        if path.exists() and (changed := differences(kept_in(path), now)):
            raise ConfigurationError(
                f"{self.out} holds an evaluation with other settings, prompts or code: "
                f"{'; '.join(changed)}. Episodes that were played under different rules do not "
                "belong in one table: restore what differs to continue this evaluation, or give "
                "another --out (or --name) to start a new one."
            )
        write_whole(path, json.dumps(now, indent=2, ensure_ascii=False) + "\n")

    def _matrix(self) -> dict[str, Any]:
        """Which episodes there are, as the agreement says it."""
        stories = {
            name: {"title": it.title, "sha256": it.sha256, "max_score": it.max_score}
            for name, it in self.stories.items()
        }
        if not self.suite:
            del stories[""]["max_score"]
        matrix: dict[str, Any] = {"stories": stories} if self.suite else {"story": stories[""]}
        if self.suite:
            matrix["suite"] = {"name": self.suite.name, "sha256": self.suite.sha256}
        if self.walkthroughs:
            digest = {game: "\n".join(it).encode() for game, it in self.walkthroughs.items()}
            matrix["walkthroughs"] = {game: sha256(it).hexdigest() for game, it in digest.items()}
        if self.hints:
            told = {game or "story": it.encode() for game, it in self.hints.items()}
            matrix["hints"] = {game: sha256(it).hexdigest() for game, it in told.items()}
        if self.shard:
            matrix["shard"] = list(self.shard)
        variants = [variant.name for variant in self.variants]
        seeds, episodes = list(self.seeds), self.episodes
        return {**matrix, "variants": variants, "seeds": seeds, "episodes": episodes}
