"""What is played: variants, the order of episodes, and what each of them is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from evaluation.plan import CHOICES, PLAN_FILE, TOOLS, Cell, Plan, Variant, variants_of
from game_interface import open_game
from mcp_ghost.providers.hosted import HOSTED
from orchestration.parts import PARTS
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE
from tests.support import ROOT

SERVERS = str(ROOT / "mcp_config.json")
with open_game("bundled", seed=1) as game:
    STORY = game.story


def plan(out: Path, *, carry_over: bool = False, **settings: object) -> Plan:
    all_parts = {"mcp_enabled": True, "mcp_config_file": SERVERS, "reflection_enabled": True}
    config = GameConfiguration.model_validate({**all_parts, **settings})
    variants = variants_of(config, [], each=True)
    return Plan("mine", out, config, {"": STORY}, variants, (3, 1), 2, carry_over)


def configuration(plan: Plan, cell: Cell, threads: int | None = None) -> GameConfiguration:
    """What the process of an episode makes of its orders, which reach it as JSON."""
    job = json.loads(json.dumps(plan.job(cell, threads)))
    return GameConfiguration.model_validate(job["settings"])


def test_each_variant_switches_off_its_parts_and_no_other(tmp_path: Path) -> None:
    played = plan(tmp_path)
    changed = ["with-critic", "tools-notes"]
    names = ["whole", *(f"without-{part}" for part in CHOICES), *changed, "bare"]
    assert [variant.name for variant in played.variants] == names
    for variant in played.variants:
        config = configuration(played, Cell(variant.name, 1, 1))
        off = {part.name for part in PARTS.values() if not part.is_on(config)}
        off |= set() if config.mcp_enabled else {TOOLS}
        assert config.critic_enabled == (variant.name == "with-critic")
        assert config.mcp_servers == (("notes",) if variant.name == "tools-notes" else ())
        expected = {"bare": set(CHOICES), "whole": set[str](), **{name: set() for name in changed}}
        assert off == expected.get(variant.name, {variant.name.removeprefix("without-")})


def test_every_part_is_a_setting_of_its_own() -> None:
    assert {part.setting for part in PARTS.values()} <= GameConfiguration.model_fields.keys()


def test_parts_that_are_off_anyway_are_neither_left_out_nor_asked_for() -> None:
    config = GameConfiguration(map_enabled=False)
    names = [variant.name for variant in variants_of(config, [], each=True)]
    assert not {"without-map", "without-tools"} & set(names)
    for part, hint in (("map", "map_enabled to true"), ("tools", "add --mcp")):
        with pytest.raises(ConfigurationError, match=hint):
            variants_of(config, [part], each=False)


def test_each_tool_server_is_played_alone_unless_it_is_played_so_anyway() -> None:
    for used, others in (
        ((), ["tools-notes"]),
        (("notes",), ["tools-thoughtbox"]),
        (("thoughtbox", "notes"), ["tools-thoughtbox", "tools-notes"]),
    ):
        config = GameConfiguration(mcp_enabled=True, mcp_config_file=SERVERS, mcp_servers=used)
        variants = variants_of(config, [], each=True)
        assert [it.name for it in variants if it.servers] == others
        assert "without-tools" in [it.name for it in variants]


def test_a_part_named_twice_is_one_variant() -> None:
    variants = variants_of(GameConfiguration(), ["map", "memories", "map"], each=False)
    assert variants == (
        Variant("whole"),
        Variant("without-map", ("map",)),
        Variant("without-memories", ("memories",)),
    )


def test_each_episode_has_its_seed_and_a_place_of_its_own(tmp_path: Path) -> None:
    played = plan(tmp_path)
    folders = {played.folder(cell) for cell in played.cells}
    assert len(folders) == len(played.cells) == 13 * 2 * 2
    cell = Cell("whole", 3, 2)
    assert played.folder(cell) == tmp_path / "whole" / "seed-3" / "episodes" / "episode-2"
    config = configuration(played, cell)
    assert (config.seed, config.story) == (3, str(STORY.path))
    assert Path(config.workdir) / "episodes" / "episode-2" == played.folder(cell)


def test_episodes_are_independent_unless_knowledge_is_carried_over(tmp_path: Path) -> None:
    lines = list(plan(tmp_path).lines())
    assert {len(line) for line in lines} == {1}
    assert [(line[0].seed, line[0].number) for line in lines[:26:13]] == [(3, 1), (1, 1)]
    carrying = plan(tmp_path, carry_over=True)
    rows = list(carrying.lines())
    assert len(rows) == 13 * 2
    for row in rows:
        assert [cell.number for cell in row] == [1, 2]
        assert len({(cell.variant, cell.seed) for cell in row}) == 1


@pytest.mark.parametrize("carry_over", [True, False])
def test_only_what_is_carried_over_is_stored_and_then_below_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, carry_over: bool
) -> None:
    monkeypatch.setenv("ZORKGPT_STORAGE_DATABASE_URL", "sqlite:///everybodys.db")
    played = plan(tmp_path, carry_over=carry_over)
    config = configuration(played, played.cells[0])
    assert (config.storage_enabled, config.storage_carry_over) == (carry_over, carry_over)
    assert config.storage_database_url is None


def test_orders_and_agreement_hold_no_key_but_an_episode_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = [name for hosted in HOSTED for name in hosted.key_variables]
    for name in ("ZORKGPT_CLIENT_API_KEY", *own):
        monkeypatch.setenv(name, f"made-up-{name}")
    body = {"web": {"api_key": "sesame-street"}}
    address = "https://user:sesame@example.org/v1"
    played = plan(tmp_path, client_base_url=address, agent_extra_body=body)
    assert "made-up" not in json.dumps(played.job(played.cells[0], None))
    assert "made-up" not in json.dumps(played.agreement())
    assert "sesame" not in json.dumps(played.agreement())
    config = configuration(played, played.cells[0])
    assert {f"made-up-{name}" for name in ("ZORKGPT_CLIENT_API_KEY", *own)} <= {*config.secrets}
    assert config.agent_extra_body == body


def test_threads_are_shared_unless_they_are_configured(tmp_path: Path) -> None:
    played, configured = plan(tmp_path), plan(tmp_path, local_threads=3)
    assert configuration(played, played.cells[0], threads=1).local_threads == 1
    assert configuration(configured, configured.cells[0], threads=1).local_threads == 3


def test_an_episode_with_a_log_is_resumed(tmp_path: Path) -> None:
    played = plan(tmp_path)
    cell = played.cells[0]
    assert played.job(cell, None)["resume"] is False
    played.folder(cell).mkdir(parents=True)
    (played.folder(cell) / EVENTS_FILE).touch()
    assert played.job(cell, None)["resume"] is True


def test_the_agreement_means_the_same_on_every_machine(tmp_path: Path) -> None:
    for place in (tmp_path, Path()):
        shutil.copyfile(SERVERS, place / "servers.json")
    there = plan(tmp_path / "a", mcp_config_file=str(tmp_path / "servers.json"), local_threads=2)
    here = plan(tmp_path / "b", mcp_config_file="servers.json", workdir="elsewhere")
    assert there.agreement() == here.agreement()
    assert str(tmp_path) not in json.dumps(there.agreement())
    assert there.agreement()["endpoint"] == "this machine"


def test_an_agreement_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    (tmp_path / PLAN_FILE).write_text("{}")
    with pytest.raises(ConfigurationError, match="choose another --out"):
        plan(tmp_path).agree()
