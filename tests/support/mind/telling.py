"""A real game played command by command, and what a model would be told of it at each level."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from llm_client import LLMClient
from managers.context_manager import ContextManager, Prompt
from orchestration.boundary import Boundary
from orchestration.mind import Mind
from orchestration.turn import observation_of
from players.model import CandidateCommands, ModelPlayer
from session.game_configuration import GameConfiguration
from session.game_state import Observation, TurnRecord
from session.knowledge import CarriedOver
from session.levels import ObservationLevel
from tests.support.games import started
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from game_interface import Facts

LOGGER = logging.getLogger("zorkgpt.told")


@dataclass(frozen=True)
class Told:
    """What would be told for the turn to come."""

    full: str
    compact: str
    menu: list[str]
    facts: Facts
    seen: Observation


def whole(prompt: Prompt) -> str:
    return "\n\n".join([*(message["content"] for message in prompt.story), prompt.text])


class Listener:
    """The mind of an episode at one level, and all that a model would be asked with."""

    def __init__(self, level: ObservationLevel) -> None:
        config = GameConfiguration(
            observation_level=level,
            context_profile="full",
            context_token_budget=100_000,
            context_history_tokens=1000,
            reflection_enabled=False,
            client_base_url="http://127.0.0.1:9",
        )
        self.client = LLMClient(config, logger=LOGGER)
        self.mind = Mind(config, self.client, LOGGER, "aaaaaa")
        self.boundary = Boundary(level, "told")
        compact = self.mind.config.model_copy(update={"context_profile": "compact"})
        self.contexts = [
            ContextManager(it, self.mind.transcript, self.mind.managers)
            for it in (self.mind.config, compact)
        ]
        self.candidates = CandidateCommands()
        self._agent = ZorkAgent(config, client=self.client, logger=LOGGER)

    def begin(self, game: ToldGame) -> None:
        check = self.mind.check(game.game.vocabulary)
        player = ModelPlayer(
            self.mind.config, self._agent, self.contexts[0], check, self.mind.learning
        )
        first = observation_of(game.facts)
        self.boundary.begin(player, game.opening, first, CarriedOver())

    def take_in(self, record: TurnRecord) -> None:
        self.boundary.take_in(record)
        self.candidates.apply(record)


class ToldGame:
    """A story in a real engine, and those who are told of it."""

    def __init__(
        self, levels: Iterable[ObservationLevel], story: str | Path = "bundled", seed: int = 12
    ) -> None:
        self.game = started(story, seed=seed)
        self.opening = self.game.start()
        self.facts = self.game.facts()
        self.turn = 0
        self.listeners = {level: Listener(level) for level in levels}
        for listener in self.listeners.values():
            listener.begin(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.game.close()
        for listener in self.listeners.values():
            listener.client.close()

    def play(self, command: str) -> str:
        """Give the game a command, and tell what it answered."""
        before, text = self.facts, self.game.step(command)
        self.facts = self.game.facts()
        self.turn += 1
        known = before.score is not None and self.facts.score is not None
        record = TurnRecord(
            turn=self.turn,
            place=observation_of(before).room,
            command=command,
            proposed=command,
            thinking="",
            response=text,
            scored=(self.facts.score or 0) - (before.score or 0) if known else None,
            after=observation_of(self.facts),
            died=self.game.died_in_last_step,
            won=self.facts.won,
            over=self.game.is_over,
            seconds=0.0,
            snapshot="",
        )
        for listener in self.listeners.values():
            listener.take_in(record)
        return text

    def told(self, level: ObservationLevel) -> Told:
        """What would be told now."""
        listener = self.listeners[level]
        state = listener.boundary.state
        facts = listener.boundary.facts(self.facts, self.game.vocabulary)
        menu = listener.candidates.menu(facts) if level.tells_facts else []
        full, compact = (whole(it.build(state, menu)) for it in listener.contexts)
        assert state.observation is not None
        return Told(full, compact, menu, facts, state.observation)
