"""Tables of results, where they are printed."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from evaluation.outcome.tables import Table, means

HEADER = ("variant", *(f"figure number {number}" for number in range(1, 13)))


@pytest.mark.parametrize("width", [80, 120, 400])
def test_no_word_of_a_table_is_cut_however_narrow_the_terminal_is(width: int) -> None:
    rows = [[f"without part {row}", *["12.5 [3, 14]"] * 12] for row in range(9)]
    output = io.StringIO()
    Console(file=output, width=width).print(Table("Play", HEADER, rows).rich(width))
    lines = output.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in output.getvalue()
    assert output.getvalue().count("12.5 [3, 14]") == 9 * 12
    assert all(row[0] in output.getvalue() for row in [HEADER, *rows])


def test_progress_is_no_share_of_the_games_points() -> None:
    of = {"mean": 40, "low": None, "high": None, "seeds": 1}
    figures = {"variant": "whole", "finished": 1, "mean": {"9": {"score": of, "progress": of}}}
    score, progress = (it for it in means([figures], 9, 50, "") if "maximum" not in it.title)
    assert (score.header[3:], score.rows[0][3:]) == (["mean", "of 50"], ["40", "80%"])
    assert (progress.header[3:], progress.rows[0][3:]) == (["mean"], ["40"])
