"""An agent of the OpenAI Agents SDK, on the same scoreboard as our own players.

    uv venv agents && uv pip install --python agents/bin/python openai-agents
    uv run python scripts/evaluate.py --story bundled --player model \
        --player "mcp:agents/bin/python examples/openai_agents_player.py gpt-5-mini"

The evaluation starts it once for each game, and GAME_SERVER_URL says where that is.
"""

import asyncio
import os
import sys

from agents import Agent, ModelSettings, Runner, set_default_openai_api, set_tracing_disabled
from agents.exceptions import MaxTurnsExceeded
from agents.mcp import MCPServerStreamableHttp

TASK = (
    "Begin the game, and win as many points as you can. Go on until it tells you that it is over."
)


async def main(model: str) -> None:
    """Play until the game, or the agent, ends."""
    set_tracing_disabled(True)
    set_default_openai_api("chat_completions")
    where = {"url": os.environ["GAME_SERVER_URL"]}
    async with MCPServerStreamableHttp(params=where, client_session_timeout_seconds=60) as game:
        agent = Agent(
            name="player",
            instructions="You play a text adventure by calling tools.",
            model=model,
            mcp_servers=[game],
            model_settings=ModelSettings(tool_choice="auto"),
        )
        try:
            print((await Runner.run(agent, TASK, max_turns=1000)).final_output)
        except MaxTurnsExceeded:
            print("I have played enough.")


asyncio.run(main(sys.argv[1]))
