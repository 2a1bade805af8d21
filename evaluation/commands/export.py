"""An evaluation as two tables, of its episodes and of their turns, for other programs to open.

Like all figures they come from the logs alone, so that they can be made at any time.
"""

import argparse
import csv
import io
import typing
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

from evaluation.figures import EpisodeFigures
from evaluation.outcome.stored import StoredEvaluation
from evaluation.plan import Cell
from evaluation.provenance import GUEST_NAME, SERVED
from mcp_ghost.cli.arguments import Parser
from mcp_ghost.cli.program import DONE
from mcp_ghost.files import write_whole
from session.configuration_file import ConfigurationError
from session.game_state import Hint, TurnRecord
from session.record.schema import Entry

DESCRIPTION = "Write an evaluation as two tables: one of its episodes, one of their turns."
EPILOG = """\
exit code: 0 the tables were written; 1 they could not be; 2 wrong usage, no
  evaluation in DIR, or what the format needs is not installed
"""


class EpisodeRow(NamedTuple):
    """One line of the table of episodes."""

    evaluation: str
    game: str | None
    variant: str
    seed: int
    episode: int
    player: str
    protocol: str
    protocol_sha256: str
    story: str
    story_sha256: str
    model: str | None
    guest: str | None
    model_as_served: str
    version: str
    code: str
    engine: str
    begun: str
    last_time: str
    finished: bool
    end_reason: str
    turns: int
    moves: int | None
    score: int | None
    best_score: int | None
    max_score: int | None
    progress: float | None
    rooms: int | None
    hints: int
    deaths: int | None
    restarts: int
    refused_proposals: int
    failed_turns: int
    engine_refused: int
    reflections: int
    failed_reflections: int
    tool_calls: int | None
    requests: int | None
    failed_requests: int | None
    model_calls: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float


class TurnRow(NamedTuple):
    """One line of the table of turns: a turn that was played."""

    evaluation: str
    game: str | None
    variant: str
    seed: int
    episode: int
    turn: int
    room_id: int | None
    room: str | None
    hint: str | None
    command: str
    thinking: str
    response: str
    scored: int | None
    score: int | None
    moves: int | None
    died: bool | None
    won: bool
    restarted: bool
    restored: int | None
    refused_proposals: int
    tool_calls: int | None
    model_calls: int | None
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float


Row: TypeAlias = EpisodeRow | TurnRow
_NAMED = ("evaluation", "game", "variant", "seed", "episode")
_ASKED = frozenset(
    {"tool_calls", "model_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "cost"}
)
"""What a turn asked of models and tools."""


class _Episode(EpisodeFigures):
    """An episode with its turns, of which no snapshot is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.played: list[dict[str, Any]] = []
        self._hints: defaultdict[int, list[str]] = defaultdict(list)
        """What the person watching said, by the turn in which the player was told."""

    def take(self, entry: Entry) -> None:
        """Add what one line says."""
        super().take(entry)
        if isinstance(entry.event, Hint):
            self._hints[entry.event.turn].append(entry.event.text)
        elif isinstance(record := entry.event, TurnRecord):
            known = {
                **vars(record.usage),
                "model_calls": record.usage.calls,
                "room_id": record.place_id,
                "room": record.place.name if record.place else None,
                "hint": "\n".join(self._hints[record.turn]) or None,
                "score": record.outcome.score,
                "moves": record.outcome.moves,
                "restarted": record.ended is not None and record.restored is None,
                "refused_proposals": len(record.refused),
                "tool_calls": len(record.tools),
            }
            names = set(TurnRow._fields) - set(_NAMED)
            row = {name: known[name] if name in known else getattr(record, name) for name in names}
            if self.by_a_guest:  # only the guest knows
                row |= dict.fromkeys(_ASKED)
            self.played.append(row)

    def row(self, agreed: Mapping[str, Any]) -> EpisodeRow:
        """Its line, in which ``agreed`` is what the log does not say."""
        start, facts = self.start, self.facts
        known = {
            **agreed,
            "progress": None,
            **self.summary(),
            "player": start.player if start else "",
            "story": start.title if start else "",
            "begun": self.started,
            "last_time": self.last_time,
            "story_sha256": _all(facts["story"]),
            "model_as_served": _all(facts[SERVED]),
            **{name: _all(facts[name]) for name in ("version", "code", "engine")},
            "model": None if self.by_a_guest else _all(facts["model"]),
            "guest": _all(facts[GUEST_NAME]) or None,
        }
        return EpisodeRow(**{name: known[name] for name in EpisodeRow._fields})


def tables_of(folder: Path) -> dict[str, tuple[type[Row], list[Row]]]:
    """Name -> type of the lines and the lines, of the evaluation in ``folder``.

    Raises:
        ConfigurationError: There is no evaluation.
    """
    played = StoredEvaluation.read(folder, _Episode)
    episodes: list[Row] = []
    turns: list[Row] = []
    protocol = played.agreed.get("protocol") or {}
    pinned = {"protocol": protocol.get("name", ""), "protocol_sha256": protocol.get("sha256", "")}
    for key, read in cast("dict[Cell, _Episode]", played.episodes).items():
        # By these first columns of both tables, they can be joined.
        values = (played.agreed["name"], key.game or None, key.variant, key.seed, key.number)
        named = dict(zip(_NAMED, values, strict=True))
        episodes.append(read.row({**named, **pinned}))
        turns += (TurnRow(**named, **turn) for turn in read.played)
    return {"episodes": (EpisodeRow, episodes), "turns": (TurnRow, turns)}


def csv_of(kind: type[Row], rows: Sequence[Row]) -> bytes:
    """The table as CSV in UTF-8; what is not known is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind._fields)
    # Other programs know "true", but not Python's "True".
    writer.writerows(
        [str(it).lower() if isinstance(it, bool) else it for it in row] for row in rows
    )
    return text.getvalue().encode(errors="replace")


def parquet_of(kind: type[Row], rows: Sequence[Row]) -> bytes:
    """The table as Parquet, each column of its own type, even where nothing in it is known.

    Raises:
        ConfigurationError: pyarrow, an extra, is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "Parquet needs pyarrow, which is not installed. Install it with: uv sync --extra "
            "parquet (or leave out --format parquet for CSV, which needs nothing)"
        ) from error
    as_arrow = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    hints = typing.get_type_hints(kind)
    types = {name: (*typing.get_args(hint), hint)[0] for name, hint in hints.items()}
    schema = pa.schema([(name, as_arrow[type_]) for name, type_ in types.items()])
    file = io.BytesIO()
    table = pa.Table.from_pylist([row._asdict() for row in rows], schema=schema)
    pq.write_table(table, file)
    return file.getvalue()


_FORMATS = {"csv": csv_of, "parquet": parquet_of}


def add_arguments(it: Parser) -> None:
    """Add the arguments of ``evaluate.py export``."""
    it.add_argument("folder", metavar="DIR", type=Path, help="where the evaluation is")
    it.add_argument(
        "--format",
        choices=list(_FORMATS),
        default="csv",
        help="csv (default), or parquet, which needs the extra parquet",
    )
    it.add_argument("--to", metavar="DIR", type=Path, help="where the tables go (default: DIR)")


def run(flags: argparse.Namespace) -> int:
    """Write the tables; returns the exit code."""
    to = flags.to or flags.folder
    encoded = {
        to / f"{name}.{flags.format}": _FORMATS[flags.format](*table)
        for name, table in tables_of(flags.folder).items()
    }
    for path, data in encoded.items():
        write_whole(path, data)
    print(f"Written: {', '.join(map(str, encoded))}")
    return DONE


def _all(values: set[str]) -> str:
    return ", ".join(sorted(values))
