"""The one list of the parts of a mind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from evaluation.plan import variants_of
from main import main
from managers.manager import Manager, Section
from orchestration.parts import PARTS, Part
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from tests.support.episodes import all_text, answer, played

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_ghost.testing import ModelRequest, Reply
    from session.game_state import GameState


def looking(_request: ModelRequest) -> Reply:
    return answer("look")


class Combat(Manager):
    """Tells one thing."""

    def sections(self, state: GameState) -> Iterable[Section]:
        yield Section("Combat", (f"Mind the troll of turn {state.turn_count}.",), 5)


@pytest.fixture(autouse=True)
def combat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PARTS, "combat", Part("combat", lambda *_: Combat()))


@pytest.mark.parametrize("settings", [{}, {"without": ("combat",)}])
def test_a_part_that_is_in_the_list_is_played_with_and_left_out_by_name(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    episode = played(tmp_path, looking, max_turns_per_episode=2, **settings)
    assert ("Mind the troll" in all_text(episode.requests)) == (not settings)
    assert ("combat" in episode.start["parts_off"]) == bool(settings)


def test_both_programs_offer_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    offered = " ".join(capsys.readouterr().out.split())
    assert "objectives, knowledge, ledger, condition, reflection, combat" in offered
    whole, without = variants_of(GameConfiguration(), ["combat"], each=False)
    assert (whole.off, without.off) == ((), ("combat",))


def test_an_unknown_part_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'combat'"):
        played(tmp_path, looking, without=("combats",))
