"""A Pydantic AI agent, on the same scoreboard as our own players.

    uv venv agents && uv pip install --python agents/bin/python "pydantic-ai-slim[mcp,openai]"
    uv run python scripts/evaluate.py --story bundled --player model \
        --player "mcp:agents/bin/python examples/pydantic_ai_player.py openai-chat:gpt-5-mini"

The evaluation starts it once for each game, and GAME_SERVER_URL says where that is.
"""

import asyncio
import os
import sys

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.mcp import MCPToolset

TASK = (
    "Begin the game, and win as many points as you can. Go on until it tells you that it is over."
)


async def main(model: str) -> None:
    """Play until the game, or the agent, ends."""
    game = MCPToolset(os.environ["GAME_SERVER_URL"])
    agent = Agent(
        model, instructions="You play a text adventure by calling tools.", toolsets=[game]
    )
    async with agent:
        played = await agent.run(TASK, usage_limits=UsageLimits(request_limit=1000))
    print(played.output)


asyncio.run(main(sys.argv[1]))
