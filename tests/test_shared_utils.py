from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from mcp_ghost.testing.refusals import refusal
from shared_utils import create_json_schema


class Direction(StrEnum):
    NORTH = "north"
    SOUTH = "south"


class Step(BaseModel):
    """One step."""

    direction: Direction
    times: int = Field(default=1, ge=1, le=9)


class Plan(BaseModel):
    thinking: str = Field(min_length=1, description="Why.")
    action: str = Field(pattern="^[a-z ]+$", max_length=100)
    new_objective: str | None = None
    mood: Literal["calm"] = "calm"
    steps: list[Step] = []
    first: Step = Field(default=Step(direction=Direction.NORTH), description="To begin with.")
    then: "Plan | None" = None


def is_accepted(response_format: dict[str, Any]) -> str | None:
    """What the strict model server says of it; it knows OpenAI's rules."""
    messages = [{"role": "user", "content": "Answer."}]
    return refusal({"model": "m", "messages": messages, "response_format": response_format})


def test_a_schema_is_strict_and_named_after_its_class() -> None:
    assert create_json_schema(Step) == {
        "type": "json_schema",
        "json_schema": {
            "name": "Step",
            "strict": True,
            "schema": {
                "type": "object",
                "description": "One step.",
                "properties": {
                    "direction": {"$ref": "#/$defs/Direction"},
                    "times": {"type": "integer"},
                },
                "required": ["direction", "times"],
                "additionalProperties": False,
                "$defs": {"Direction": {"type": "string", "enum": ["north", "south"]}},
            },
        },
    }


def test_nested_optional_and_recursive_models_are_accepted() -> None:
    response_format = create_json_schema(Plan)
    assert is_accepted(response_format) is None
    schema = response_format["json_schema"]["schema"]
    assert schema["required"] == list(Plan.model_fields)
    assert schema["properties"]["thinking"] == {"type": "string", "description": "Why."}
    assert {"type": "null"} in schema["properties"]["new_objective"]["anyOf"]


def test_a_plain_pydantic_schema_would_have_been_refused() -> None:
    response_format = create_json_schema(Plan)
    response_format["json_schema"]["schema"] = Step.model_json_schema()
    assert is_accepted(response_format) is not None


def test_the_name_fits_the_providers_whatever_the_class_is_called() -> None:
    odd = create_model("Großer Plan[" + "x" * 80, action=(str, ...))
    response_format = create_json_schema(odd)
    assert is_accepted(response_format) is None
    assert response_format["json_schema"]["name"].startswith("Gro_er_Plan_x")


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (dict[str, int], "arbitrary keys"),
        (Any, "any type"),
        (list[Any], "any type"),
        (tuple[int, str], "tuples"),
    ],
)
def test_what_strict_mode_cannot_express_is_named(kind: Any, why: str) -> None:  # noqa: ANN401  a type
    odd = create_model("Odd", nested=(create_model("Inner", field=(kind, ...)), ...))
    with pytest.raises(ValueError, match=rf"Inner\.field.*{why}"):
        create_json_schema(odd)


FIELDS = [int, str, float, bool, str | None, int | str, list[str], Step, Step | None, Direction]


@settings(max_examples=100, deadline=None)
@given(
    fields=st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True), st.sampled_from(FIELDS), max_size=6
    )
)
def test_every_model_of_ordinary_fields_is_accepted(fields: dict[str, Any]) -> None:
    definitions: dict[str, Any] = {f"f_{name}": (kind, ...) for name, kind in fields.items()}
    assert is_accepted(create_json_schema(create_model("Answer", **definitions))) is None
