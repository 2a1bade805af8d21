"""The model's answer: the form that is asked for, and the command read out of it."""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from game_interface.command_guard import validate_command
from game_interface.errors import InvalidCommandError
from game_interface.machine.facts import Waits
from session.configuration_file import problems_of
from session.objectives import UNCHANGED
from shared_utils import create_json_schema, extract_json

PLAN_CHARACTERS = 600
"""Of a plan, which every later prompt repeats."""


class UnplayableError(ValueError):
    """Raised when an answer is a command that the game must not be given, or not at this point."""


class AgentResponse(BaseModel):
    """What the model answers with."""

    thinking: str
    action: str
    new_objective: str | None = None
    nav_target: Annotated[str, Field(coerce_numbers_to_str=True)] | None = None
    """A room's name or its number, which models without a schema give as a number."""
    plan: str | None = None
    """Handed back word for word until another one replaces it; None keeps it."""
    close_objective: str | None = None
    """The id of an objective that is done or given up, and why."""


def answer_format(candidates: Sequence[str] = ()) -> dict[str, Any]:
    """Make the ``response_format`` of an answer, its action one of ``candidates`` if any."""
    response_format = create_json_schema(AgentResponse)
    if not candidates:
        return response_format
    # For a model that needs a menu, every free word is a chance to lose the thread. Strict
    # mode has no lengths: OpenAI refuses them.
    properties = {
        "thinking": {"type": "string", "maxLength": 120},
        "action": {"type": "string", "enum": list(candidates)},
    }
    named = response_format["json_schema"]
    schema = {**named["schema"], "properties": properties, "required": list(properties)}
    return {**response_format, "json_schema": {**named, "strict": False, "schema": schema}}


def read_answer(content: str, waits_for: "Waits | None" = "line") -> tuple[AgentResponse, str]:
    """Return the answer in ``content``, and its command made ready for what the game waits for.

    Raises:
        ValueError: It is not an AgentResponse.
        UnplayableError: Its action is not a valid command.
    """
    found = extract_json(content)
    if found is None:
        raise ValueError("no JSON object")
    try:
        answer = AgentResponse.model_validate(found)
    except ValidationError as error:
        raise ValueError(problems_of(error)) from error
    action = answer.action
    if waits_for != "key":  # without what models like to wrap around a command
        action = action.strip().strip("`").removeprefix(">").strip()
        if action.startswith(('"', "'")):  # one that only stands at the end belongs to the command
            action = action.strip("\"'")
        action = action.strip().rstrip(".")
    try:
        return answer, validate_command(action, waits_for)
    except InvalidCommandError as error:
        raise UnplayableError(f"action: {error}") from error


def plan_in(said: str | None) -> str | None:
    """Return the plan that an answer gives; None where the plan before it holds."""
    text = (said or "").strip()
    if text.casefold().strip(" .") in UNCHANGED:
        return None
    return text if len(text) <= PLAN_CHARACTERS else text[: PLAN_CHARACTERS - 1] + "…"
