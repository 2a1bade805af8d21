"""Protocols: what they pin, what they refuse, and what their page says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evaluation.protocols.protocol import SHIPPED, Protocol, decisive, refuse_flags
from game_interface import open_game
from scripts.evaluate import parser_of
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from tests.support import ROOT

TALES = Protocol.read("tales-100")
PAGE = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w.]+)` \| (.+) \|$", re.MULTILINE)


def edited(folder: Path, old: str, new: str) -> str:
    text = SHIPPED["tales-100"].read_text(encoding="utf-8")
    assert old in text
    path = folder / "mine.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_protocol_pins_every_setting_that_decides_a_figure(name: str) -> None:
    protocol = Protocol.read(name)
    assert protocol.settings.keys() == decisive()
    config = GameConfiguration.model_validate(protocol.settings)
    for field, value in protocol.settings.items():
        assert getattr(config, field) == value


def test_our_own_protocol_is_what_we_do_by_default() -> None:
    ours, usual = Protocol.read("zorkgpt").settings, GameConfiguration.model_fields
    changed = {name for name, value in ours.items() if usual[name].default != value}
    assert changed == {"max_turns_per_episode"}  # of an evaluation, 100


def test_the_page_has_what_each_protocol_pins() -> None:
    """The table of settings, a column for each."""
    names = re.findall(r"`([\w-]+)`", next(it for it in PAGE.splitlines() if it[:9] == "| setting"))
    protocols = [Protocol.read(name) for name in names]
    assert sorted(names) == sorted(SHIPPED)
    told = {field: row.split(" | ") for field, row in ROW.findall(PAGE)}
    expected = {
        **{
            field: [shown(protocol.settings[field]) for protocol in protocols]
            for field in sorted(decisive())
        },
        **{
            f"evaluation.{field}": [
                shown(getattr(protocol.matrix, field)) for protocol in protocols
            ]
            for field in ("seeds", "seeds_are", "dice", "episodes", "carry_over")
        },
    }
    assert told == expected


def shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return (
        "unset" if value is None else str(value).lower() if value in (True, False) else str(value)
    )


@pytest.mark.parametrize("name", SHIPPED)
def test_each_protocol_is_explained(name: str) -> None:
    assert f"## {name}" in PAGE


def test_what_a_protocol_leaves_open_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"leaves open .*: pin agent_temperature"):
        Protocol.read(edited(tmp_path, "temperature = 0.0\ntop_p = 1.0\nmax_tokens", "max_tokens"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("profile =", "profil =", "profil"),
        (
            "[tool.zorkgpt.map]",
            "[tool.zorkgpt.retry]\nmax_attempts = 1\n[tool.zorkgpt.map]",
            "retry",
        ),
        ('seeds_are = "player"', 'seeds_are = "luck"', "seeds_are"),
        ("episodes = 1", "episodes = 0", "episodes"),
        (
            "[tool.zorkgpt.mcp]\nenabled = false",
            "[tool.zorkgpt.mcp]\nenabled = true",
            "mcp_enabled",
        ),
    ],
)
def test_a_wrong_protocol_is_refused_with_the_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        Protocol.read(edited(tmp_path, old, new))


def test_an_unknown_name_says_which_there_are() -> None:
    with pytest.raises(ConfigurationError, match="tales-100"):
        Protocol.read("tales-10")


def test_a_changed_file_has_another_hash(tmp_path: Path) -> None:
    same = Protocol.read(edited(tmp_path, "temperature", "temperature"))
    other = Protocol.read(edited(tmp_path, "temperature = 0.0", "temperature = 0.1"))
    assert (same.name, same.sha256) == ("mine", TALES.sha256)
    assert other.sha256 != TALES.sha256


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--turns", 99, "pins to 100"),
        ("--seeds", (1, 2), "pins to 202411061,"),
        ("--episodes", 2, "pins to 1"),
        ("--mcp", True, "pins to false"),
        ("--carry-over", True, "pins to false"),
        ("--without", ["map"], "does not have"),
        ("--each", True, "does not have"),
    ],
)
def test_a_flag_that_contradicts_the_protocol_is_refused(
    flag: str, value: object, said: str
) -> None:
    assert flag in parser_of("play").format_help()
    name = flag.removeprefix("--").replace("-", "_")
    with pytest.raises(ConfigurationError, match=f"^{flag} contradicts .* {said}"):
        refuse_flags(TALES, {name: value})
    refuse_flags(TALES, {name: None, "turns": 100})


def test_another_story_is_refused() -> None:
    with (
        open_game("bundled", seed=1) as game,
        pytest.raises(ConfigurationError, match="play one of the suite tales-jericho"),
    ):
        TALES.refuse_story(game.story)
