"""An episode: its parts wired together, and its turns played to an end."""

from __future__ import annotations

import asyncio
import logging
import re
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeAlias

from game_interface import Game, open_game
from llm_client import LLMClient
from managers.context_manager import ContextManager
from mcp_ghost.errors import MCPError
from mcp_ghost.providers.client import Gate
from mcp_ghost.providers.streaming import OnDelta
from mcp_ghost.text import address, counted, one_line
from notes.notebook import forget_after
from orchestration.boundary import Boundary
from orchestration.endings import TO_LOOK_BACK_AT, Endings
from orchestration.knowledge_sync import KnowledgeSync
from orchestration.mind import Mind
from orchestration.parts import config_for_player
from orchestration.turn import TurnPlayer, observation_of, return_to, snapshot_of
from players import player_without_model
from players.chat import ChatPlayer
from players.model import ModelPlayer
from players.player import Player
from prompts import prompt_digests
from session.events import event_context, log_event, log_progress
from session.game_configuration import GameConfiguration
from session.game_state import (
    EndReason,
    FailedTurn,
    GameState,
    Hint,
    Observation,
    TurnRecord,
    shown,
)
from session.knowledge import Reflection
from session.levels import ObservationLevel
from session.loop import EpisodeLoop
from session.playing import LIMITED_BY_LEVEL
from session.record.event_log import EVENTS_FILE
from session.record.folder import NOTES_FILE, episode_folder, open_logs
from session.record.resume import SavedEpisode, story_of
from session.record.schema import (
    EpisodeEnd,
    EpisodeResumed,
    EpisodeStart,
    KnowledgeLoaded,
    Step,
    log_call,
    new_uid,
    write,
)
from session.tracing import Tracing
from session.version import code_digest, version
from zork_agent import ZorkAgent

if TYPE_CHECKING:
    from managers.mcp_manager import MCPManager

BeforeTurn: TypeAlias = Callable[[int, logging.Logger], Iterable[str]]
_ALL_THERE_IS = ObservationLevel.FACTS
"""For players that are programs: a level limits what a model, or a guest, is told."""


class ZorkOrchestratorV2:
    """Plays one episode; also a context manager that closes what it opened."""

    is_traced = True

    def __init__(
        self,
        episode_id: str | None = None,
        config: GameConfiguration | None = None,
        max_turns_per_episode: int | None = None,
        *,
        resume: bool = False,
        handlers: Iterable[logging.Handler] = (),
        on_delta: OnDelta | None = None,
        before_turn: BeforeTurn = lambda *_: (),
        gate: Gate | None = None,
    ) -> None:
        """Wire the parts; the game and the model start with the first turn.

        Args:
            episode_id: Name of the episode and of its folder; a time stamp when None.
            config: Read from ``pyproject.toml`` in the working directory when None.
            max_turns_per_episode: Instead of the configured one.
            resume: Continue the episode of that name.
            handlers: Receive the episode's log records in addition to its files.
            on_delta: Told what the player's model says and thinks, while it comes.
            before_turn: May take its time, and gives what the player is told by who watches.
            gate: Asked before each request to a model, and told what each call cost.

        Raises:
            ConfigurationError: The configuration or the episode's name cannot be used.
            MCPError: MCP is enabled and its configuration cannot be used.
        """
        self._on_delta = on_delta
        self._before_turn = before_turn
        self._gate = gate
        self.config = config or GameConfiguration.at_hand().ask_about_servers()
        if max_turns_per_episode is not None:
            changes = {"max_turns_per_episode": max_turns_per_episode}
            self.config = self.config.model_copy(update=changes)
        self.folder = episode_folder(self.config, episode_id, resume=resume)
        saved = SavedEpisode(self.folder) if resume else None
        self._saved = saved if saved and saved.fold.start else None
        self._wanted_level = self.config.observation_level
        self.config = config_for_player(self.config, self._saved.start if self._saved else None)
        self.uid = self._saved.start.uid if self._saved else new_uid()
        self.game_state = GameState(self.folder.name)
        self._endings = Endings(self.config, self.game_state)
        self.game: Game | None = None
        self.player: Player | None = None
        """Who decides, once the game has begun."""
        self._turns: TurnPlayer | None = None
        self._moments: list[tuple[str, str]] = []
        """What the game said before each turn, and its snapshot, where it may be taken back."""
        self._has_answered = False
        """Whether the model has replied at all, in this run of the program."""
        self.logger = logging.getLogger(f"zorkgpt.episode.{self.folder.name}")
        self.logger.setLevel(logging.DEBUG)
        self._handlers = [*open_logs(self.folder, self.config.secrets), *handlers]
        for handler in self._handlers:
            self.logger.addHandler(handler)
        try:
            self._wire()
        except BaseException:  # interrupted, too: nobody else would close them
            self._close_logs()
            raise

    def _wire(self) -> None:
        episode_id = self.game_state.episode_id
        self.loop = EpisodeLoop()
        """Where models are asked and tools called; it ends with the episode."""
        weakref.finalize(self, self.loop.close)
        self.tracing = Tracing(
            episode_id, self.logger, wanted=self.is_traced, secrets=self.config.secrets
        )
        self._told_to_servers: dict[str, str] = {}
        """The environment of tool servers, complete once the game has begun."""
        coming_turn = 1 + (self._saved.fold.turns if self._saved else 0)
        with event_context(episode_id=episode_id, turn=coming_turn):
            self.mcp_manager = self._create_mcp_manager()
        self.client = self._connect()
        self.mind = Mind(self.config, self.client, self.logger, self.uid, self._connect)
        limited = self.config.player_name in LIMITED_BY_LEVEL
        level = self.config.observation_level if limited else _ALL_THERE_IS
        self._boundary = Boundary(level, episode_id)
        self._knowledge = KnowledgeSync(self.config, self.logger, self.folder, self.uid)
        self.agent = ZorkAgent(
            config=self.config,
            client=self.client,
            logger=self.logger,
            episode_id=episode_id,
            mcp_manager=self.mcp_manager,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def play_episode(self) -> int | None:
        """Play to an end and return the final score, None where it cannot be known.

        Raises:
            ConfigurationError, GameError, MCPError: The episode could not begin, or its first
                connection to the tool server failed. What was played can be resumed.
            KeyboardInterrupt: The player wants to stop; the episode can be resumed.
        """
        reason = EndReason.ABORTED
        with self:
            try:
                while self._process_turn():
                    if self.config.turn_delay_seconds:
                        self.loop.run(asyncio.sleep(self.config.turn_delay_seconds))
                reason = self.game_state.end_reason or reason
            finally:
                self._end(reason)
        return self.game_state.score

    def _process_turn(self) -> bool:
        """Play one turn, or try to; returns whether the episode goes on."""
        state = self.game_state
        if state.game_over:
            return False
        turns = self._turns or self._start()
        if state.game_over:  # resumed where its limits allow no more
            return False
        turn = state.turn_count + 1
        with event_context(episode_id=state.episode_id, turn=turn):
            for text in self._before_turn(turn, self.logger):  # which may hold the game
                hint = Hint(turn=turn, text=text)
                write(self.logger, f"Hint: {text}", hint)  # before anybody hears it
                self._take_in(hint)
        with event_context(episode_id=state.episode_id, turn=turn), self.tracing.turn(turn) as span:
            log_event(self.logger, logging.DEBUG, "Turn begins", "turn_start")
            step = turns.play(state)
            # First: a turn that cannot be recorded was not played.
            if isinstance(step, FailedTurn):
                write(self.logger, f"Not played: {step.failure}", step, logging.WARNING)
            else:
                score, answer = shown(step.after.score), one_line(step.response, 80)
                write(self.logger, f"{step.after.room_name}, score {score}: {answer}", step)
            self._take_in(step)
            answered_first = step.usage.calls > 0 and not self._has_answered
            if answered_first and (warning := self._endings.unenforceable_budget):
                self._notice(warning)
            if isinstance(step, FailedTurn):
                span.update(level="ERROR", status_message=step.failure)
                self._has_answered = self._has_answered or step.usage.calls > 0
                state.end_reason = self._endings.given_up(step, has_answered=self._has_answered)
            else:
                span.update(
                    input=step.command, output=step.response, metadata={"score": step.after.score}
                )
                self._has_answered = True
                state.end_reason = self._endings.after(step)
                self._look_back(ending=state.end_reason in TO_LOOK_BACK_AT)
        return state.end_reason is None

    def _look_back(self, *, ending: bool) -> None:
        """Reflect when it is due; it reaches the log before anybody learns it."""
        reflection = self.mind.look_back(ending=ending)
        if reflection is None:
            return
        write(self.logger, reflection.headline, reflection)
        self._take_in(reflection)
        self._knowledge.take_in(reflection)

    def close(self) -> None:
        """Release files, processes and connections; may be called more than once."""
        self._knowledge.close()
        if self.game is not None:
            self.game.close()
        if self.mcp_manager is not None:
            self.mcp_manager.close()
        self.loop.close()
        self.tracing.close()
        self._close_logs()

    def _close_logs(self) -> None:
        for handler in self._handlers:
            self.logger.removeHandler(handler)
            handler.close()

    def _connect(self, base_url: str | None = None, api_key: str | None = None) -> LLMClient:
        """A client that logs every call; of the agent's endpoint, unless another is named."""
        return LLMClient(
            self.config,
            base_url,
            api_key,
            self.logger,
            langfuse_client=self.tracing.client,
            on_exchange=partial(log_call, self.logger),
            on_delta=self._on_delta,
            loop=self.loop,
            gate=self._gate,
        )

    def _create_mcp_manager(self) -> MCPManager | None:
        if not self.config.mcp_enabled:
            return None
        from managers.mcp_manager import MCPManager

        logger = self.logger
        try:
            manager = MCPManager(
                config=self.config,
                logger=logger,
                langfuse_client=self.tracing.client,
                environment=self._told_to_servers,
            )
        except Exception as error:  # whatever stops it is the MCP error that callers expect
            problem = f"Failed to initialize MCP Manager: {error}"
            log_event(logger, logging.ERROR, problem, "mcp_init_error", error=str(error))
            if isinstance(error, MCPError):
                raise
            raise MCPError(f"MCP initialization failed: {error}") from error
        done, name = "MCP Manager initialized", ", ".join(manager.server_names)
        log_event(logger, logging.INFO, done, "mcp_manager_init", server=name)
        return manager

    def _start(self) -> TurnPlayer:
        """Begin the game, or return it to where the episode stopped."""
        saved, state = self._saved, self.game_state
        try:
            self.game = game = self._open_game(saved)
            self._told_to_servers["NOTES_FILE"] = str(self.folder.absolute() / NOTES_FILE)
            if self.config.storage_enabled and self.config.storage_carry_over:
                # As other knowledge, notes are passed on within one level of observation only.
                story, level = game.story, self.config.observation_level
                name = re.sub(r"[^\w.-]+", "-", story.name).strip(".-")[:100] or "story"
                notes = Path("notes", f"{name}-{story.sha256[:8]}-{level}.jsonl")
                file = Path(self.config.workdir).absolute() / notes
                self._told_to_servers["NOTES_STORY_FILE"] = str(file)
            opening = game.start()
        except BaseException:
            if not saved:  # the events of an episode that has no beginning are of use to nobody
                (self.folder / EVENTS_FILE).unlink(missing_ok=True)
            raise
        self.player = player = self._choose_player(game)
        with event_context(episode_id=state.episode_id, turn=state.turn_count):
            if saved:
                self._resume(saved, game, player)
            else:
                first = observation_of(game.facts())
                state.begin(opening, first)
                self._keep_moment(opening, snapshot_of(game))
                known = self._known_of(game)  # logged first, so that the log is whole
                headline = known.carried.headline or "Nothing is known from earlier episodes"
                write(self.logger, headline, known)
                self._boundary.begin(player, opening, first, known.carried)
                self._log_start(game, player, first)
                self._knowledge.catch_up()
        if game.is_over and not state.game_over:  # it ended with its first words
            state.end_reason = EndReason.GAME_OVER
        self._turns = TurnPlayer(game, player, self.config, self._boundary, self._moments)
        return self._turns

    def _open_game(self, saved: SavedEpisode | None) -> Game:
        return open_game(
            story_of(saved.start, self.config.story) if saved else self.config.story,
            seed=saved.start.seed if saved else self.config.seed,
            engine=saved.engine if saved else self.config.engine,
            fallback=saved is None and "story" not in self.config.model_fields_set,
            on_notice=self._notice,
            on_progress=partial(log_progress, self.logger),
            turn_timeout_seconds=self.config.turn_timeout_seconds,
            interpreter_path=self.config.interpreter_path,
        )

    def _choose_player(self, game: Game) -> Player:
        if self.config.player_name == "chat":
            return ChatPlayer(self.config, self.client)
        if player := player_without_model(self.config, game.seed):
            return player
        mind = self.mind
        context = ContextManager(mind.config, mind.transcript, mind.managers)
        check = mind.check(game.vocabulary)
        return ModelPlayer(mind.config, self.agent, context, check, mind.learning)

    def _known_of(self, game: Game) -> KnowledgeLoaded:
        """What earlier episodes learned."""
        return self._knowledge.carried_over(game.story)

    def _log_start(self, game: Game, player: Player, first: Observation) -> None:
        story = game.story
        start = EpisodeStart(
            version=version(),
            code=code_digest(),
            uid=self.uid,
            story=story.name,
            story_path=story.place,
            story_address=story.address,
            title=story.title,
            story_sha256=story.sha256,
            seed=game.seed,
            engine=game.engine_name,
            unknown=game.facts().unknown,
            player=self.config.player_name,
            model=player.model,
            base_url=address(player.base_url),
            max_turns=self.config.max_turns_per_episode,
            mcp=", ".join(self.mcp_manager.server_names) if self.mcp_manager else None,
            parts_off=tuple(self.mind.parts_off),
            objectives_stale_turns=self.config.objectives_stale_turns,
            group=self.config.evaluation_group,
            settings=self.config.public(),
            prompts=prompt_digests(),
            opening=self.game_state.opening,
            observation=first,
            snapshot=snapshot_of(game),
        )
        write(
            self.logger,
            f"Episode begins: {start.title}, played by {start.model or start.player}",
            start,
        )

    def _resume(self, saved: SavedEpisode, game: Game, player: Player) -> None:
        """Replay the records into what is known, and restore the engine."""
        state = self.game_state
        state.begin(saved.start.opening, saved.start.observation)
        self._keep_moment(saved.start.opening, saved.start.snapshot)
        carried = saved.fold.known.carried
        self._boundary.begin(player, saved.start.opening, saved.start.observation, carried)
        for step in saved.steps():
            self._take_in(step)
            if isinstance(step, TurnRecord) and step.turn in saved.fold.gave_up:
                state.reset_stall_counters()
        state.failed_turns = 0  # whoever resumes it wants to try again
        return_to(saved, game)
        turn = state.turn_count
        try:
            forget_after(str(self.folder / NOTES_FILE), turn)  # later turns are played anew
        except OSError as error:
            message = f"Notes from turns after {turn} could not be undone: {error.strerror}"
            log_event(self.logger, logging.WARNING, message, "notes_failed", error=str(error))
        latest = state.history[-1] if state.history else None
        endings = self._endings
        state.end_reason = endings.after(latest) if latest else endings.limit_reached()
        resumed = EpisodeResumed(
            model=player.model,
            base_url=address(player.base_url),
            max_turns=self.config.max_turns_per_episode,
            settings=self.config.public(),
            prompts=prompt_digests(),
            code=code_digest(),
        )
        write(self.logger, f"Episode continues after turn {state.turn_count}", resumed)
        if self._wanted_level is not self.config.observation_level:
            self._notice(
                f"The episode continues at level {self.config.observation_level}, where it "
                f"began, not at {self._wanted_level}."
            )
        self._knowledge.catch_up()
        # The look back that a crash cut off comes before the next turn, as it would have.
        self._look_back(ending=state.end_reason in TO_LOOK_BACK_AT)

    def _take_in(self, step: Step) -> None:
        """Tell everyone who learns, in the order of the log."""
        self._boundary.take_in(step)
        if isinstance(step, FailedTurn):
            self.game_state.fail(step)
        elif isinstance(step, Reflection):
            self.game_state.spend(step.usage)
        elif isinstance(step, TurnRecord):
            self.game_state.apply(step)
            self._keep_moment(step.response, step.snapshot)

    def _keep_moment(self, text: str, snapshot: str) -> None:
        if self.config.rules_restore:
            self._moments.append((text, snapshot))

    def _end(self, reason: EndReason) -> None:
        state = self.game_state
        state.end_reason = reason
        with event_context(episode_id=state.episode_id, turn=state.turn_count):
            end = EpisodeEnd(
                reason=reason,
                score=state.score,
                turns=state.turn_count,
                deaths=state.deaths,
                tool_calls=state.tool_calls,
                usage=state.usage,
            )
            turns = counted(end.turns, "turn")
            message = f"Episode ends: {reason}, score {shown(end.score)} after {turns}"
            write(self.logger, message, end)
            if self.game is not None:
                self._knowledge.finish(self.game.story)

    def _notice(self, message: str) -> None:
        with event_context(episode_id=self.game_state.episode_id, turn=0):
            log_event(self.logger, logging.INFO, message, "notice")
