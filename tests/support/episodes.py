"""Whole episodes played in this process: real engine, real client, a scripted model on loopback."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mcp_ghost.testing import ModelServer, Reply, content_reply
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration
from session.game_state import TurnRecord
from session.knowledge import Reflection
from session.record.event_log import EVENTS_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mcp_ghost.testing import ModelRequest, Script


def read_events(folder: Path) -> Iterator[dict[str, Any]]:
    """The log of an episode as it was written; a line that was cut off is left out."""
    lines = (folder / EVENTS_FILE).read_bytes().splitlines(keepends=True)
    return (json.loads(line) for line in lines if line.endswith(b"\n"))


@dataclass
class Played:
    """An episode, what its model was asked, and what its game was given."""

    folder: Path
    requests: list[ModelRequest]
    given: list[str] = field(default_factory=list)
    """The commands that reached the engine."""

    def events(self, event_type: str) -> list[dict[str, Any]]:
        return [event for event in read_events(self.folder) if event["event_type"] == event_type]

    @property
    def start(self) -> dict[str, Any]:
        return self.events("episode_start")[0]

    @property
    def end(self) -> dict[str, Any]:
        return self.events("episode_end")[-1]

    @property
    def turns(self) -> list[TurnRecord]:
        kept = TurnRecord.model_fields.keys()
        return [
            TurnRecord.model_validate({key: it[key] for key in kept & it.keys()})
            for it in self.events("turn")
        ]

    @property
    def reflections(self) -> list[Reflection]:
        kept = Reflection.model_fields.keys()
        return [
            Reflection.model_validate({key: it[key] for key in kept})
            for it in self.events("reflection")
        ]


def configured(folder: Path, base_url: str, **settings: object) -> GameConfiguration:
    """The bundled story, on the engine that is always there."""
    values: dict[str, Any] = {
        "client_base_url": base_url,
        "agent_model": "scripted",
        "story": "bundled",
        "seed": 7,
        "workdir": str(folder / "game_files"),
        "retry_max_attempts": 1,
        "reflection_enabled": False,
    }
    return GameConfiguration(**{**values, **settings})


def played(
    folder: Path,
    script: Script,
    *,
    episode: str = "played",
    resume: bool = False,
    hints: Mapping[int, str] = MappingProxyType({}),
    **settings: Any,  # noqa: ANN401  fields of the configuration
) -> Played:
    """An episode played to its end; ``settings`` are those of the configuration.

    ``hints`` are given before the turns whose numbers they have.
    """
    told = {number: [hint] for number, hint in hints.items()}
    with ModelServer(script) as model:
        config = configured(folder, model.base_url, **settings)
        with ZorkOrchestratorV2(
            episode, config, resume=resume, before_turn=lambda turn, _: told.get(turn, [])
        ) as orchestrator:
            given = watched(orchestrator)
            orchestrator.play_episode()
        assert model.refusals == []
        return Played(orchestrator.folder, model.requests, given)


def watched(orchestrator: ZorkOrchestratorV2) -> list[str]:
    """Start the episode; the commands that its engine is given from now on."""
    orchestrator._start()
    game, given = orchestrator.game, []
    assert game is not None
    step: Callable[[str], str] = game.step

    @wraps(step)
    def noted(command: str) -> str:
        given.append(command)
        return step(command)

    game.step = noted  # type: ignore[method-assign]  # the one seam that every engine has
    return given


def answer(action: str, **more: object) -> Reply:
    """What a model says for a turn."""
    return content_reply(json.dumps({"thinking": "As planned.", "action": action, **more}))


def wanted(request: ModelRequest) -> str | None:
    """The form in which an answer is asked for."""
    return ((request.chat.get("response_format") or {}).get("json_schema") or {}).get("name")


def system_text(request: ModelRequest) -> str:
    return _text(request.messages[0]["content"])


def user_text(request: ModelRequest, message: int | None = None) -> str:
    """All that a model is told below the head, its own answers included, or one message."""
    wanted = request.messages[1:] if message is None else [request.messages[message]]
    return "\n\n".join(_text(it["content"]) for it in wanted)


def all_text(requests: Iterable[ModelRequest]) -> str:
    return "\n".join(
        _text(message.get("content")) for request in requests for message in request.messages
    )


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")
