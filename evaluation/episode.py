"""One episode of an evaluation, in its own process, which learns from its parent what to play.

Until then it does nothing: a parent that is killed meanwhile leaves nothing behind.
"""

import socket
import sys
import traceback
from pathlib import Path
from typing import Any

from evaluation.agreement import differences, program_at_hand
from evaluation.fleet.channel import DurableAck, ParentChannel
from mcp_ghost.cli.interruption import Interruption
from mcp_ghost.env_file import load_env_file
from mcp_ghost.redact import redact
from mcp_ghost.text import one_line
from session.configuration_file import ConfigurationError
from session.game_configuration import GameConfiguration
from session.record.branch import branch_off


def main(connection: socket.socket) -> int:
    """Play or continue the episode; returns the exit code."""
    interruption = Interruption()
    interruption.install()
    try:
        channel = ParentChannel(connection)
        job = channel.orders()
        return _play(job, channel) if job else 1
    except KeyboardInterrupt:
        return interruption.caught()


def _play(job: dict[str, Any], channel: ParentChannel) -> int:
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2

    load_env_file()  # tracing and tool servers read the environment, not our settings
    config = GameConfiguration.model_validate(job["settings"])
    name, resume = job["episode"], job["resume"]
    try:
        _expect_the_same(job["program"])
        if command := job["guest"]:
            from game_server.visit import play_with_guest

            play_with_guest(command, config, name)
            return 0
        if job["fork"] and not resume:
            trunk, turn = job["fork"]
            branch_off(Path(trunk), turn, Path(config.workdir, "episodes", name))
            resume = True
        handlers = [DurableAck(channel)]
        with ZorkOrchestratorV2(name, config, resume=resume, handlers=handlers, gate=channel) as it:
            it.play_episode()
    except Exception as error:  # noqa: BLE001  the edge of the process: its last line is shown
        text = f"{traceback.format_exc()}\n{one_line(error) or type(error).__name__}\n"
        sys.stderr.write(redact(text, config.secrets))
        return 1
    return 0


def _expect_the_same(program: dict[str, Any]) -> None:
    """Refuse to play with other prompts or code than the evaluation was agreed on for."""
    if changed := differences(program, program_at_hand()):
        raise ConfigurationError(
            f"Prompts or code changed while the evaluation was running: {'; '.join(changed)}."
        )
