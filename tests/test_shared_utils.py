import asyncio
import contextvars
import inspect
import threading
from concurrent.futures import CancelledError
from contextlib import nullcontext, suppress
from enum import StrEnum
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from mcp_ghost.testing.refusals import refusal
from shared_utils import LoopThread, create_json_schema, run_in_daemon_thread
from tests.support import FOREVER, PATIENCE


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


def test_a_daemon_thread_hands_back_results_errors_and_context() -> None:
    variable = contextvars.ContextVar("variable", default="unset")

    def work(number: int, *, fail: bool = False) -> tuple[int, str, bool]:
        if fail:
            raise KeyError("no")
        return number, variable.get(), threading.current_thread().daemon

    async def use() -> None:
        variable.set("set")
        assert await run_in_daemon_thread(work, 7) == (7, "set", True)
        with pytest.raises(KeyError, match="no"):
            await run_in_daemon_thread(work, 7, fail=True)

    asyncio.run(use())


def test_a_cancelled_wait_does_not_wait_for_the_thread() -> None:
    release, finished = threading.Event(), threading.Event()

    def work() -> None:
        release.wait(PATIENCE)
        finished.set()

    async def use() -> None:
        waiting = asyncio.create_task(run_in_daemon_thread(work))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(use())  # would hang here with asyncio.to_thread
    assert not finished.is_set()
    release.set()
    assert finished.wait(PATIENCE)


def test_a_call_that_is_cancelled_before_it_begins_is_closed() -> None:
    entered, go_on = threading.Event(), threading.Event()

    async def keep_the_loop_busy() -> None:
        entered.set()
        go_on.wait(PATIENCE)

    thread = LoopThread(nullcontext(), lambda: ValueError("closed here"))
    thread.submit(keep_the_loop_busy())
    assert entered.wait(PATIENCE)
    call = asyncio.sleep(FOREVER)
    assert thread.submit(call).cancel()
    go_on.set()
    thread.close()
    assert inspect.getcoroutinestate(call) == inspect.CORO_CLOSED


def test_a_call_that_is_cut_off_before_stop_returns_learns_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    thread = LoopThread(nullcontext(), lambda: ValueError("closed here"))
    call = thread.submit(asyncio.sleep(FOREVER))

    tell = asyncio.SelectorEventLoop.call_soon_threadsafe

    def tell_and_look_on(*arguments: Any) -> asyncio.Handle:  # noqa: ANN401
        handle = tell(*arguments)
        with suppress(CancelledError):
            call.exception(PATIENCE)
        return handle

    monkeypatch.setattr(asyncio.SelectorEventLoop, "call_soon_threadsafe", tell_and_look_on)
    thread.stop()
    with pytest.raises(ValueError, match="closed here"):
        call.result(PATIENCE)
    thread.close()
