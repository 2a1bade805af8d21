"""Inspect AI plays, through the games' MCP server; each sample has a server of its own.

    uv sync
    uv venv agents && uv pip install --python agents/bin/python inspect-ai mcp openai
    agents/bin/inspect eval examples/inspect_ai_task.py --model openai/gpt-5-mini --message-limit 60

The server allows one game: what is scored is that one, not the best of several.
"""

import re

from inspect_ai import Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState
from inspect_ai.tool import mcp_server_stdio

LIMITS = ["--story", "bundled", "--level", "status", "--games", "1"]
SERVER = ["run", "python", "-m", "game_server", *LIMITS]


@task
def text_adventure(seeds: int = 3) -> Task:
    """The bundled story, with several seeds."""
    game = mcp_server_stdio(name="zorkgpt", command="uv", args=SERVER)
    asked = "Begin a new game with the seed {}, and win as many points as you can."
    samples = [Sample(input=asked.format(seed)) for seed in range(1, seeds + 1)]
    return Task(dataset=samples, solver=react(tools=[game]), scorer=points())


@scorer(metrics=[mean()])
def points() -> Scorer:
    """The score that the game told last."""

    async def score(state: TaskState, target: Target) -> Score:
        told = "\n".join(message.text for message in state.messages if message.role == "tool")
        scores = re.findall(r"Score: (-?\d+)", told)
        if not scores:
            return Score(value=0, explanation="The agent saw no score: it has not begun a game.")
        return Score(value=int(scores[-1]))

    return score
