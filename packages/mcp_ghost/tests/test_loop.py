"""The loop by itself: what it asks, what the model is told of its calls, and how it ends."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost.errors import MCPServerDiedError
from mcp_ghost.loop import Batch, LoopEnd, LoopObserver, run_loop
from mcp_ghost.media import Gallery
from mcp_ghost.messages import LLMResponse, assistant_message, tool_message
from mcp_ghost.results import ResultBudget, ToolCallResult
from mcp_ghost.run.calls import CallPolicy, Calls
from mcp_ghost.run.ledger import Ledger, PausedError
from mcp_ghost.toolset import MAY_HAVE_ACTED, Kind, Outcome, Tool, Toolset, outcome_of
from tests.support.fakes import answer, batch, calls, schema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_ghost.messages import Message
    from mcp_ghost.toolset import Call


class Conversation:
    """A model that gives ``replies`` in order, and calls that all end with ``end``."""

    def __init__(self, *replies: LLMResponse, end: LoopEnd | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        """The number of messages and the iteration of each request."""
        self.answered: list[int] = []
        self._replies = replies
        self._end = end

    async def ask(self, messages: list[Message], iteration: int) -> LLMResponse:
        self.asked.append((len(messages), iteration))
        return self._replies[len(self.asked) - 1]

    async def answer_calls(self, response: LLMResponse, iteration: int) -> Batch:
        self.answered.append(iteration)
        return Batch([tool_message(call.id, "") for call in response.tool_calls or ()], self._end)


@pytest.mark.parametrize(
    ("replies", "batch_end", "end"),
    [
        ([batch(2), batch(1), answer("north")], None, LoopEnd.ANSWER),
        ([batch(2), batch(1), answer(" \n")], None, LoopEnd.EMPTY_REPLY),
        ([batch(2), batch(1), answer(None)], None, LoopEnd.EMPTY_REPLY),
        ([batch(2), batch(1), batch(1)], None, LoopEnd.LIMIT),
        ([batch(2), answer("north")], LoopEnd.TOOLS_LOST, LoopEnd.TOOLS_LOST),
    ],
)
async def test_the_result_is_the_last_reply_with_why_and_when_it_was_the_last(
    replies: list[LLMResponse], batch_end: LoopEnd | None, end: LoopEnd
) -> None:
    model = Conversation(*replies, end=batch_end)
    messages: list[Message] = [{"role": "user", "content": "?"}]
    observer = Recorder()
    result = await run_loop(
        messages,
        ask=model.ask,
        answer_calls=model.answer_calls,
        max_iterations=3,
        observer=observer,
    )
    rounds = 1 if batch_end else 3
    assert (result.response, result.end, result.iterations) == (replies[rounds - 1], end, rounds)
    assert model.asked == [(1, 1), (4, 2), (6, 3)][:rounds]
    assert observer.heard == [("iteration", each) for _, each in model.asked]
    assert [each["role"] for each in messages[:4]] == ["user", "assistant", "tool", "tool"]
    assert model.answered == [each for _, each in model.asked if replies[each - 1].tool_calls]


async def test_a_call_in_words_is_sent_back_once_and_ends_the_loop_the_second_time() -> None:
    spoken = answer('{"name": "s.a", "arguments": {}}')
    model = Conversation(batch(1), spoken, spoken)
    messages: list[Message] = [{"role": "user", "content": "?"}]
    result = await run_loop(
        messages,
        ask=model.ask,
        answer_calls=model.answer_calls,
        max_iterations=5,
        tools=lambda: ["s.a"],
    )
    assert (result.response, result.end, result.iterations) == (spoken, LoopEnd.SPOKEN_CALL, 3)
    roles = [it["role"] for it in messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[-1]["content"].startswith("You wrote a tool call as text")


async def test_a_reply_that_paused_goes_back_as_it_is_and_the_model_goes_on() -> None:
    paused = LLMResponse("So far.", "m", finish_reason="pause_turn")
    model = Conversation(paused, answer("north"))
    messages: list[Message] = [{"role": "user", "content": "?"}]
    result = await run_loop(
        messages, ask=model.ask, answer_calls=model.answer_calls, max_iterations=5
    )
    assert (result.end, result.iterations) == (LoopEnd.ANSWER, 2)
    assert messages[1:] == [assistant_message(paused)]


class Recorder(LoopObserver):
    """Notes what it is told; calls by the tool that they name, seconds in whole minutes."""

    def __init__(self) -> None:
        self.heard: list[tuple[object, ...]] = []

    def iteration_started(self, iteration: int) -> None:
        self.heard.append(("iteration", iteration))

    def tool_called(self, call: Call) -> None:
        self.heard.append(("called", call.name, call.arguments))

    def tool_finished(self, call: Call, result: ToolCallResult, seconds: float) -> None:
        self.heard.append(("finished", call.name, result.content, seconds // 60))

    def tool_failed(self, call: Call, outcome: Outcome) -> None:
        self.heard.append(("failed", call.name, outcome.reason, outcome.seconds // 60))

    def tool_timed_out(self, call: Call, seconds: float) -> None:
        self.heard.append(("timed out", call.name, seconds // 60))

    def tools_skipped(self, calls: Sequence[Call], reason: str) -> None:
        self.heard.append(("skipped", [call.name for call in calls], reason))


class Raising(Toolset):
    """Tools that answer as ``call_tool`` does; those that ``reads`` names only read."""

    def __init__(
        self,
        call_tool: Callable[[str, dict[str, Any]], Awaitable[ToolCallResult]],
        reads: Sequence[str] = (),
    ) -> None:
        self._call_tool = call_tool
        self._reads = reads

    @property
    def tools(self) -> dict[str, Tool]:
        return {name: Tool(name, schema(name), {"readOnlyHint": True}) for name in self._reads}

    async def call(self, call: Call) -> Outcome:
        return await outcome_of(self._call_tool(call.name, call.arguments))


async def echo(name: str, arguments: dict[str, Any]) -> ToolCallResult:
    return ToolCallResult({name: arguments})


@pytest.mark.parametrize(
    ("error", "outcome", "reason", "end"),
    [
        (TimeoutError(), ("timed out", "s.last", 3), "timed out", None),
        (
            MCPServerDiedError("It left X."),
            ("failed", "s.last", "It left X.", 3),
            "lost the server",
            LoopEnd.TOOLS_LOST,
        ),
    ],
)
async def test_model_and_observer_are_told_of_every_call_of_a_batch(
    error: Exception,
    outcome: tuple[object, ...],
    reason: str,
    end: LoopEnd | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    minutes, clock = 0, time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: clock() + 60 * minutes)

    async def call_tool(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        nonlocal minutes
        minutes += 1 if name == "s.good" else 2 if name == "s.bad" else 3
        if name == "s.good":
            return await echo(name, arguments)
        raise ZeroDivisionError if name == "s.bad" else error

    names = ("s.good", "s.bad", "s.last", "s.good", "s.left")
    reply = calls(*((name, '{"n": 1}') for name in names))
    observer = Recorder()
    told = await Calls(Raising(call_tool), observer=observer).answer(reply, 1)
    skipped = f"Skipped: the call of s.last before it {reason}"
    assert told.end is end
    assert [each["tool_call_id"] for each in told.answers] == [
        call.id for call in reply.tool_calls or ()
    ]
    assert ["is_error" in each for each in told.answers] == [False, True, True, True, True]
    good, bad, last, *left = [json.loads(each["content"]) for each in told.answers]
    assert good == {"content": {"s.good": {"n": 1}}}
    assert bad["error"] == "Tool call failed: ZeroDivisionError"  # it has no words of its own
    failed = r"Tool call (failed: It left X|timed out after 1[89]\ds)\. "
    assert re.fullmatch(failed + re.escape(MAY_HAVE_ACTED), last["error"])
    assert [each["error"] for each in left] == [skipped, skipped]
    assert observer.heard == [
        ("called", "s.good", {"n": 1}),
        ("finished", "s.good", {"s.good": {"n": 1}}, 1),
        ("called", "s.bad", {"n": 1}),
        ("failed", "s.bad", "ZeroDivisionError", 2),
        ("called", "s.last", {"n": 1}),
        outcome,
        ("skipped", ["s.good", "s.left"], skipped),
    ]


async def test_calls_that_only_read_run_side_by_side_and_others_in_their_order() -> None:
    running: list[str] = []
    most: dict[str, int] = {}

    async def call_tool(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        running.append(name)
        for _ in range(3):
            most[name] = max(most.get(name, 0), len(running))
            await asyncio.sleep(0)
        running.remove(name)
        if arguments.get("late"):
            raise TimeoutError
        return ToolCallResult(arguments)

    reads = [("s.read", f'{{"n": {n}}}') for n in range(4)]
    wanted = calls(*reads, ("s.write", "{}"), ("s.read", '{"late": 1}'), ("s.write", "{}"))
    toolset = Raising(call_tool, reads=["s.read"])
    told = await Calls(toolset, CallPolicy(max_parallel=3)).answer(wanted, 1)
    assert most == {"s.read": 3, "s.write": 1}
    said = [json.loads(each["content"]) for each in told.answers]
    assert said[:5] == [*({"content": {"n": n}} for n in range(4)), {"content": {}}]
    assert said[5]["error"].startswith("Tool call timed out")
    assert "taken effect" not in said[5]["error"]  # it only reads
    assert said[6]["error"] == "Skipped: the call of s.read before it timed out"
    assert told.answers[6]["kind"] == Kind.SKIPPED


async def test_one_of_several_calls_side_by_side_that_takes_too_long_ends_the_batch() -> None:
    async def call_tool(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        if arguments.get("late"):
            raise TimeoutError
        return ToolCallResult("read")

    wanted = calls(("s.read", "{}"), ("s.read", '{"late": 1}'), ("s.read", "{}"), ("s.write", "{}"))
    toolset = Raising(call_tool, reads=["s.read"])
    told = await Calls(toolset, CallPolicy(max_parallel=3)).answer(wanted, 1)
    assert [it.get("kind") for it in told.answers] == [None, Kind.TIMEOUT, None, Kind.SKIPPED]


async def test_after_a_question_only_what_waited_for_its_answer_is_called() -> None:
    made: list[str] = []

    class Asking(Raising):
        async def call(self, call: Call) -> Outcome:
            made.append(call.name)
            if made == ["s.first", "s.second"]:
                return Outcome.without_result(Kind.QUESTION, "Which one?")
            return await super().call(call)

    reply = calls(("s.first", "{}"), ("s.second", "{}"), ("s.third", "{}"))
    second = reply.tool_calls[1].id if reply.tool_calls else ""
    executor = Calls(Asking(echo), ledger=Ledger(started={second}))
    with pytest.raises(PausedError):
        await executor.answer(reply, 1)
    assert second not in executor.ledger.started
    told = await executor.answer(reply, 1)
    assert made == ["s.first", "s.second", "s.second", "s.third"]
    assert "s.first" in told.answers[0]["content"]


async def test_a_text_that_is_the_json_of_what_the_schema_wants_is_read_as_that() -> None:
    class Wanting(Raising):
        @property
        def tools(self) -> dict[str, Tool]:
            tool = schema("s.add")
            tool["function"]["parameters"] = {"properties": {"numbers": {"type": "array"}}}
            return {"s.add": Tool("s.add", tool)}

    told = await Calls(Wanting(echo)).answer(calls(("s.add", '{"numbers": "[1, 2]"}')), 1)
    assert json.loads(told.answers[0]["content"])["content"] == {"s.add": {"numbers": [1, 2]}}


async def test_what_a_tool_calls_an_error_is_marked_as_one() -> None:
    async def fail(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(None, is_error=True, error_message=f"{name} is closed.")

    told = await Calls(Raising(fail)).answer(calls(("s.a", "{}")), 1)
    assert [it["kind"] for it in told.answers] == [Kind.TOOL_ERROR]


@pytest.mark.parametrize("gallery", [None, Gallery()])
@pytest.mark.parametrize("is_error", [False, True])
async def test_images_are_attached_where_there_is_a_gallery_and_no_error(
    gallery: Gallery | None, is_error: bool
) -> None:
    async def draw(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        data = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
        image = {"type": "image", "data": data, "mimeType": "image/png"}
        return ToolCallResult([image], is_error=is_error, error_message="No ink." * is_error)

    told = await Calls(Raising(draw), CallPolicy(gallery=gallery)).answer(calls(("s.a", "{}")), 1)
    is_attached = isinstance(told.answers[0]["content"], list)
    assert is_attached == (gallery is not None and not is_error)


async def test_an_error_of_which_only_a_part_fits_is_an_error_still() -> None:
    async def fail(name: str, arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(None, is_error=True, error_message=f"{name} is closed. " * 100)

    policy = CallPolicy(budget=ResultBudget(100))
    told = await Calls(Raising(fail), policy).answer(calls(("s.a", "{}")), 1)
    said = json.loads(told.answers[0]["content"])["error"]
    assert said.startswith("s.a is closed.")
    assert said.endswith("limited to about 100 tokens; ask for less at a time]")


async def test_what_a_tool_says_reaches_the_model_in_its_own_letters() -> None:
    told = await Calls(Raising(echo)).answer(calls(("s.a", '{"text": "für 猫"}')), 1)
    assert told.answers[0]["content"] == '{"content": {"s.a": {"text": "für 猫"}}}'


@pytest.mark.parametrize("text", ["", " \n", "{}"])
async def test_a_call_without_arguments_has_none(text: str) -> None:
    told = await Calls(Raising(echo)).answer(calls(("s.a", text)), 1)
    assert json.loads(told.answers[0]["content"]) == {"content": {"s.a": {}}}


@pytest.mark.parametrize(("text", "kind"), [("[1]", "list"), ('"x"', "str"), ("null", "NoneType")])
async def test_the_model_is_told_what_it_gave_in_place_of_an_object(text: str, kind: str) -> None:
    told = await Calls(Raising(echo)).answer(calls(("s.a", text)), 1)
    assert f"must be a JSON object, not {kind}" in told.answers[0]["content"]
    assert told.answers[0]["kind"] == Kind.UNREADABLE


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("length", "cut off at its length limit; write less"),
        ("content_filter", "not executed: the reply was refused or filtered"),
    ],
)
async def test_a_model_whose_reply_was_cut_off_is_told_so(reason: str, words: str) -> None:
    reply = replace(calls(("s.a", "{}")), finish_reason=reason)
    told = await Calls(Raising(echo)).answer(reply, 1)
    assert words in told.answers[0]["content"]
    assert told.answers[0]["kind"] == Kind.CUT_OFF


async def test_a_call_in_doubt_is_made_again_only_if_that_does_no_harm() -> None:
    reply = calls(("s.read", "{}"), ("s.write", "{}"), ("s.new", "{}"))
    read, write, _ = [call.id for call in reply.tool_calls or ()]
    ledger = Ledger(in_doubt=frozenset({read, write}))
    told = await Calls(Raising(echo, reads=["s.read"]), ledger=ledger).answer(reply, 1)
    assert [it.get("kind") for it in told.answers] == [None, "in_doubt", None]
    assert "not executed again: the program was ended after" in told.answers[1]["content"]


async def test_a_fault_in_a_toolset_costs_its_call_and_is_logged_without_keys(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Faulty(Raising):
        async def call(self, call: Call) -> Outcome:
            raise ZeroDivisionError(f"{call.name} with sk-or-v1-0123456789abcdef0123456789abcdef")

    told = await Calls(Faulty(echo)).answer(calls(("s.a", "{}")), 1)
    assert "failed: s.a with " in told.answers[0]["content"]
    (record,) = caplog.records
    assert record.getMessage().startswith("An error in a toolset:\nTraceback (most recent call")
    assert "\nZeroDivisionError: s.a with " in record.getMessage()
    assert "sk-or-v1-0123456789abcdef" not in record.getMessage()
