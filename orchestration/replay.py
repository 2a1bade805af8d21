"""An episode played again with its recorded replies, and compared turn by turn.

No model is asked and no server connected: the models' replies and the tools' results are
those of the record. Everything else really runs: game, prompts, checks, what is learned.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pydantic import ValidationError

from game_interface import Game
from game_interface.story import find_story
from llm_client import LLMClient
from orchestration.recorded import (
    DivergenceError,
    RecordedClient,
    RecordedEngine,
    RecordedGuest,
    RecordedTools,
    RecordEndsError,
    Recording,
    RefusingGame,
    difference,
)
from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from players.player import Player
from prompts import prompt_digests
from session.game_configuration import ConfigurationError, GameConfiguration
from session.game_state import FailedTurn, Hint, TurnRecord
from session.knowledge import Edits, Reflection
from session.playing import GUEST
from session.record.event_log import EVENTS_FILE, damaged, entry_of
from session.record.resume import FORMER_ENGINE, SavedEpisode, read_in_order, story_of
from session.record.schema import (
    EpisodeEnd,
    EpisodeResumed,
    EpisodeStart,
    KnowledgeLoaded,
    LoggedEvent,
    ModelCall,
)
from session.version import code_digest

if TYPE_CHECKING:
    from managers.mcp_manager import MCPManager

_NOT_COMPARED = {"seconds", "usage", "snapshot", "tools", "incurable", "proposed"}
"""Of a step: what depends on the clock, and what the requests after it hold anyway."""
_IN_WORDS: Mapping[type, str] = {
    TurnRecord: "a turn that was played",
    FailedTurn: "a turn that was not played",
    Reflection: "a reflection",
    Hint: "a hint",
}


class Replayed(NamedTuple):
    """How much was found the same."""

    turns: int
    calls: int


def replay(folder: Path, story: str = "") -> Replayed:
    """Play the episode in ``folder`` again, elsewhere; returns what was found to be the same.

    ``story`` is looked at where the story file is no longer in its place.

    Raises:
        ConfigurationError: There is nothing to compare with.
        EpisodeDamagedError: The log cannot be read.
        DivergenceError: Something is not the same; the first such thing is named.
    """
    if not (folder / EVENTS_FILE).is_file():
        raise ConfigurationError(f"There is no episode in {folder}.")
    known, runs = _runs(folder)
    if not runs:
        raise ConfigurationError(
            f"{folder.name} cannot be replayed: its log ends before the game begins."
        )
    start = runs[0].begin
    whole = [run for run in runs if run.calls or all(isinstance(it, Hint) for it in run.steps)]
    if not isinstance(start, EpisodeStart) or (len(whole) < len(runs) and start.asks_a_model):
        raise ConfigurationError(
            f"{folder.name} cannot be replayed: its log lacks requests to models. It was played, "
            "at least in part, by a version that did not record them."
        )
    turns = [step for run in runs for step in run.steps if isinstance(step, TurnRecord)]
    found = Replayed(len(turns), sum(len(run.calls) for run in runs))
    with tempfile.TemporaryDirectory(prefix="zorkgpt-replay-") as workdir:
        for run in runs:
            try:
                config = _configuration(run.begin, start, story, workdir)
                name = start.episode_id or folder.name
                with _Replay(name, config, run, start, known, turns) as orchestrator:
                    orchestrator.play_again()
            except DivergenceError as error:
                for prompt, digest in prompt_digests().items():
                    if run.begin.prompts.get(prompt, digest) != digest:
                        note = f"The prompt {prompt} has changed since the episode was played."
                        error.add_note(note)
                if run.begin.code not in ("", code_digest()):
                    error.add_note("The program has changed since the episode was played.")
                raise
    return found


def _runs(folder: Path) -> tuple[KnowledgeLoaded, list[Recording]]:
    """What was known at the beginning, and what each run of the program played."""
    known, runs, calls = KnowledgeLoaded(edits=Edits()), list[Recording](), list[ModelCall]()
    for number, entry in enumerate(read_in_order(folder), 1):
        event = entry.event
        if isinstance(event, LoggedEvent) and event.event_type == "model_call":
            raise damaged(folder, number, "a recorded request to a model cannot be read")
        if isinstance(event, KnowledgeLoaded):
            known = event
        elif isinstance(event, EpisodeStart | EpisodeResumed):
            runs.append(Recording(event))
            calls.clear()  # those of a turn that a crash cut off
        elif isinstance(event, ModelCall):
            calls.append(event)
        elif runs and isinstance(event, Hint):
            runs[-1].steps.append(event)
        elif runs and isinstance(event, TurnRecord | FailedTurn | Reflection):
            runs[-1].calls.extend(calls)
            runs[-1].steps.append(event)
            calls.clear()
        elif runs and isinstance(event, EpisodeEnd):
            runs[-1].end = event
    return known, runs


def _configuration(
    begin: EpisodeStart | EpisodeResumed, start: EpisodeStart, story: str, workdir: str
) -> GameConfiguration:
    """The settings of that run; its endpoint by name, as the keys that chose it may be gone."""
    fields: dict[str, Any] = {
        **(begin.settings or start.settings),
        "client_base_url": begin.base_url or start.base_url,
        "agent_model": begin.model or start.model,
        "story": story_of(start, story),
        "seed": start.seed,
        "engine": "jericho" if start.engine == "jericho" else "auto",
        "workdir": workdir,
        "storage_enabled": False,
        "storage_database_url": None,
        "turn_delay_seconds": 0,
        "mcp_max_result_tokens_per_turn": None,  # what is recorded was cut already
    }
    known = {name: it for name, it in fields.items() if name in GameConfiguration.model_fields}
    try:
        return GameConfiguration(**known)
    except ValidationError as error:
        raise ConfigurationError(f"The episode's settings are no longer valid: {error}") from error


class _Replay(ZorkOrchestratorV2):
    """Plays with recorded models and tools, and checks each step before it is logged."""

    def __init__(
        self,
        name: str,
        config: GameConfiguration,
        run: Recording,
        start: EpisodeStart,
        known: KnowledgeLoaded,
        turns: Sequence[TurnRecord],
    ) -> None:
        self._run, self._began, self._known, self._record = run, start, known, turns
        resumed = isinstance(run.begin, EpisodeResumed)
        super().__init__(name, config, resume=resumed, before_turn=run.hints)

    def play_again(self) -> None:
        """Play until every recorded step was compared, or the record stops within one."""
        run = self._run
        with suppress(RecordEndsError):
            while run.steps:
                left = len(run.steps)
                self.game_state.end_reason = None  # the record says how far it goes
                self._process_turn()
                if len(run.steps) == left:
                    raise DivergenceError("no turn was played where one was recorded")
        if run.steps or run.calls:
            raise DivergenceError("the record has one more request to a model")
        if run.end:  # which the next run looks at
            self._end(run.end.reason)

    def _wire(self) -> None:
        self.uid = self._began.uid
        comparison = _Comparison(self._run, self._began)
        self._handlers.append(comparison)
        self.logger.handlers.insert(0, comparison)
        super()._wire()

    is_traced = False

    def _open_game(self, saved: SavedEpisode | None) -> Game:
        if self._began.engine != FORMER_ENGINE:
            return cast("Game", RefusingGame(super()._open_game(saved), self._run))
        story = find_story(self.config.story)
        image = story.require_image("such an episode")
        return Game(story, RecordedEngine(self._began, self._record, image), self._began.seed or 0)

    def _choose_player(self, game: Game) -> Player:
        if self.config.player_name == GUEST:
            return RecordedGuest(self._run)
        return super()._choose_player(game)

    def _known_of(self, game: object) -> KnowledgeLoaded:
        return self._known

    def _connect(self, base_url: str | None = None, api_key: str | None = None) -> LLMClient:
        return RecordedClient(
            self._run, self.config, base_url, api_key, self.logger, loop=self.loop
        )

    def _create_mcp_manager(self) -> MCPManager | None:
        if not self.config.mcp_enabled:
            return None
        return cast("MCPManager", RecordedTools(self._run, self._began.mcp or ""))


class _Comparison(logging.Handler):
    """Compares what is about to be logged with the record."""

    def __init__(self, run: Recording, start: EpisodeStart) -> None:
        super().__init__(logging.DEBUG)
        self._steps = run.steps
        self._start = start

    def emit(self, record: logging.LogRecord) -> None:
        """Compare a step, which may be another than the recorded one, or one too many."""
        entry = entry_of(record)
        if entry is None:
            return
        event = entry.event
        if isinstance(event, EpisodeStart):
            if event.story_sha256 != self._start.story_sha256:
                raise DivergenceError(f"{event.story_path} is not the story that was played")
            _compare(self._start, event, "opening", "observation")
        elif isinstance(event, TurnRecord | FailedTurn | Reflection):
            if not self._steps:
                raise RecordEndsError
            recorded = self._steps.popleft()
            failed_then = isinstance(recorded, FailedTurn) and recorded.of_the_game
            if failed_then and isinstance(event, TurnRecord):
                raise RecordEndsError  # what ended the engine, and so the run, need not come again
            if type(recorded) is not type(event):
                was, now = _IN_WORDS[type(recorded)], _IN_WORDS[type(event)]
                raise DivergenceError(f"{was} was recorded, but now it is {now}")
            _compare(recorded, event, *(type(event).model_fields.keys() - _NOT_COMPARED))


def _compare(recorded: Any, now: Any, *names: str) -> None:  # noqa: ANN401  two of a kind
    kind = type(now)
    for name in (name for name in kind.model_fields if name in names):
        before = recorded.model_dump_json(include={name})
        after = now.model_dump_json(include={name})
        if before != after:
            raise DivergenceError(f"its {name} {difference(before, after)}")
