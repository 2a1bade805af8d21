"""Plays an episode in a process of its own: EPISODE BASE_URL MAX_TURNS [resume]."""

from __future__ import annotations

import sys

from orchestration.zork_orchestrator_v2 import ZorkOrchestratorV2
from session.game_configuration import GameConfiguration


def main(episode_id: str, base_url: str, max_turns: str, resume: str = "") -> None:
    config = GameConfiguration(
        client_base_url=base_url,
        story="bundled",
        seed=7,
        max_turns_per_episode=int(max_turns),
        reflection_enabled=True,
        reflection_interval_turns=4,
    )
    ZorkOrchestratorV2(episode_id, config, resume=bool(resume)).play_episode()


if __name__ == "__main__":
    main(*sys.argv[1:])
