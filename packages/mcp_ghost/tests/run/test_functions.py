"""Functions of the calling program as tools."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from mcp_ghost.testing import ModelServer, tool_reply
from mcp_ghost.toolset import Call, Kind
from mcp_ghost.toolsets.functions import Functions
from tests.support.ghosts import ghost
from tests.support.servers import faulty

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_ghost.testing import Reply


class Parcel(BaseModel):
    grams: int


@dataclass
class Price:
    cents: int


async def price(
    parcel: Parcel,
    speed: Literal["slow", "fast"] = "slow",
    copies: Annotated[int, Field(description="How many parcels.", ge=1)] = 1,
) -> Price:
    """What it costs to send a parcel."""
    return Price(parcel.grams * copies * (2 if speed == "fast" else 1))


def thread() -> str:
    """The name of the thread."""
    return threading.current_thread().name


def broken(text: str) -> None:
    """Fails."""
    raise KeyError(text)


def leaves() -> None:
    """Ends the program, as argparse does."""
    sys.exit(2)


async def run(
    script: Sequence[Reply | str],
    tools: Sequence[Callable[..., Any]],
    servers: dict[str, Any] | None = None,
    **options: Any,  # noqa: ANN401  those of mcp_ghost
) -> tuple[dict[str, Any], ModelServer]:
    with ModelServer(script) as model:
        result = await ghost(model, servers or {}, tools=tools, **options)
    return result, model


async def test_a_function_is_offered_as_it_describes_itself_and_gets_checked_arguments() -> None:
    script: list[Reply | str] = [
        tool_reply([("python.price", {"parcel": {"grams": 5}, "speed": "fast", "copies": 3})]),
        "30 cents.",
    ]
    result, model = await run(script, [price])
    (offered,) = [tool["function"] for tool in model.requests[0].body["tools"]]
    assert offered["name"] == "mcp_ghost_python_price"
    assert offered["description"] == "What it costs to send a parcel."
    properties = offered["parameters"]["properties"]
    assert properties["copies"]["description"] == "How many parcels."
    assert properties["speed"]["enum"] == ["slow", "fast"]
    (link,) = result["tool_chain"]
    assert (link["tool_name"], link["result"]) == ("python.price", {"cents": 30})
    assert (result["success"], result["final_result"]) == (True, "30 cents.")


async def test_functions_stand_beside_servers_and_under_the_same_rules() -> None:
    calls = tool_reply([("a.echo", {"text": "x"}), ("python_.thread", {}), ("python_.price", {})])
    servers = {"a": faulty(), "python": faulty()}
    result, _ = await run([calls, "Done."], [thread, price], servers, deny=["price"])
    echo, where, forbidden = result["tool_chain"]
    assert (echo["result"], where["success"]) == ("x", True)
    assert where["result"] != threading.current_thread().name
    assert "Unknown tool" in forbidden["error"]
    assert result["execution_metadata"]["servers_connected"] == 2


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (("python.broken", {"text": "lamp"}), "KeyError: 'lamp'"),
        (
            ("python.price", {"parcel": {"grams": "x"}, "copies": 0}),
            "These arguments cannot be used. parcel.grams: Input should be a valid integer",
        ),
        (("python.thread", {"text": "x"}), "text: Unexpected keyword argument"),
        (("python.leaves", {}), "SystemExit: 2"),
    ],
)
async def test_what_goes_wrong_in_a_function_is_its_own_error(
    call: tuple[str, dict[str, Any]], error: str
) -> None:
    result, model = await run([tool_reply([call]), "So be it."], [price, thread, broken, leaves])
    assert error in result["tool_chain"][0]["error"]
    assert error in str(model.requests[1].messages[-1]["content"])
    assert result["success"]


@pytest.mark.parametrize("beside", [[], [("a.echo", {"text": "x"})]])
async def test_a_function_whose_task_was_cancelled_ends_the_run_so(
    beside: list[tuple[str, dict[str, Any]]],
) -> None:
    async def joins() -> None:
        """Waits for a task that somebody has cancelled."""
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    calls = tool_reply([("python.joins", {}), *beside])
    with pytest.raises(asyncio.CancelledError):
        await run([calls, "Done."], [joins], {"a": faulty()} if beside else {})


async def test_a_function_that_does_not_return_is_given_up() -> None:
    release = threading.Event()

    def waits() -> None:
        """Waits."""
        release.wait(20)

    outcome = await Functions([waits]).call(Call("waits", {}, timeout=0.1))
    release.set()
    assert (outcome.kind, outcome.was_sent) == (Kind.TIMEOUT, True)
    with pytest.raises(TimeoutError, match=r"'waits' did not return within 0.1 s"):
        outcome.unwrap()


async def test_what_a_function_says_of_its_effects_counts() -> None:
    asked: list[str] = []

    async def approve(tool: str, *_: object) -> bool:
        asked.append(tool)
        return True

    def look() -> str:
        """Looks."""
        return "ok"

    look.annotations = {"readOnlyHint": True}  # type: ignore[attr-defined]  # as a program would
    calls = tool_reply([("python.look", {}), ("python.thread", {})])
    await run([calls, "Done."], deque([look, thread]), approve=approve)  # any sequence will do
    assert asked == ["python.thread"]


@pytest.mark.parametrize("tools", [[lambda: 1], [thread, thread], "thread", [1]])
async def test_what_cannot_be_a_tool_is_an_error_before_anything_starts(tools: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"^tools"):
        await run([], tools)


async def test_a_signature_without_a_schema_is_an_error_that_names_the_function() -> None:
    def place(where: Callable[..., int]) -> None:
        """Puts it somewhere."""

    def nameless(where: int, /) -> None:
        """Puts it somewhere."""

    for function in (place, nameless):
        with pytest.raises(ValueError, match=rf"^tools: {function.__name__} cannot be described"):
            await run([], [function])
