"""An episode: its parts wired together, and its turns played to an end."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from llm_client import LLMClient
from managers.candidate_commands import CandidateCommands
from managers.context_manager import ContextManager
from mcp_ghost.errors import MCPError
from mcp_ghost.redact import redact
from orchestration.knowledge_keeper import KnowledgeKeeper
from orchestration.mind import Mind
from orchestration.turn import TurnPlayer, observation_of, snapshot_of
from session.episode_folder import episode_folder, open_logs
from session.events import event_context, log_event
from session.game_configuration import GameConfiguration
from session.game_state import EndReason, GameState, TurnRecord
from session.learned import CarriedOver, Reflection
from session.saved_episode import SavedEpisode
from session.tracing import Tracing
from session.uids import new_uid
from session.version import version
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from game_interface import Game
    from managers.mcp_manager import MCPManager


_TO_LOOK_BACK_AT = {
    *(EndReason.VICTORY, EndReason.FINAL_DEATH, EndReason.STALLED, EndReason.MAX_TURNS)
}
"""Ends of an episode at which the model may be asked once more."""


class ZorkOrchestratorV2:
    """Plays one episode; also a context manager that closes what it opened."""

    def __init__(
        self,
        episode_id: str | None = None,
        config: GameConfiguration | None = None,
        max_turns_per_episode: int | None = None,
        *,
        resume: bool = False,
        handlers: Iterable[logging.Handler] = (),
    ) -> None:
        """Wire the parts; the game and the model start with the first turn.

        Args:
            episode_id: Name of the episode and of its folder; a time stamp when None.
            config: Read from ``pyproject.toml`` in the working directory when None.
            max_turns_per_episode: In place of the configured one.
            resume: Go on with the episode of that name.
            handlers: Receive the episode's log records besides its files.

        Raises:
            ConfigurationError: The configuration or the episode's name cannot be used.
            MCPError: MCP is enabled and its configuration cannot be used.
        """
        self.config = config or _configuration_at_hand()
        if max_turns_per_episode is not None:
            changes = {"max_turns_per_episode": max_turns_per_episode}
            self.config = self.config.model_copy(update=changes)
        self.folder = episode_folder(self.config, episode_id, resume=resume)
        saved = SavedEpisode(self.folder) if resume else None
        self._saved = saved if saved and saved.began else None
        self.uid = self._saved.uid if self._saved else new_uid()
        self.game_state = GameState(self.folder.name, 2 * self.config.context_history_turns)
        self.game: Game | None = None
        self._player: TurnPlayer | None = None
        compact = self.config.prompt_profile == "compact"
        self._candidates = CandidateCommands() if compact else None
        self.logger = logging.getLogger(f"zorkgpt.episode.{self.folder.name}")
        self.logger.setLevel(logging.DEBUG)
        self._handlers = [*open_logs(self.folder, self.config.secrets), *handlers]
        for handler in self._handlers:
            self.logger.addHandler(handler)
        try:
            self._wire()
        except BaseException:
            self._close_logs()
            raise

    def _wire(self) -> None:
        episode_id = self.game_state.episode_id
        self.tracing = Tracing(episode_id, self.logger)
        coming_turn = 1 + (self._saved.turns_played if self._saved else 0)
        with event_context(episode_id=episode_id, turn=coming_turn):
            self.mcp_manager = self._create_mcp_manager()
        self.client = LLMClient(
            config=self.config, logger=self.logger, langfuse_client=self.tracing.client
        )
        self.mind = Mind(
            *(self.config, self.client, self.logger, self.uid), langfuse_client=self.tracing.client
        )
        self._keeper = KnowledgeKeeper(self.config, self.logger, self.folder, self.uid)
        self.agent = ZorkAgent(
            config=self.config,
            client=self.client,
            logger=self.logger,
            episode_id=episode_id,
            mcp_manager=self.mcp_manager,
        )

    def __enter__(self) -> ZorkOrchestratorV2:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def play_episode(self) -> int:
        """Play to an end; the final score.

        Raises:
            ConfigurationError, GameError, MCPError: The episode could not begin, or its first
                connection to the tool server failed. What was played can be resumed.
            KeyboardInterrupt: The player wants to stop; the episode can be resumed.
        """
        reason = EndReason.ABORTED
        try:
            while self._process_turn():
                time.sleep(self.config.turn_delay_seconds)
            reason = self.game_state.end_reason or reason
        finally:
            self._end(reason)
            self.close()
        return self.game_state.score

    def _process_turn(self) -> bool:
        """Play one turn; whether the episode goes on."""
        state = self.game_state
        if state.game_over:
            return False
        player = self._player or self._start()
        if state.game_over:  # resumed where its limits let it go no further
            return False
        turn = state.turn_count + 1
        with event_context(episode_id=state.episode_id, turn=turn), self.tracing.turn(turn) as span:
            log_event(self.logger, logging.DEBUG, "Turn begins", "turn_start")
            record = player.play(state)
            self._log_turn(record)  # first of all: a turn that cannot be kept was not played
            self._take_in(record)
            span.update(
                input=record.command, output=record.response, metadata={"score": record.after.score}
            )
            state.end_reason = self._end_reason(record)
            if not record.failure:  # a model that does not answer is not asked for more
                self._look_back(ending=state.end_reason in _TO_LOOK_BACK_AT)
        return state.end_reason is None

    def _look_back(self, *, ending: bool) -> None:
        """Reflect when it is time to; the log gets it before anybody learns it."""
        reflection = self.mind.look_back(ending=ending)
        if reflection is None:
            return
        yielded = ", ".join(reflection.counts()) or reflection.failure or "nothing new"
        log_event(
            self.logger,
            logging.INFO,
            f"Looked back at turns {reflection.first_turn} to {reflection.last_turn}: {yielded}",
            "reflection",
            **reflection.model_dump(mode="json"),
        )
        self._take_in(reflection)
        self._keeper.take_in(reflection)

    def close(self) -> None:
        """Give back files, processes and connections; more than once does no harm."""
        self._keeper.close()
        if self.game is not None:
            self.game.close()
        self.mind.close()
        self.client.close()
        self.tracing.close()
        self._close_logs()

    def _close_logs(self) -> None:
        for handler in self._handlers:
            self.logger.removeHandler(handler)
            handler.close()

    def _create_mcp_manager(self) -> MCPManager | None:
        if not self.config.mcp_enabled:
            return None
        from managers.mcp_manager import MCPManager

        try:
            manager = MCPManager(
                config=self.config, logger=self.logger, langfuse_client=self.tracing.client
            )
        except MCPError as error:
            log_event(
                self.logger,
                logging.ERROR,
                f"Failed to initialize MCP Manager: {error}",
                "mcp_init_error",
                error=str(error),
            )
            raise
        log_event(
            self.logger,
            logging.INFO,
            "MCP Manager initialized",
            "mcp_manager_init",
            server=manager.server_name,
        )
        return manager

    def _start(self) -> TurnPlayer:
        """Begin the game, or put it back to where the episode stopped."""
        from game_interface import open_game

        saved, state = self._saved, self.game_state
        self.game = game = open_game(
            saved.story if saved else self.config.story,
            seed=saved.seed if saved else self.config.seed,
            engine=saved.engine if saved else self.config.engine,
            fallback=saved is None and "story" not in self.config.model_fields_set,
            on_notice=self._notice,
        )
        opening = game.start()
        with event_context(episode_id=state.episode_id, turn=state.turn_count):
            if saved:
                self._resume(saved, game)
            else:
                first = observation_of(game.facts())
                state.begin(opening, first)
                self.mind.begin(first, self._carried_over(game))
                self._log_start(game)
                self._keeper.catch_up()
        context = ContextManager(self.config, self.mind.managers)
        self.agent.system_prompt = context.head(self.agent.system_prompt)
        self._player = TurnPlayer(
            game,
            self.agent,
            context,
            self._candidates,
            self.mind.check(game.vocabulary),
            refuses=self.config.action_check_mode == "refuse",
        )
        return self._player

    def _carried_over(self, game: Game) -> CarriedOver:
        """What earlier episodes learned; in the log before the episode begins, to be whole."""
        carried, edits = self._keeper.carried_over(game.story)
        log_event(
            self.logger,
            logging.INFO,
            f"Known from {carried.episodes} earlier episodes: {len(carried.memories)} memories, "
            f"{len(carried.claims)} claims, {len(carried.passages)} passages",
            "knowledge_loaded",
            carried=carried.model_dump(mode="json"),
            edits=edits.model_dump(mode="json"),
        )
        return carried

    def _log_start(self, game: Game) -> None:
        state, role = self.game_state, self.agent.role
        observation = state.observation
        log_event(
            self.logger,
            logging.INFO,
            f"Episode begins: {game.story.title}, played by {self.agent.model}",
            "episode_start",
            version=version(),
            uid=self.uid,
            story=game.story.name,
            story_path=str(game.story.path.resolve()),
            title=game.story.title,
            story_sha256=game.story.sha256,
            seed=game.seed,
            engine=game.engine_name,
            model=self.agent.model,
            base_url=redact(role.base_url),
            max_turns=self.config.max_turns_per_episode,
            mcp=self.mcp_manager.server_name if self.mcp_manager else None,
            parts_off=self.mind.parts_off,
            objectives_stale_turns=self.config.objectives_stale_turns,
            group=self.config.evaluation_group,
            opening=state.opening,
            observation=observation.model_dump(mode="json") if observation else None,
            snapshot=snapshot_of(game),
        )

    def _log_turn(self, record: TurnRecord) -> None:
        after = record.after
        answer = " ".join(record.response.split())
        log_event(
            self.logger,
            logging.INFO,
            f"{after.room.name}, score {after.score}: {answer}",
            "turn",
            **record.model_dump(mode="json"),
        )

    def _resume(self, saved: SavedEpisode, game: Game) -> None:
        """Replay the records into what is known, and put the engine back."""
        state = self.game_state
        state.begin(saved.opening, saved.first_observation)
        self.mind.begin(saved.first_observation, saved.carried)
        for step in saved.steps():
            self._take_in(step)
            if isinstance(step, TurnRecord) and step.turn in saved.gave_up:
                state.take_patience()
        game.restore(saved.snapshot)
        latest = state.history[-1] if state.history else None
        state.end_reason = self._end_reason(latest) if latest else self._limit_reached()
        log_event(
            self.logger,
            logging.INFO,
            f"Episode goes on after turn {state.turn_count}",
            "episode_resumed",
            model=self.agent.model,
            max_turns=self.config.max_turns_per_episode,
        )
        self._keeper.catch_up()
        if not (latest and latest.failure):
            # The look back that a crash cut off comes before the next turn, as it would have.
            self._look_back(ending=state.end_reason in _TO_LOOK_BACK_AT)

    def _take_in(self, step: TurnRecord | Reflection) -> None:
        """Tell everybody who learns, in the order of the log."""
        self.mind.take_in(step)
        if isinstance(step, Reflection):
            self.game_state.spend(step.usage)
            return
        self.game_state.apply(step)
        if self._candidates:
            self._candidates.apply(step)

    def _end_reason(self, record: TurnRecord) -> EndReason | None:
        """Why the episode ends after this turn, if it does."""
        state, config = self.game_state, self.config
        if record.won:
            return EndReason.VICTORY
        if record.over:
            return EndReason.FINAL_DEATH
        if state.failed_turns >= config.max_failed_turns:
            return EndReason.LLM_UNAVAILABLE
        if reached := self._limit_reached():
            return reached
        if state.turns_without_news >= config.max_turns_stuck:
            return EndReason.STALLED
        return None

    def _limit_reached(self) -> EndReason | None:
        """Which of the limits set for the whole episode is used up."""
        state, config = self.game_state, self.config
        tokens = state.usage.prompt_tokens + state.usage.completion_tokens
        if config.max_cost_per_episode and state.usage.cost >= config.max_cost_per_episode:
            return EndReason.BUDGET
        if config.max_tokens_per_episode and tokens >= config.max_tokens_per_episode:
            return EndReason.BUDGET
        if state.turn_count >= config.max_turns_per_episode:
            return EndReason.MAX_TURNS
        return None

    def _end(self, reason: EndReason) -> None:
        state = self.game_state
        state.end_reason = reason
        with event_context(episode_id=state.episode_id, turn=state.turn_count):
            log_event(
                self.logger,
                logging.INFO,
                f"Episode ends: {reason}, score {state.score} after {state.turn_count} turns",
                "episode_end",
                reason=str(reason),
                score=state.score,
                turns=state.turn_count,
                deaths=state.deaths,
                tool_calls=state.tool_calls,
                usage=state.usage.model_dump(),
            )
            if self.game is not None:
                self._keeper.finish(self.game.story)

    def _notice(self, message: str) -> None:
        with event_context(episode_id=self.game_state.episode_id, turn=0):
            log_event(self.logger, logging.INFO, message, "notice")


def _configuration_at_hand() -> GameConfiguration:
    path = Path("pyproject.toml")
    return GameConfiguration.from_toml(path) if path.is_file() else GameConfiguration()
