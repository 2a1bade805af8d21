"""The critic: a model's judgement of a command, behind the same interface as the rules.

Its failures do no harm: a critic that cannot be asked or understood accepts, and says so in the
log.
"""

import logging

from pydantic import BaseModel, ValidationError

from game_interface import Facts
from llm_client import LLMClient, completed
from managers.action_check import Verdict, VerdictKind
from mcp_ghost.errors import LLMError
from mcp_ghost.messages import Usage
from mcp_ghost.text import one_line
from prompts import load_prompt
from session.events import log_event
from session.game_configuration import GameConfiguration
from shared_utils import create_json_schema, extract_json

_RECORDED_CHARACTERS = 2000
_REASON_CHARACTERS = 300


class CriticAnswer(BaseModel):
    """The form of the model's answer."""

    verdict: VerdictKind
    reason: str


class Critic:
    """Asks the model of the role ``critic``: one call for each command."""

    def __init__(
        self, config: GameConfiguration, client: LLMClient, logger: logging.Logger | None = None
    ) -> None:
        """``client`` must be one for the endpoint of ``config.role("critic")``."""
        self._role = config.role("critic")
        self._client = client
        self._logger = logger or logging.getLogger("zorkgpt.critic")

    async def check(self, command: str, facts: Facts, situation: str = "") -> Verdict:
        """The model's verdict on ``command`` in that ``situation``."""
        try:
            response = await completed(
                self._client,
                model=self._role.model,
                messages=[
                    {"role": "system", "content": load_prompt("critic", "full")},
                    {"role": "user", "content": f"{situation}\n\nCommand: {command}"},
                ],
                **self._role.sampling,
                response_format=create_json_schema(CriticAnswer),
                name="Critic",
            )
        except LLMError as error:
            return self._give_way(f"The critic could not be asked: {error}", error.usage)
        try:
            answer = CriticAnswer.model_validate(extract_json(response.content or ""))
        except ValidationError as error:
            problem = f"The critic's answer cannot be read: {error.errors()[0]['msg']}"
            return self._give_way(problem, response.spent, response.content or "")
        reason = one_line(answer.reason, _REASON_CHARACTERS)
        if not reason and answer.verdict != "accept":
            reason = "The critic gave no reason."
        return Verdict(kind=answer.verdict, reason=reason, usage=response.spent)

    def _give_way(self, problem: str, usage: Usage, said: str = "") -> Verdict:
        message = f"{problem} The command is accepted."
        fields = {"error": problem, "raw_response": said[:_RECORDED_CHARACTERS]}
        log_event(self._logger, logging.WARNING, message, "critic_failed", **fields)
        return Verdict(kind="accept", usage=usage)
