"""Many games in one evaluation: what is at hand, shards and their merging, one table."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.bootstrap import Estimate
from evaluation.plan import cells_of
from evaluation.suites.suite import SHIPPED, Suite
from game_interface.catalogue import known_games
from game_interface.story import find_story
from mcp_ghost.testing import ModelServer
from scripts.evaluate import main
from tests.evaluation.evaluations import Model
from tests.support import FOREVER, ROOT
from tests.support.program import Program

SCORES = (0, 0, 0, 5, 5, 5, 10, 10, 15, 25)
BUNDLED = find_story("bundled")
FAST = ["--player", "random", "--player", "first-exit", "--turns", "3", "--seeds", "1,2"]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """A folder with the bundled story, and one of which nothing is known but its achievements."""
    folder = tmp_path / "games"
    folder.mkdir()
    story = BUNDLED.info.path.read_bytes()
    (folder / "known.z5").write_bytes(story)
    (folder / "again.z5").write_bytes(story)
    (folder / "other.z5").write_bytes(story[:18] + b"111111" + story[24:])
    (folder / "other.achievements.tsv").write_text("north\tyou are\nfar\troom=Nowhere\n")
    (folder / "readme.txt").write_text("no story")
    return folder


def evaluate(*flags: str | Path) -> int:
    return main(["--jobs", "2", *map(str, flags)])


def tables(folder: Path) -> str:
    """What the results show, without the folder's own name."""
    return (folder / "results.md").read_text()


@pytest.mark.mcp
def test_a_suite_is_one_table_however_it_was_divided(
    tmp_path: Path, games: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    play = ["--suite", str(games), *FAST]
    assert evaluate(*play, "--out", "whole") == 0
    for shard in (1, 2, 3):
        assert evaluate(*play, "--shard", f"{shard}/3", "--out", f"part-{shard}") == 0
    assert main(["merge", "merged", "part-1", "part-2"]) == 2
    assert "Shard 3/3 is missing, with other, seed 1: name all of them." in (
        said := capsys.readouterr().err
    ), said
    shutil.copytree("part-1", "copied")
    assert main(["merge", "merged", "part-1", "copied", "part-2", "part-3"]) == 2
    assert "The shard 1/3 appears more than once, in part-1 and copied" in capsys.readouterr().err
    assert main(["merge", "merged", "part-1", "part-2", "part-3"]) == 0
    assert tables(Path("merged")) == tables(Path("whole"))
    results = json.loads(Path("whole/results.json").read_text())
    rows = {(it["game"], it["variant"]): it for it in results["games"]}
    assert list(rows) == [
        (game, player) for game in ("again", "other") for player in ("random", "first-exit")
    ]
    assert rows["again", "random"]["max_score"] == 100
    assert rows["other", "random"]["mean"]["score"] is None
    assert rows["other", "first-exit"]["mean"]["progress"]["mean"] in (0, 50)
    assert results["variants"][0]["games"] == 2
    assert "DISAGREE" not in results["statement"]
    assert main(["compare", "whole", "merged"]) == 0
    assert main(["export", "merged"]) == 0
    assert "other,first-exit,2,1" in Path("merged/episodes.csv").read_text()


@pytest.mark.mcp
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_twenty_games_killed_twice_or_in_three_shards_have_the_tables_of_an_undisturbed_run(
    tmp_path: Path, model: Model, server: ModelServer
) -> None:
    """``SOAK_SUITE=free-20``, with ``STORIES_DIR``, plays other people's games."""
    suite = os.environ.get("SOAK_SUITE", "twenty")
    story = BUNDLED.info.path.read_bytes()
    (tmp_path / "twenty").mkdir()
    for number in range(20):  # the serial number makes it another image
        image = story[:18] + f"{number:06}".encode() + story[24:]
        (tmp_path / "twenty" / f"game-{number}.z5").write_bytes(image)
    program = Program(tmp_path, str(ROOT / "scripts" / "evaluate.py"))
    play = ["--suite", suite, "--player", "model", "--player", "random", "--player", "first-exit"]
    play += ["--seeds", "1,2", "--turns", "15", "--jobs", "2", "--base-url", server.base_url]
    play += ["--model", "scripted"]

    def played(*flags: str) -> int:
        process = program.start(*flags)
        errors = process.communicate(timeout=FOREVER)[1]
        assert "Traceback" not in errors
        return process.returncode

    assert played(*play, "--out", "whole") == 0
    for requests in (150, 200):
        model.wait_from(requests)
        process = program.start(*play, "--out", "killed")
        assert model.waiting.wait(FOREVER)
        process.kill()
        process.communicate()
        assert program.leftovers() == []
        model.go_on()
    assert played(*play, "--out", "killed") == 0
    shards = ["1/3", "2/3", "3/3"]
    for shard in shards:
        assert played(*play, "--shard", shard, "--out", f"part-{shard[0]}") == 0
    assert played("merge", "merged", *(f"part-{shard[0]}" for shard in shards)) == 0
    for other in ("killed", "merged"):
        assert tables(tmp_path / other) == tables(tmp_path / "whole")


def test_what_is_not_at_hand_is_listed_before_anything_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STORIES_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mine.toml").write_text(
        f'games = ["zork2", {{name = "bundled", sha256 = "{BUNDLED.info.sha256}"}}]'
    )
    assert evaluate("--suite", "mine.toml", *FAST, "--out", "out") == 2
    said = capsys.readouterr().err
    assert "1 of the 2 games of the suite mine cannot be played:" in said
    assert f"zork2: SHA-256 {known_games()['zork2'].image}, from https://github.com/" in said
    assert "--at-hand" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        (["--suite", "jerico"], "did you mean 'jericho'?"),
        (["--suite", "empty"], "There is no story file in empty"),
        (["--suite", "twice.toml"], "listed twice: a"),
        (["--suite", "wrong.toml"], "there is no known game 'zork12' (did you mean 'zork2'?)"),
        (["--suite", "bad.toml"], "The suite bad.toml cannot be read"),
        (["--suite", "gone.toml"], "gone: there is no story file at gone.z5"),
        (["--suite", "jericho", "--story", "zork1"], "--story is for one story"),
        (["--suite", "jericho", "--fork", "latest@3"], "--fork is for one story"),
        (["--at-hand"], "add --suite"),
        (["--suite", "jericho", "--shard", "4/3"], "'4/3' is not a part such as 2/5"),
        (["--suite", "jericho", "--player", "walkthrough"], "--walkthrough FOLDER"),
        (["--suite", "jericho", "--player", "rando"], "did you mean 'random'?"),
        (["--suite", "jericho", "--protocol", "tales-10"], "did you mean 'tales-100'?"),
        (["--suite", "tales-jericho", "--turns", "50"], "--turns contradicts the protocol"),
        (["--suite", "jericho", "--on", "mars"], "'mars' is not a place to play"),
        (["--story", "bundled", "--model", "gpt-5"], "The model gpt-5 cannot be asked"),
        (["--story", "bundled", "--player", "random", "--without", "map"], "add --player model"),
        (["--story", "bundled", "--player", "chat", "--hints", "none"], "There are no hints"),
        (["report", "empty"], "evaluation.json is missing"),
        (["merge", "into"], "required: A (--help shows all)"),
        (["measure", "nothing"], "There is no episode 'nothing'"),
    ],
)
def test_a_wrong_use_is_one_clear_line(
    flags: list[str], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "twice.toml").write_text('games = [{name = "a"}, {name = "a"}]')
    (tmp_path / "wrong.toml").write_text('games = ["zork12"]')
    (tmp_path / "bad.toml").write_text("games = [")
    (tmp_path / "gone.toml").write_text('games = [{name = "gone", file = "gone.z5"}]')
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    try:
        code = main([*flags, "--out", "out"] if flags[0].startswith("--") else flags)
    except SystemExit as error:  # from the command line's own parser
        code = int(error.code or 0)
    assert code == 2
    first, *more = capsys.readouterr().err.splitlines()
    assert first.startswith("evaluate.py")
    assert bool(more) == ("cannot be played:" in first)  # then they are listed
    assert hint in " ".join([first, *more])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", SHIPPED)
def test_every_suite_that_comes_with_us_can_be_read(name: str) -> None:
    suite = Suite.read(name)
    assert suite.about
    assert all(game.sha256 and (game.at or suite.at) for game in suite.games)
    hashes = [game.sha256 for game in suite.games]
    assert len(set(hashes)) == len(hashes)


def test_shards_are_disjoint_and_whole() -> None:
    agreed = {
        "stories": dict.fromkeys("abcde"),
        "variants": ["x", "walkthrough"],
        "walkthroughs": {"b": "0"},
        "seeds": [1, 2, 3],
        "episodes": 2,
    }
    whole = list(cells_of(agreed))
    assert len(whole) == (5 + 1) * 3 * 2
    parts = [list(cells_of({**agreed, "shard": [it, 4]})) for it in (1, 2, 3, 4)]
    assert sorted(key for part in parts for key in part) == sorted(whole)
    assert {len({key.row for key in part if key.variant == "x"}) for part in parts} <= {3, 4}


def alike(dice: random.Random, game: float) -> float:
    return game + dice.gauss(0, 1)


def skewed(dice: random.Random, game: float) -> float:
    return game + 0.3 * (dice.choice(SCORES) - statistics.fmean(SCORES))


@pytest.mark.parametrize("games", [8, 20])
@pytest.mark.parametrize(
    ("of_game", "of_seed"),
    [
        (lambda dice: dice.gauss(0, 1), alike),
        (lambda dice: dice.choice(SCORES) - statistics.fmean(SCORES), skewed),
        (lambda _dice: 0.0, alike),
    ],
)
def test_an_interval_over_games_holds_the_true_mean_about_as_often_as_it_says(
    games: int,
    of_game: Callable[[random.Random], float],
    of_seed: Callable[[random.Random, float], float],
) -> None:
    dice = random.Random(games)
    held = []
    for _ in range(200):
        means = [(str(game), of_game(dice)) for game in range(games)]
        values = [(game, seed, of_seed(dice, it)) for game, it in means for seed in range(5)]
        estimate = Estimate.over_games(values, 1000)
        low, high = (estimate and estimate.interval) or (1, -1)
        held.append(low <= 0 <= high)
    # Of games that do not differ, seeds alone make the spread; plain drawing twice would hold all.
    assert 0.88 <= statistics.fmean(held) <= 0.99


def test_each_game_counts_once_and_few_games_have_no_interval() -> None:
    values = [("a", 1, 0.0), ("a", 2, 0.0), ("a", 3, 0.0), ("b", 1, 10.0)]
    estimate = Estimate.over_games(values)
    assert estimate is not None
    assert (estimate.mean, estimate.games, estimate.seeds) == (5, 2, 4)
    assert estimate.interval is None
    many = [(str(game), seed, float(game + seed)) for game in range(9) for seed in range(3)]
    shuffled = random.Random(1).sample(many, len(many))
    assert Estimate.over_games(many) == Estimate.over_games(shuffled)
