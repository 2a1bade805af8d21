"""A fleet: its limits, how logs travel, and that whoever takes an episode up goes on with it."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from evaluation.commands import play as playing
from evaluation.commands.play import refuse_guests
from evaluation.figures import EpisodeFigures
from evaluation.fleet import cluster
from evaluation.fleet.channel import AGAIN, ASK, SPEND, ParentChannel, serve
from evaluation.fleet.file_sync import Growth, Piece, packed, put, unpack
from evaluation.fleet.folder import own_folder
from evaluation.fleet.limits import USED_UP, WINDOW_SECONDS, Limits
from evaluation.fleet.on_ray import Coordinator, databases_of
from evaluation.fleet.worker import Order, play
from evaluation.plan import Cell, Plan, Variant
from evaluation.progress import ProgressBars
from game_interface import open_game
from mcp_ghost.messages import Usage
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply
from scripts.evaluate import parser_of
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.event_log import EVENTS_FILE
from storage.episode_knowledge import Episode, EpisodeKnowledge
from storage.store import Store
from tests.evaluation.evaluations import Evaluation, Model
from tests.support import PATIENCE
from tests.support.postgres import new_database
from tests.support.stored import configuration

pytestmark = pytest.mark.mcp
FREE = (None, None, 0.0)
VARIANT = Variant("random", player="random")
CELL = Cell("random", 1, 1)


def test_no_minute_sees_more_requests_than_the_limit() -> None:
    now = 0.0
    limits = Limits(3, clock=lambda: now)
    sent = []
    for pause in (0.0, 0.0, 20.0, 0.0, 0.0, 5.0, 0.0, 90.0, 0.0):
        now += pause
        wait = limits.answer(ASK)
        assert wait is not None
        sent.append(now + wait)
    assert sent == sorted(sent)
    assert all(
        later - sooner >= WINDOW_SECONDS for sooner, later in zip(sent, sent[3:], strict=False)
    )
    assert sent[:3] == [0.0, 0.0, 20.0]  # and nobody waits without need


def test_what_earlier_runs_cost_counts_and_a_used_up_budget_lets_nothing_pass() -> None:
    limits = Limits(dollars=1.0, spent=0.7)
    assert limits.answer(ASK) == 0.0
    limits.answer(SPEND, 0.2)
    assert limits.answer(ASK) == 0.0
    limits.answer(SPEND, 0.2)
    assert limits.answer(ASK) is None
    assert limits.used_up


def test_an_episodes_files_arrive_as_they_grow(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    unpack({EVENTS_FILE: b"one\n", "notes.jsonl": b"a\nb\n"}, here)
    unpack(packed(here), there)
    growth = Growth(here)
    assert list(growth.pieces()) == []
    with (here / EVENTS_FILE).open("ab") as file:
        file.write(b"two\nthr")  # the last line is not finished
    (here / "new").write_bytes(b"replaced")
    (here / "new").replace(here / "notes.jsonl")
    pieces = list(growth.pieces())
    assert pieces == [Piece("notes.jsonl", 0, b"replaced"), Piece(EVENTS_FILE, 4, b"two\n")]
    for piece in pieces:
        put(piece, there)
    assert packed(there) == {EVENTS_FILE: b"one\ntwo\n", "notes.jsonl": b"replaced"}
    assert list(growth.pieces()) == []
    (here / EVENTS_FILE).write_bytes(b"one\n")  # cut by whoever went on with it
    (cut,) = growth.pieces()
    put(cut, there)
    assert (there / EVENTS_FILE).read_bytes() == b"one\n"


@pytest.mark.parametrize("piece", [Piece("log", 9, b"x"), Piece("../log", 0, b"x")])
def test_a_piece_with_a_gap_or_of_another_folder_is_refused(tmp_path: Path, piece: Piece) -> None:
    with pytest.raises(ValueError, match=r"is missing|not the name"):
        put(piece, tmp_path / "episode")


def test_only_the_latest_try_at_an_episode_counts() -> None:
    coordinator = Coordinator(*FREE)
    coordinator.expect("e", 1)
    assert coordinator.deliver("e", 1, [Piece("log", 0, b"one")])
    coordinator.expect("e", 2)
    assert not coordinator.deliver("e", 1, [Piece("log", 3, b"late")])
    assert not coordinator.wanted("e", 1)
    assert coordinator.news()[0] == [("e", Piece("log", 0, b"one"))]
    assert coordinator.news()[0] == []


def plan_of(folder: Path, **settings: Any) -> Plan:  # noqa: ANN401  of any field
    with open_game("bundled") as game:
        story = game.story
    fields = {"max_turns_per_episode": 6, **settings}
    config = GameConfiguration.model_validate(fields)
    return Plan("fleet", folder, config, {"": story}, (VARIANT,), (1,), 1, carry_over=False)


def order_of(plan: Plan, number: int, cell: Cell = CELL) -> Order:
    job = plan.job(cell, None)
    job["settings"] = {**job["settings"], "story": "/nowhere/here.z5"}
    folder = plan.folder(cell)
    place = str(folder.relative_to(plan.out))
    story = plan.stories[cell.game].path.read_bytes()
    return Order("e", number, place, job, packed(folder), story, b"", "/nowhere")


class Node:
    """Plays with a coordinator at hand; its network may fail."""

    def __init__(self, plan: Plan, coordinator: Coordinator) -> None:
        self.plan, self.coordinator, self.cell = plan, coordinator, CELL
        self.after: Callable[[], None] = lambda: None

    def ask(self, name: str, *arguments: Any) -> object:  # noqa: ANN401  those of the coordinator
        answer = getattr(self.coordinator, name)(*arguments)
        for _, piece in self.coordinator.news()[0]:
            put(piece, self.plan.folder(self.cell))
        self.after()
        return answer

    def turns(self) -> list[int]:
        log = (self.plan.folder(self.cell) / EVENTS_FILE).read_text().splitlines()
        events = [json.loads(line) for line in log]
        return [event["turn"] for event in events if event["event_type"] == "turn"]


def test_a_lost_workers_episode_goes_on_from_its_last_finished_turn(tmp_path: Path) -> None:
    """As the driver sees it: the first node is cut off in the middle, the second has only bytes."""
    node = Node(plan_of(tmp_path / "out"), Coordinator(*FREE))
    node.coordinator.expect("e", 1)
    kept: list[int] = []

    def cut_off() -> None:
        if (node.plan.folder(CELL) / EVENTS_FILE).is_file() and len(node.turns()) == 3:
            kept[:] = node.turns()
            node.coordinator.expect("e", 2)

    node.after = cut_off
    failure, _ = play(order_of(node.plan, 1), node.ask)
    assert failure
    assert node.turns() == kept == [1, 2, 3]  # what came too late is not there
    node.after = lambda: None
    assert play(order_of(node.plan, 2), node.ask) == ("", "")
    assert node.turns() == [1, 2, 3, 4, 5, 6]
    figures = EpisodeFigures.read(node.plan.folder(CELL))
    assert (figures.finished, figures.end_reason) == (True, "max_turns")


@pytest.mark.soak
def test_a_budget_and_a_rate_hold_for_the_evaluation_and_more_money_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def paid(_: ModelRequest) -> Reply:
        reply = content_reply("wait")
        assert isinstance(reply.body, dict)
        reply.body["usage"] = {"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.5}
        return reply

    with ModelServer(paid) as server:
        evaluation = Evaluation(tmp_path, server.base_url)
        flags = ["--story", "bundled", "--base-url", server.base_url, "--model", "scripted"]
        flags += ["--player", "chat", "--turns", "2", "--jobs", "1", "--seeds", "1,2"]
        assert evaluation.run_here(monkeypatch, *flags, "--max-cost", "1.5") == 1
        assert len(server.requests) == 3
        said = capsys.readouterr().err
        assert (USED_UP in said, "--max-cost has no effect" in said) == (True, False)
        assert evaluation.turns() == {
            "chat/seed-1/episodes/episode-1": [1, 2],
            "chat/seed-2/episodes/episode-1": [1],
        }
        assert evaluation.run_here(monkeypatch, *flags, "--max-cost", "1.6") == 0
        assert len(server.requests) == 4
    provenance = evaluation.results["provenance"]
    assert (provenance["requests"], provenance["cost"]) == (4, 2.0)


@pytest.mark.parametrize("place", ["rays", "ray://", "ray://host", "ray://a:b", "ray://u@h:1"])
def test_an_unknown_place_names_the_known_ones(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parser_of("play").parse_args(["--on", place])
    assert caught.value.code == 2
    assert "local, ray, or ray://HOST:PORT" in capsys.readouterr().err


def test_without_ray_a_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigurationError, match="uv sync --extra fleet"):
        cluster.import_ray()


def test_whoever_loses_the_cluster_is_told_what_is_kept_and_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class LostError(Exception): ...

    ray = SimpleNamespace(
        exceptions=SimpleNamespace(RayError=LostError), cluster_resources=lambda: {"CPU": 1}
    )
    monkeypatch.setattr(playing, "cluster", lambda *_: nullcontext(ray))
    monkeypatch.setattr("evaluation.fleet.on_ray.RayExecutor", lambda *_: None)
    flags = parser_of("play").parse_args(["--story", "bundled", "--on", "ray"])
    with (
        pytest.raises(LostError) as caught,
        playing.executor_of(plan_of(tmp_path), flags, {}, Console(quiet=True), 0),
    ):
        raise LostError("The actor died.")
    assert caught.value.__notes__ == ["What was played is kept; the same command continues it."]


@pytest.mark.parametrize(("cost", "told"), [(0.0, 1), (0.5, 0)])
def test_a_budget_in_dollars_that_nobody_can_watch_is_told_of_once(
    tmp_path: Path, cost: float, told: int
) -> None:
    played, said = EpisodeFigures(), StringIO()
    played.billed = Usage(calls=3, cost=cost)
    with ProgressBars(Console(file=said), plan_of(tmp_path), {CELL: 0}, max_cost=1.0) as progress:
        for _ in range(2):
            progress.ended(CELL, played, "")
    assert said.getvalue().count("--max-cost has no effect") == told


def test_limits_that_would_not_hold_for_a_guest_are_refused() -> None:
    flags = argparse.Namespace(requests_per_minute=None, max_cost=1.0)
    guest = Variant("mcp", player="mcp", command="agent")
    with pytest.raises(ConfigurationError, match="--max-cost cannot limit"):
        refuse_guests((guest,), flags)
    refuse_guests((VARIANT,), flags)


def test_knowledge_needs_a_database_that_all_nodes_reach(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert databases_of(plan, shared=True) == {}
    plan = Plan(**{**vars(plan), "carry_over": True})
    with pytest.raises(ConfigurationError, match="ZORKGPT_STORAGE_DATABASE_URL"):
        databases_of(plan, shared=True)
    (url,) = databases_of(plan, shared=False).values()
    assert url == f"sqlite:///{plan.workdir(CELL).resolve()}/knowledge.db"


def test_each_variant_and_seed_has_a_schema_that_is_empty_until_it_has_begun(
    tmp_path: Path,
) -> None:
    base = vars(plan_of(tmp_path, storage_database_url=new_database()))
    plan = Plan(**{**base, "carry_over": True, "seeds": (1, 2)})
    first, second = databases_of(plan, shared=True).values()
    assert first != second
    unpack({EVENTS_FILE: b""}, plan.folder(CELL))
    for url in (first, second):
        with Store(configuration(tmp_path, url)) as store:
            store.put(EpisodeKnowledge(Episode("aaaaaa", "e", "s", "s", "m", 1, "2031-01-01")))
    assert list(databases_of(plan, shared=True).values()) == [first, second]
    kept = []
    for url in (first, second):
        with Store(configuration(tmp_path, url)) as store:
            kept.append(len(store.episodes()))
    assert kept == [1, 0]  # the second is an evaluation that begins anew


def test_a_folder_that_a_sweeping_worker_took_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def swept_at_first(*, prefix: str) -> str:
        made.append(make(prefix=prefix, dir=tmp_path))
        if len(made) == 1:
            Path(made[0]).rmdir()
        return made[-1]

    make = tempfile.mkdtemp
    monkeypatch.setattr(tempfile, "mkdtemp", swept_at_first)
    with own_folder("test-") as own:
        assert [str(own)] == made[1:]
        assert own.is_dir()
    assert not own.exists()


def test_what_a_killed_program_left_is_removed_and_what_is_in_use_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = Path(tempfile.mkdtemp(prefix="test-"))
    (left / "log").write_text("of somebody who was killed")
    with own_folder("test-") as one, own_folder("test-") as other:
        assert sorted(tmp_path.iterdir()) == sorted([one, other])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("place", "file", "mode"),
    [("ray", False, "token"), ("ray://h:1", True, "token"), ("ray://h:1", False, None)],
)
def test_a_token_is_shown_where_there_is_one_and_none_is_left_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, *, file: bool, mode: str | None
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    if file:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("abc")
    cluster._sign_in(place)
    assert os.environ.get("RAY_AUTH_MODE") == mode
    assert bool(os.environ.get("RAY_AUTH_TOKEN")) == (place == "ray")


def test_what_a_stopped_episode_still_has_to_tell_arrives(tmp_path: Path) -> None:
    """Else what it had spent since its last turn would be missing from the budget of the next run.

    The driver is interrupted while the episode waits for its model.
    """
    model = Model()
    model.wait_from(3)
    with ModelServer(model) as server:
        plan = plan_of(tmp_path, client_base_url=server.base_url, agent_model="scripted")
        plan = Plan(**{**vars(plan), "variants": (Variant("chat", player="chat"),)})
        node = Node(plan, Coordinator(*FREE))
        node.cell = Cell(plan.variants[0].name, 1, 1)
        node.coordinator.expect("e", 1)

        def interrupt() -> None:
            model.waiting.wait(PATIENCE)
            node.coordinator.stop("e")

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        failure, _ = play(order_of(plan, 1, node.cell), node.ask)
        interrupting.join()
        assert failure
        assert node.turns() == [1, 2]
        assert EpisodeFigures.read(plan.folder(node.cell)).end_reason == "aborted"
        assert play(order_of(plan, 1, node.cell), node.ask)[0] == "it was stopped before it began"


async def test_a_request_that_waited_its_turn_is_not_sent_if_the_money_went_meanwhile() -> None:
    now = 0.0
    limits = Limits(1, 1.0, clock=lambda: now)
    assert limits.answer(ASK) == 0.0  # somebody else's, which is still under way
    now = WINDOW_SECONDS - 0.1

    def answer(what: str, _: float) -> float | None:
        if what == ASK:
            wait = limits.answer(ASK)
            limits.answer(SPEND, 1.0)
            return wait
        return limits.answer(AGAIN)

    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    ours, theirs = socket.socketpair()
    serve(ours, {"episode": "e"}, answer)
    line = ParentChannel(theirs)
    with line._socket, line._file:
        assert line.orders() == {"episode": "e"}
        admitted = asyncio.ensure_future(line.admit())
        await asyncio.wait_for(ended.wait(), PATIENCE)
        assert not admitted.done()
        admitted.cancel()
