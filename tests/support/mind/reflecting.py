"""A player that looks back, at a model that follows a script, with the real client."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llm_client import LLMClient
from managers.knowledge_manager import KnowledgeManager
from managers.manager import Manager, Section
from managers.reflection_manager import ReflectionManager
from mcp_ghost.testing import ModelServer
from session.game_configuration import GameConfiguration
from session.knowledge import CarriedOver, Memory
from tests.support.records import observation, record

if TYPE_CHECKING:
    from managers.reflection.answer import ReflectionAnswer
    from managers.reflection.evidence import EvidenceFinder
    from mcp_ghost.testing import Script
    from session.game_state import TurnRecord

LOGGER = logging.getLogger("zorkgpt.test_reflection")
UID = "aaaaaa"


class Remembers(Manager):
    """Takes memories as they are proposed."""

    def to_revise(self, records: Sequence[TurnRecord]) -> Iterator[Section]:
        yield Section("Known memories", (f"m1 about turn {records[0].turn}",), importance=4)

    def reconcile(self, answer: ReflectionAnswer, finder: EvidenceFinder) -> Mapping[str, object]:
        memories = []
        for number, proposal in enumerate(answer.memories, 1):
            evidence = finder.evidence(proposal.turn)
            if evidence is None:
                finder.dropped.append(f"no turn {proposal.turn}")
                continue
            values = proposal.model_dump(exclude={"turn", "tentative", "supersedes"})
            place = finder.records[proposal.turn].place
            values |= {"id": f"{UID}-m{number}", "room": place, "evidence": evidence}
            memories.append(Memory.model_validate(values))
        return {"memories": tuple(memories)}


@contextmanager
def looking_back(
    script: Script = (),
    **settings: Any,  # noqa: ANN401  whatever the configuration has
) -> Iterator[tuple[ReflectionManager, ModelServer]]:
    """A manager at a model that follows ``script``, after the first observation."""
    with ModelServer(script) as server:
        values = {
            "client_base_url": server.base_url,
            "retry_max_attempts": 1,
            "reflection_enabled": True,
            "reflection_interval_turns": 4,
        }
        config = GameConfiguration.model_validate({**values, **settings})
        client = LLMClient(config, logger=LOGGER)
        managers = [Remembers(), KnowledgeManager(config, UID)]
        manager = ReflectionManager(config, client, LOGGER, UID, managers)
        manager.begin(observation(1), CarriedOver())
        yield manager, server
        client.close()


def walk(manager: ReflectionManager, turns: range, **changes: Any) -> None:  # noqa: ANN401  of a record
    """Turns in which nothing happens, but for ``changes`` in the last one."""
    for turn in turns:
        more = changes if turn == turns[-1] else {}
        manager.apply(record(turn, f"try {turn}", 1, 1, **more))
