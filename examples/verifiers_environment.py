"""An environment for `verifiers`: a model plays through the games' MCP server.

    uv sync
    uv venv agents && uv pip install --python agents/bin/python verifiers "mcp<2"
    agents/bin/python examples/verifiers_environment.py gpt-5-mini

The key comes from OPENAI_API_KEY.
"""

import os
import re
import sys

import verifiers as vf
from datasets import Dataset
from verifiers.envs.experimental.mcp_env import MCPEnv
from verifiers.types import ClientConfig

SERVER = ["run", "python", "-m", "game_server", "--story", "bundled", "--level", "status"]
ASKED = (
    "Begin a new game with the seed {}, name it in every call, and win as many points as you can."
)


def points(completion: list[vf.types.Message]) -> float:
    """The score that the game told last."""
    told = "\n".join(str(message.content) for message in completion if message.role == "tool")
    return float((re.findall(r"Score: (-?\d+)", told) or ["0"])[-1])


def load_environment(seeds: int = 3) -> vf.Environment:
    """The bundled story, with several seeds; its games share one server."""
    prompts = [[{"role": "user", "content": ASKED.format(seed)}] for seed in range(1, seeds + 1)]
    server = {"name": "zorkgpt", "command": "uv", "args": SERVER}
    data, rubric = Dataset.from_dict({"prompt": prompts}), vf.Rubric(funcs=[points])
    return MCPEnv(mcp_servers=[server], max_turns=60, eval_dataset=data, rubric=rubric)


if __name__ == "__main__":
    address = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    client = ClientConfig(api_key_var="OPENAI_API_KEY", api_base_url=address)
    played = load_environment(1).evaluate_sync(client, sys.argv[1], num_examples=1)
    print(*(f"{rollout['reward']:g} points" for rollout in played["outputs"]), sep="\n")
