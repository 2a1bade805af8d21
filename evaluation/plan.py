"""What an evaluation plays: every variant of the player with every seed, so many times.

Whoever plays into the same folder again must mean the same evaluation: what was agreed on is kept
there, and a matrix may only grow.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

from evaluation.agreement import (
    SECRET,
    differences,
    kept_in,
    portable,
    program_at_hand,
)
from evaluation.protocols.protocol import Protocol
from game_interface import StoryInfo
from mcp_ghost.files import write_whole
from mcp_ghost.redact import Redactor
from mcp_ghost.text import address
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
    named = dict.fromkeys(players)
    guests = [player for player in named if player.startswith(MCP)]
    others = [
        Variant(
            GUEST if player == guests[0] else f"{GUEST}-{guests.index(player) + 1}",
            player=GUEST,
            command=player.removeprefix(MCP),
        )
        if player in guests
        else Variant(player, player=cast("PlayerName", player))
        for player in named
    ]
    if not players:
        return _with_parts(config, without, WHOLE, each=each)
    if "model" not in players:
        if without or each:
            flag = "--each" if each else "--without"
            raise ConfigurationError(f"{flag} is for the player 'model': add --player model.")
        return tuple(others)
    ours = _with_parts(config, without, Variant("model"), each=each)
    return (*ours, *(other for other in others if other.player != "model"))


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


class Key(NamedTuple):
    """Which episode of an evaluation."""

    variant: str
    seed: int
    number: int
    """Counts the episodes of one variant and seed, from 1."""

    def __str__(self) -> str:
        return f"{self.variant}, seed {self.seed}, episode {self.number}"

    @property
    def place(self) -> Path:
        """Where it lies below the evaluation's folder."""
        return Path(self.variant, f"seed-{self.seed}", "episodes", f"episode-{self.number}")


@dataclass(frozen=True)
class Cell:
    """One episode of the matrix."""

    variant: Variant
    seed: int
    number: int

    def __str__(self) -> str:
        return str(self.key)

    @property
    def key(self) -> Key:
        """Which one it is."""
        return Key(self.variant.name, self.seed, self.number)

    @property
    def episode(self) -> str:
        """The name of the episode."""
        return self.key.place.name


@dataclass(frozen=True)
class Plan:
    """All that decides what is played."""

    name: str
    out: Path
    config: GameConfiguration
    """The settings of the whole player, its turns included."""
    story: StoryInfo
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...]
    episodes: int
    carry_over: bool
    protocol: Protocol | None = None
    fork: Fork | None = None

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
        return [cell for row in self._rows() for cell in row]

    def lines(self) -> Iterator[list[Cell]]:
        """Episodes that wait for each other; all lines may be played at once.

        Seed by seed, so that what an interruption leaves can be compared.
        """
        rows = sorted(self._rows(), key=lambda row: self.seeds.index(row[0].seed))
        if self.carry_over:
            yield from rows
        else:
            yield from ([row[at]] for at in range(self.episodes) for row in rows)

    def workdir(self, cell: Cell) -> Path:
        """Where the episodes of one variant and seed lie, with what they learned."""
        return self.folder(cell).parents[1]

    def folder(self, cell: Cell) -> Path:
        """Where an episode's log lies."""
        return self.out / cell.key.place

    def errors(self, cell: Cell) -> Path:
        """Where an episode that failed says why."""
        return self.workdir(cell) / f"{cell.episode}.err"

    def job(self, cell: Cell, threads: int | None) -> dict[str, Any]:
        """What the process of an episode is given; no keys."""
        off = cell.variant.off
        seeds: dict[str, object] = {"seed": cell.seed}
        if self.protocol and self.protocol.matrix.seeds_are == "player":
            dice = self.protocol.matrix.dice
            seeds = {"seed": dice, "player_seed": cell.seed, "agent_seed": cell.seed}
        settings = {
            **self.config.model_dump(mode="json", exclude=SECRET),
            "without": [*self.config.without, *(part for part in off if part != TOOLS)],
            "mcp_enabled": self.config.mcp_enabled and TOOLS not in off,
            "mcp_servers": list(cell.variant.servers or self.config.mcp_servers),
            "story": self.story.place,
            "player_name": cell.variant.player,
            **seeds,
            **dict.fromkeys(cell.variant.on, True),
            "workdir": str(self.workdir(cell).resolve()),
            "storage_enabled": self.carry_over,
            "storage_carry_over": self.carry_over,
            "storage_database_url": None,  # the one in the workdir, which nobody else writes
            "local_threads": self.config.local_threads or threads,
            "evaluation_group": f"{self.name}/{cell.variant.name}",
        }
        return {
            "episode": cell.episode,
            "settings": settings,
            "resume": (self.folder(cell) / EVENTS_FILE).is_file(),
            "guest": cell.variant.command,
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
            "story": {"title": self.story.title, "sha256": self.story.sha256},
            "model": role.model if self.asks_a_model else "none",
            "endpoint": "this machine" if embedded else address(role.base_url),
            "turns": self.turns,
            "knowledge_carried_over": self.carry_over,
            "tools": self.config.mcp_enabled,
            "variants": [variant.name for variant in self.variants],
            "seeds": list(self.seeds),
            "episodes": self.episodes,
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

    def _rows(self) -> list[list[Cell]]:
        numbers = range(1, self.episodes + 1)
        return [
            [Cell(variant, seed, number) for number in numbers]
            for variant in self.variants
            for seed in self.seeds
        ]
