"""The player `chat`: a plain model that reads the game's words, all of them, and answers."""

from game_interface import Facts
from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from llm_client import PLAYER, LLMClient
from managers.context_manager import hints_of, keys_of
from mcp_ghost.errors import LLMError
from mcp_ghost.messages import Message
from players.player import Player
from prompts import load_prompt, with_hints
from session.game_configuration import GameConfiguration
from session.game_state import Decision, GameState, Observation, TurnRecord
from session.knowledge import CarriedOver
from zork_agent import RECORDED_CHARACTERS, is_incurable

_LEFT_OUT = "(What came before is left out.)"
_MAY_RESTORE = (
    "Before what the game prints stands the number of the turn to come. Answer `restore N` to take "
    "the game back to what it was before turn N, or `restart` to start over; either costs a turn."
)


class ChatPlayer(Player):
    """Keeps the conversation: it only grows, so that providers bill most of it as cached."""

    def __init__(self, config: GameConfiguration, client: LLMClient) -> None:
        role = config.role("agent")
        self.model, self.base_url = role.model, role.base_url
        self._sampling = role.sampling
        self._client = client
        self._turns_shown = config.player_history_turns
        self._numbers_turns = config.rules_restore
        prompt = load_prompt("chat", "full") + f" {_MAY_RESTORE}" * self._numbers_turns
        prompt = with_hints(prompt, config.player_hints)
        self._head: Message = {"role": "system", "content": prompt}
        self._said: list[Message] = []

    def begin(self, opening: str, observation: Observation, carried: CarriedOver) -> None:
        """Begin with the game's first words."""
        self._said = [self._printed(1, opening)]

    def take_in(self, record: TurnRecord) -> None:
        """Add what was answered, and what the game said to that."""
        self._said += [
            {"role": "assistant", "content": record.proposed or record.command or "(nothing)"},
            self._printed(record.turn + 1, record.response),
        ]

    def _printed(self, turn: int, text: str) -> Message:
        number = f"[Turn {turn}]\n" if self._numbers_turns else ""
        return {"role": "user", "content": f"{number}{text.strip()}"}

    def decide(self, state: GameState, facts: Facts) -> Decision:
        """Return the model's answer, as it is."""
        most = 2 * (self._turns_shown or len(self._said)) + 1
        *earlier, last = self._said[-most:]
        told = "\n\n".join([last["content"], *keys_of(state), *hints_of(state)])
        messages: list[Message] = [*earlier, {**last, "content": told}]
        if len(messages) < len(self._said):
            messages[0] = {"role": "user", "content": f"{_LEFT_OUT}\n\n{messages[0]['content']}"}
        try:
            reply = self._client.chat_completions_create(
                model=self.model, messages=[self._head, *messages], name=PLAYER, **self._sampling
            )
        except LLMError as error:
            return Decision(
                action="",
                reasoning="",
                failure=f"The model could not be asked: {error}",
                answered=False,
                incurable=is_incurable(error),
                usage=error.usage,
            )
        said, usage = (reply.content or "").strip()[:RECORDED_CHARACTERS], reply.spent
        try:
            command = validate_command(said, facts.waits_for)
            return Decision(command, "", proposed=said, usage=usage)
        except InvalidCommandError as error:
            failure = f"{error}."
            return Decision(
                said, "", proposed=said, failure=failure, unplayable=bool(said), usage=usage
            )
