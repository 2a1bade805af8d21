"""What the tests of the viewer share: episodes that were really played, and a server."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import httpx2

from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.playing import USES_MODEL
from session.record.event_log import EVENTS_FILE
from terminal.view import Thoughts
from tests.support import PATIENCE
from tests.support.games import BUNDLED_COMMANDS
from viewer.web.cockpit import Cockpit
from viewer.web.watch import watching
from workshop.scripted_model import ScriptedModel

Event: TypeAlias = dict[str, Any]

KEY = "sk-never-to-be-seen"
TURNS = 12
"""Of the recorded episode; it is looked back at after turn 8."""
MEMORY = {
    "turn": 5,
    "category": "discovery",
    "title": "A can for watering",
    "text": "Taking the watering can works.",
    "persistence": "permanent",
}
LEARNED = {
    "memories": [MEMORY],
    "objectives": [{"turn": 5, "text": "Water the dry bed in the garden", "goal_score": 10}],
    "claims": [
        {"turn": 5, "text": "Things that lie about can be taken.", "quote": "", "tested": True}
    ],
}


class Player:
    """Plays the bundled story's solution, and says what it learned whenever it looks back."""

    def __init__(self, gate: Callable[[], object] = lambda: None, pace: float = 0) -> None:
        """``gate`` is passed before each answer, whose words come with ``pace`` between them."""
        self._gate, self._pace = gate, pace
        self._model = ScriptedModel(BUNDLED_COMMANDS)

    def __call__(self, request: ModelRequest) -> Reply:
        self._gate()
        wanted = request.body.get("response_format", {}).get("json_schema", {}).get("name")
        if wanted == "ReflectionAnswer":
            return content_reply(json.dumps(LEARNED))
        return replace(self._model(request), pace=self._pace)


def play(workdir: Path, turns: int, episode: str = "played", **settings: Any) -> Path:  # noqa: ANN401  of any field
    """The folder of an episode that was played with the real engine."""
    gate = settings.pop("gate", lambda: None)
    cockpit: Cockpit | None = settings.pop("cockpit", None)
    told = Thoughts()
    resume = (workdir / "episodes" / episode).exists()
    with ModelServer(Player(gate, settings.pop("pace", 0))) as model:
        values: dict[str, Any] = {
            "client_base_url": model.base_url,
            "client_api_key": KEY,
            "story": "bundled",
            "seed": 7,
            "workdir": str(workdir),
            "max_turns_per_episode": turns,
        }
        config = GameConfiguration(**{**values, **settings})
        watcher: dict[str, Any] = {}
        if cockpit:
            watcher = {"before_turn": cockpit.before_turn, "on_delta": told.take}
        with ZorkOrchestratorV2(episode, config, resume=resume, **watcher) as orchestrator:
            if cockpit:
                hears = orchestrator.config.player_name in USES_MODEL
                cockpit.begin(orchestrator.folder, told, hears=hears)
            orchestrator.play_episode()
            return orchestrator.folder


@cache
def _recorded() -> bytes:
    with TemporaryDirectory() as folder:
        return (play(Path(folder), TURNS, reflection_enabled=True) / EVENTS_FILE).read_bytes()


def recorded(workdir: Path, episode: str = "played") -> Path:
    """The folder of a finished episode of the bundled story."""
    folder = workdir / "episodes" / episode
    folder.mkdir(parents=True)
    (folder / EVENTS_FILE).write_bytes(_recorded())
    return folder


class Gate:
    """Lets a model answer one time for each `open`."""

    def __init__(self) -> None:
        self._tickets = threading.Semaphore(0)

    def __call__(self) -> None:
        if not self._tickets.acquire(timeout=PATIENCE):
            raise TimeoutError("The gate stayed shut.")

    def open(self, times: int = 1) -> None:
        self._tickets.release(times)


@contextmanager
def playing(workdir: Path, turns: int, **settings: Any) -> Iterator[Gate]:  # noqa: ANN401  of any field
    """An episode that is being played meanwhile, turn by turn; to its end when left."""
    gate = Gate()
    thread = threading.Thread(target=play, args=(workdir, turns), kwargs={"gate": gate, **settings})
    thread.start()
    try:
        yield gate
    finally:
        gate.open(10 * turns)
        if cockpit := settings.get("cockpit"):
            cockpit.press("resume")
        thread.join(PATIENCE)
        assert not thread.is_alive()


@contextmanager
def served(workdir: Path) -> Iterator[httpx2.Client]:
    """A client of a server that shows ``workdir``."""
    with (
        watching(workdir, open_browser=False) as address,
        httpx2.Client(base_url=address, timeout=30, trust_env=False) as client,
    ):
        yield client


@contextmanager
def entered(address: str, **options: Any) -> Iterator[httpx2.Client]:  # noqa: ANN401  of any client
    """A client that has shown the token of ``address``, and may read."""
    place, _, token = address.partition("#")
    shown = {"authorization": f"Bearer {token.partition('token=')[2]}"}
    with httpx2.Client(base_url=place, trust_env=False, **options) as client:
        assert client.post("enter", headers=shown).status_code == 204
        yield client


def log_of(folder: Path) -> list[Event]:
    """The events of an episode."""
    return [json.loads(line) for line in (folder / EVENTS_FILE).read_bytes().splitlines()]


def write_log(folder: Path, events: list[Event]) -> Path:
    """An episode of these events."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    (folder / EVENTS_FILE).write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
    return folder


def append(folder: Path, *lines: bytes) -> None:
    """Write on an episode's log, as the game does."""
    file = os.open(folder / EVENTS_FILE, os.O_WRONLY | os.O_APPEND)
    try:
        for line in lines:
            os.write(file, line)
    finally:
        os.close(file)


class Told:
    """A stream of server-sent events, read one by one."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def next(self) -> tuple[str, int, Any]:
        """The name, id and data of the next event."""
        fields: dict[str, str] = {}
        for line in self._lines:
            if not line and "event" in fields:
                return fields["event"], int(fields["id"]), json.loads(fields["data"])
            key, _, value = line.partition(": ")
            if key:
                fields[key] = value
        raise EOFError("The stream has ended.")

    def until(self, name: str) -> tuple[int, Any]:
        """The id and data of the next event of that name; others are passed over."""
        while True:
            told, number, data = self.next()
            if told == name:
                return number, data

    def rest(self) -> list[str]:
        """The names of what comes until the stream ends."""
        names = []
        while True:
            try:
                names.append(self.next()[0])
            except EOFError:
                return names


@contextmanager
def streamed(
    client: httpx2.Client, episode: str = "played", after: int | None = 0, **headers: str
) -> Iterator[Told]:
    """The stream of an episode."""
    parameters = {} if after is None else {"after": after}
    path = f"data/{episode}/stream"
    with client.stream("GET", path, params=parameters, headers=headers) as response:
        assert response.status_code == 200
        yield Told(response)
