"""One episode of an evaluation, in its own process, which learns from standard input what to play.

Until then it does nothing: a parent that is killed meanwhile leaves nothing behind.
"""

import json
import sys
import traceback
from pathlib import Path

from mcp_ghost.cli.interruption import Interruption
from mcp_ghost.text import one_line


def main() -> int:
    """Play or continue the episode; returns the exit code."""
    interruption = Interruption()
    interruption.install()
    try:
        line = sys.stdin.readline()
        return _play(json.loads(line)) if line.endswith("\n") else 1
    except KeyboardInterrupt:
        return interruption.caught()


def _play(job: dict[str, object]) -> int:
    from dotenv import load_dotenv

    from evaluation.fleet.line import connected
    from evaluation.fleet.start import leave_environment
    from mcp_ghost.redact import redact
    from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
    from session.game_configuration import GameConfiguration

    leave_environment()
    load_dotenv(".env")  # tracing and tool servers read the environment, not our settings
    config = GameConfiguration.model_validate(job["settings"])
    handlers = connected(job)
    try:
        _expect_the_same(job["program"])
        if command := job.get("guest"):
            from game_server.visit import play_with_guest

            play_with_guest(str(command), config, str(job["episode"]))
            return 0
        resume = job["resume"] is True or _branches_off(job, config.workdir)
        name = str(job["episode"])
        with ZorkOrchestratorV2(name, config, resume=resume, handlers=handlers) as it:
            it.play_episode()
    except Exception as error:  # noqa: BLE001  the edge of the process: its last line is shown
        text = f"{traceback.format_exc()}\n{one_line(error) or type(error).__name__}\n"
        sys.stderr.write(redact(text, config.secrets))
        return 1
    return 0


def _branches_off(job: dict[str, object], workdir: str) -> bool:
    """Whether the episode is a branch, which then begins like its trunk."""
    from session.record.branch import branch_off

    if isinstance(fork := job.get("fork"), list):
        trunk, turn = fork
        branch_off(Path(trunk), turn, Path(workdir, "episodes", str(job["episode"])))
        return True
    return False


def _expect_the_same(program: object) -> None:
    """Refuse to play with other prompts or code than the evaluation was agreed on for."""
    from evaluation.agreement import differences, program_at_hand
    from session.configuration_file import ConfigurationError

    if isinstance(program, dict) and (changed := differences(program, program_at_hand())):
        raise ConfigurationError(
            f"Prompts or code changed while the evaluation was running: {'; '.join(changed)}."
        )


if __name__ == "__main__":
    sys.exit(main())
