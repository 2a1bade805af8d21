"""The tables of an evaluation, as the programs that they are for open them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from evaluation.commands.export import EpisodeRow, TurnRow, csv_of, parquet_of
from evaluation.outcome.stored import agreed_in
from evaluation.plan import PLAN_FILE, cells_of
from scripts.evaluate import main
from tests.evaluation.evaluations import COMMANDS, Evaluation
from tests.evaluation.made_up import evaluation as made_up
from tests.evaluation.made_up import event, start, turn, write
from tests.support import FOREVER, ROOT
from workshop.scripted_model import SERVED_AS

TURN = TurnRow(
    evaluation="made-up",
    game=None,
    variant="whole",
    seed=1,
    episode=1,
    turn=1,
    room_id=7,
    room="A room, with a comma",
    hint="Open it.\nGo up.",
    command='say "hello"',
    thinking="Polite",
    response="Two\nlines, and an é.",
    scored=0,
    score=0,
    moves=1,
    died=False,
    won=True,
    restarted=False,
    restored=None,
    refused_proposals=0,
    tool_calls=0,
    model_calls=1,
    prompt_tokens=10,
    cached_tokens=0,
    completion_tokens=1,
    cost=0.1,
    seconds=0.1,
)


Lines: TypeAlias = list[dict[str, Any]]
PANDAS = (
    "import sys, pandas; folder, name = sys.argv[1:]\n"
    "for frame in (pandas.read_csv(f'{folder}/{name}.csv'), "
    "pandas.read_parquet(f'{folder}/{name}.parquet')):\n"
    "    print(frame.to_json(orient='records', double_precision=15))"
)


def by_polars(folder: Path, name: str) -> list[Lines]:
    """The lines of a table from each format."""
    import polars as pl  # takes half a second in every worker

    frames = [
        pl.read_csv(folder / f"{name}.csv"),
        pl.read_parquet(folder / f"{name}.parquet"),
    ]
    return [frame.to_dicts() for frame in frames]


def by_pandas(folder: Path, name: str) -> list[Lines]:
    """The same, by a pandas of PyPI, which is large."""
    said = subprocess.run(
        ["uv", "run", "--no-project", "--with", "pandas", "--with", "pyarrow", "python", "-c",
         PANDAS, folder, name],
        stdout=subprocess.PIPE, text=True, timeout=FOREVER, check=True,
    ).stdout  # fmt: skip
    return [json.loads(line) for line in said.splitlines()]


READERS = [by_polars, pytest.param(by_pandas, marks=pytest.mark.network)]


@pytest.mark.mcp
@pytest.mark.parametrize("read", READERS)
def test_pandas_and_polars_open_the_tables_of_episodes_and_turns(
    evaluation: Evaluation, read: Callable[[Path, str], list[Lines]]
) -> None:
    assert evaluation.run("--seeds", "1,2").returncode == 0
    for more in ([], ["--format", "parquet"]):
        exported = evaluation.program.run("export", "out", "--to", "tables", *more)
        assert exported.returncode == 0
        assert "Written: tables/episodes." in exported.stdout
    tables = evaluation.program.folder / "tables"
    for episodes in read(tables, "episodes"):
        assert [episode["seed"] for episode in episodes] == [1, 2]
        assert list(episodes[0]) == list(EpisodeRow._fields)
        assert {episode["player"] for episode in episodes} == {"model"}
        assert {episode["model_as_served"] for episode in episodes} == {SERVED_AS}
        assert [episode["finished"] for episode in episodes] == [True, True]
        for episode, figures in zip(episodes, evaluation.results["episodes"], strict=True):
            same = figures.keys() & episode.keys()
            assert len(same) > 20
            assert {name: episode[name] for name in same} == {name: figures[name] for name in same}
    for turns in read(tables, "turns"):
        assert [turn["turn"] for turn in turns] == [1, 2, 3] * 2
        assert [turn["command"] for turn in turns] == COMMANDS * 2
        assert [turn["score"] for turn in turns][2] == 2  # for the walk north
        assert list(turns[0]) == list(TurnRow._fields)


def test_what_a_person_told_the_player_stands_beside_the_turn(tmp_path: Path) -> None:
    folder = made_up(tmp_path / "out", {"whole": {1: [5]}})
    (key,) = cells_of(agreed_in(folder))
    hints = [event("hint", turn=2, text=text) for text in ("Open it.", "Go up.")]
    late = event("hint", turn=4, text="Too late.")
    write(folder / key.place, [start(), turn(1, 1), *hints, turn(2, 2), turn(3, 3), late])
    assert main(["export", str(folder)]) == 0
    with (folder / "turns.csv").open(encoding="utf-8", newline="") as file:
        assert [line["hint"] for line in csv.DictReader(file)] == ["", "Open it.\nGo up.", ""]
    with (folder / "episodes.csv").open(encoding="utf-8", newline="") as file:
        assert [line["hints"] for line in csv.DictReader(file)] == ["3"]


@pytest.mark.parametrize("read", READERS)
def test_texts_keep_their_lines_and_quotes(
    tmp_path: Path, read: Callable[[Path, str], list[Lines]]
) -> None:
    (tmp_path / "turns.csv").write_bytes(csv_of(TurnRow, [TURN]))
    (tmp_path / "turns.parquet").write_bytes(parquet_of(TurnRow, [TURN]))
    for lines in read(tmp_path, "turns"):
        assert lines == [TURN._asdict()]


def test_a_column_keeps_its_type_where_nothing_in_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "episodes.parquet").write_bytes(parquet_of(EpisodeRow, []))
    import polars as pl

    frame = pl.read_parquet(tmp_path / "episodes.parquet")
    assert frame.schema["moves"] == pl.Int64
    assert frame.schema["cost"] == pl.Float64
    assert frame.schema["finished"] == pl.Boolean


def test_an_episode_that_was_not_played_has_a_line_of_its_own(tmp_path: Path) -> None:
    agreed = (
        '{"name": "n", "variants": ["whole"], "seeds": [1], "episodes": 1, "configuration": {}, '
        '"protocol": {"name": "strict", "sha256": "abc"}}'
    )
    (tmp_path / PLAN_FILE).write_text(agreed)
    assert main(["export", str(tmp_path)]) == 0
    with (tmp_path / "episodes.csv").open(encoding="utf-8", newline="") as file:
        (line,) = csv.DictReader(file)
    assert (line["protocol"], line["protocol_sha256"]) == ("strict", "abc")
    assert (line["finished"], line["turns"], line["score"], line["moves"]) == ("false", "0", "", "")


def test_without_pyarrow_a_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    agreed = '{"name": "n", "variants": [], "seeds": [], "episodes": 1, "configuration": {}}'
    (tmp_path / PLAN_FILE).write_text(agreed)
    assert main(["export", str(tmp_path), "--format", "parquet"]) == 2
    assert "uv sync --extra parquet" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [PLAN_FILE]


def test_a_folder_without_an_evaluation_is_said_to_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(tmp_path)]) == 2
    assert f"There is no evaluation in {tmp_path}" in capsys.readouterr().err


def test_the_documentation_knows_the_columns() -> None:
    documentation = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    columns = {*EpisodeRow._fields, *TurnRow._fields}
    assert {name for name in columns if f"`{name}`" not in documentation} == set()
    assert "--extra parquet" in documentation
