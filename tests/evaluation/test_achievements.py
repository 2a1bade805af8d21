"""Achievements: what a line may say, what earns one, and how files of them are made."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from evaluation.achievements.achievement import Achievements, sentence_hash, shipped
from evaluation.figures import EpisodeFigures
from game_interface.story import find_story
from scripts.evaluate import main
from scripts.story import make_achievements
from session.configuration_file import ConfigurationError
from session.game_state import ThingSeen
from session.record.schema import parse
from stories.profile import STORIES, find_profile
from tests.evaluation.made_up import event, start
from tests.support.games import BUNDLED_COMMANDS
from tests.support.records import observation, record

Capture = pytest.CaptureFixture[str]


def file_of(folder: Path, *lines: str) -> Path:
    path = folder / "mine.tsv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def earned(achievements: Achievements, response: str = "", **changes: object) -> dict[str, int]:
    """What an episode earns whose second turn leads there."""
    figures = EpisodeFigures()
    figures.achievements = achievements.all
    figures.take(parse(start()))
    for number, text, seen in ((1, "Nothing.", {}), (2, response, changes)):
        after = observation(3, **seen)
        fields = record(number, "look", 1, 3, after, response=text).model_dump(mode="json")
        figures.take(parse(event("turn", **fields)))
    return figures.earned


@pytest.mark.parametrize(
    ("line", "is_earned"),
    [
        ("the grating opens", True),
        ("The GRATING, opens!", True),
        ("grating open", False),
        (f"sentence={sentence_hash('With great effort, the grating opens')}", True),
        (f"sentence={sentence_hash('The grating opens')}", False),
        ("score>=5", True),
        ("score>=6", False),
        ("carrying=Brass Lantern", True),
        ("carrying=lantern", False),
        ("room=#3", True),
        ("room=#1", False),
    ],
)
def test_an_achievement_is_earned_by_words_or_by_facts(
    line: str, tmp_path: Path, *, is_earned: bool
) -> None:
    achievements = Achievements.read(file_of(tmp_path, "# a comment", "", f"it\t{line}"))
    text = "You push.\n\nWith great effort, the grating opens. You may pass."
    found = earned(
        achievements, text, score=5, inventory=(ThingSeen("brass lantern"),), max_score=50
    )
    if line != "room=#3":  # where the first turn led, too
        found = {name: turn for name, turn in found.items() if turn == 2}
    assert ("it" in found) is is_earned


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("no tab", "expected NAME, a tab, and a fact or what the game prints"),
        (
            "hat\twears=hat",
            "no fact 'wears' (choose from room, carrying, score, sentence)",
        ),
        ("hat\tcarying=hat", "did you mean 'carrying'?"),
        ("ten\tscore=10", "write score>=10"),
        ("ten\tscore>=many", "'many' is not a value of score"),
        ("there\troom>=Cellar", "write room=Cellar"),
        ("first\tOpened", "there are two achievements 'first'"),
    ],
)
def test_a_wrong_line_is_named(line: str, hint: str, tmp_path: Path) -> None:
    path = file_of(tmp_path, "first\tTaken", line)
    with pytest.raises(ConfigurationError) as wrong:
        Achievements.read(path)
    assert f"{path}, line 2: " in str(wrong.value)
    assert hint in str(wrong.value)


def test_a_file_without_achievements_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="There are no achievements in"):
        Achievements.read(file_of(tmp_path, "# nothing"))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Achievements.read(tmp_path / "nowhere.tsv")


@pytest.mark.parametrize("path", shipped().values(), ids=lambda path: path.stem)
def test_those_that_come_with_us_can_be_read_and_hold_no_text_of_a_game(path: Path) -> None:
    for it in Achievements.read(path).all:
        assert it.fact  # a fact, or a hash
        assert len(it.value.split()) <= 6


@pytest.mark.parametrize(("image", "path"), shipped().items(), ids=lambda it: Path(it).stem[:16])
def test_what_is_carried_counts_only_where_that_is_known(image: str, path: Path) -> None:
    profile = find_profile(image, [STORIES])
    assert profile
    if profile.lists_more or not profile.player:
        assert all(it.fact != "carrying" for it in Achievements.read(path).all)


@pytest.mark.mcp
def test_they_are_made_from_a_walkthrough_which_earns_all_and_an_old_log_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(make_achievements, "_RANDOM_TURNS", 20)
    commands = BUNDLED_COMMANDS[:40]
    Path("walk.txt").write_text("\n".join(commands))
    path = str(find_story("bundled").info.path)
    flags = ["--walkthrough", "walk.txt", "--most", "8", "--out", "mine.tsv"]
    assert make_achievements.main([path, *flags]) == 0
    achievements = Achievements.read(Path("mine.tsv"))
    assert 4 <= len(achievements.all) <= 8
    assert len({it.fact for it in achievements.all}) > 1
    for folder in make_achievements.played(
        Path(path), "walkthrough", 3, 40, player_commands=tuple(commands)
    ):
        capsys.readouterr()
        assert main(["measure", str(folder), "--achievements", "mine.tsv"]) == 0
        count = len(achievements.all)
        assert f"{count} of {count} earned in 40 turns (100%)" in capsys.readouterr().out
        shutil.copytree(folder, "sent by somebody")  # wherever a log lies
        assert main(["measure", "./sent by somebody", "--achievements", "mine.tsv"]) == 0
    for folder in make_achievements.played(Path(path), "random", 7, 20):
        assert len(EpisodeFigures.read(folder, achievements).earned) <= 1
        assert main(["measure", str(folder)]) == 0  # by those that come with the program


def test_without_a_walkthrough_nothing_is_made(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="2"):
        make_achievements.main([sys.executable])
    assert "give either --walkthrough FILE or --jericho" in capsys.readouterr().err
