"""What counts as a call that a model wrote into its answer, and what becomes of it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.errors import LLMMalformedCallError
from mcp_ghost.loop import Batch, LoopEnd, run_loop
from mcp_ghost.spoken import is_spoken_call
from tests.support.fakes import answer

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse, Message

TOOLS = ["notes.write", "sum.add-up"]
CALL = '{"name": "notes_write", "arguments": {"text": "a"}}'
FUNCTION = {"name": "notes_write", "arguments": '{"text": "a"}'}
CALLS = {
    "JSON": CALL,
    "our name": CALL.replace("notes_write", "notes.write"),
    "a namespace": CALL.replace("notes_write", "mcp_ghost_notes_write"),
    "the bare name": CALL.replace("notes_write", "write"),
    "Llama's parameters": CALL.replace("arguments", "parameters"),
    "without arguments": '{"name": "notes_write", "arguments": {}}',
    "null for arguments": '{"name": "notes_write", "arguments": null}',
    "OpenAI's form": json.dumps({"type": "function", "function": FUNCTION}),
    "OpenAI's list": json.dumps({"tool_calls": [{"id": "1", "function": FUNCTION}]}),
    "an older form": json.dumps({"function_call": FUNCTION}),
    "LangChain's form": '{"tool": "notes_write", "tool_input": {"text": "a"}}',
    "Anthropic's block": '{"type": "tool_use", "name": "notes_write", "input": {"text": "a"}}',
    "a list": f"[{CALL}, {CALL}]",
    "behind words": f"I will write it down.\n\n{CALL}",
    "a fence": f"```json\n{CALL}\n```",
    "a fence behind words": f"Let me write it down:\n```\n{CALL}\n```",
    "a fence that stays open": f"```tool_call\n{CALL}",
    "a bracket too few": CALL[:-1],
    "other quotes": CALL.replace('"', "'"),
    "Hermes and Qwen": f"<tool_call>\n{CALL}\n</tool_call>",
    "a tag that stays open": f"So I call it. <tool_call>{CALL}",
    "Qwen Coder": "<tool_call>\n<function=notes_write>\n<parameter=text>\na\n</parameter>",
    "GLM": "<tool_call>notes_write\n<arg_key>text</arg_key>\n<arg_value>a</arg_value>",
    "Llama 3": '<function=notes_write>{"text": "a"}</function>',
    "Llama's tag": f"<|python_tag|>{CALL}",
    "Llama's tag with Python": '<|python_tag|>notes_write.call(text="a")',
    "Llama 4": '[notes_write(text="a")]',
    "Mistral": f"[TOOL_CALLS][{CALL}]",
    "Mistral since version 11": '[TOOL_CALLS]notes_write[ARGS]{"text": "a"}',
    "Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.notes_write:0<|tool_call_"
    'argument_begin|>{"text": "a"}<|tool_call_end|><|tool_calls_section_end|>',
    "DeepSeek": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>"
    "function<\uff5ctool\u2581sep\uff5c>notes_write\n```json\n{}\n```",
    "Granite": f"<|tool_call|>[{CALL}]",
    "Phi": f"functools[{CALL}]",
    "MiniMax": '<invoke name="notes_write">\n<parameter name="text">a</parameter>\n</invoke>',
    "gpt-oss": 'commentary to=functions.notes_write <|constrain|>json<|message|>{"text": "a"}',
    "Gemini": '```tool_code\nprint(default_api.notes_write(text="a"))\n```',
    "ReAct": 'Thought: I write.\nAction: notes_write\nAction Input: {"text": "a"}',
    "ReAct as JSON": '{"action": "notes_write", "action_input": {"text": "a"}}',
    "Apertus": '<|tools_prefix|>[{"notes_write": {"text": "a"}}]<|tools_suffix|>',
    "LongCat": f"<longcat_tool_call>{CALL}</longcat_tool_call>",
    "FunctionGemma": "<start_function_call>call:notes_write{text:a}<end_function_call>",
    "DeepSeek 3.2": '<\uff5cDSML\uff5cfunction_calls><\uff5cDSML\uff5cinvoke name="notes_write">',
    "a bare name in tags": '<tool_call>{"id": "1", "name": "write", "arguments": {}}</tool_call>',
    "a bare name after a mark": '[TOOL_CALLS]write[CALL_ID]a1b2c3d4e[ARGS]{"text": "a"}',
    "a bare name in DeepSeek's": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call"
    "\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>write\n```json\n{}\n```",
    "a bare name in Kimi's": "<|tool_calls_section_begin|><|tool_call_begin|>functions.write:0<|t",
    "a bare name in Python": '[write(text="a")]',
    "a bare name in Gemini's Python": "```tool_code\nprint(write())\n```",
    "Cline": "I look.\n<use_mcp_tool>\n<server_name>notes</server_name>\n"
    "<tool_name>write</tool_name>\n<arguments>{}</arguments>\n</use_mcp_tool>",
    "Cline's own tools": "<notes_write>\n<text>a</text>\n</notes_write>",
    "Claude's older form": '<function_calls>\n<invoke name="write">\n</invoke>',
    "Qwen-Agent": '\u273fFUNCTION\u273f: write\n\u273fARGS\u273f: {"text": "a"}',
    "Command R": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "write"}]<|END_ACTION|>',
    "Functionary": '>>>write\n{"text": "a"}',
    "Gemini without Python": "call:default_api:write{text:a}",
    "a tag with a name": '<execute_tool name="write">{}</execute_tool>',
    "LM Studio": f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]",
    "Python without arguments": "notes_write()",
    "another tool": '{"name": "sum_add-up", "arguments": {}}',
}
ANSWERS = {
    "nothing": " ",
    "words": "I have written the note.",
    "the name": "I used notes_write for it.",
    "JSON": '{"title": "notes_write", "arguments": {"text": "a"}}',
    "the name of no tool": CALL.replace("notes_write", "notes_read"),
    "a person": '{"name": "write", "input": "a"}',
    "a name alone": '{"name": "notes_write"}',
    "a report of calls": json.dumps({"done": True, "calls": [{**FUNCTION, "result": "ok"}]}),
    "a call that is explained": f"The tool takes this:\n```json\n{CALL}\n```\nIt writes a note.",
    "a tag": "In Hermes' format, a call is wrapped in <tool_call> tags.",
    "a list of mixed things": f'[{CALL}, "and more"]',
    "brackets": "[see notes_write (the tool)]",
    "Python among words": "Call notes_write() for it.",
    "a mark among words": "The mark `[TOOL_CALLS]` stands before calls. I write: done.",
    "a page": "<details>\n<write>a</write>\n</details>",
    "a bare name in words": "Call write(text=1) for it.",
    "deep": "[" * 50_000,
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_in_words_is_known(kind: str) -> None:
    assert is_spoken_call(CALLS[kind], TOOLS)
    assert not is_spoken_call(CALLS[kind], [])
    assert not is_spoken_call(CALLS[kind], ["maps.route"])


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_is_not_taken_for_a_call(kind: str) -> None:
    assert not is_spoken_call(ANSWERS[kind], TOOLS)


async def ended(*replies: LLMResponse | Exception, most: int = 9) -> tuple[LoopEnd, list[Message]]:
    """How a loop with these replies ends, and all that was said."""
    left = iter(replies)
    messages: list[Message] = []

    async def ask(_messages: list[Message], _iteration: int) -> LLMResponse:
        reply = next(left)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def no_calls(_response: LLMResponse, _iteration: int) -> Batch:
        raise AssertionError

    result = await run_loop(
        messages, ask=ask, answer_calls=no_calls, max_iterations=most, tools=lambda: TOOLS
    )
    return result.end, messages


async def test_a_model_that_writes_a_call_is_asked_once_to_make_it() -> None:
    end, messages = await ended(answer(CALL), answer("Done."))
    assert end is LoopEnd.ANSWER
    assert [it["role"] for it in messages] == ["assistant", "user"]
    assert messages[0]["content"] == CALL
    assert "as text, so nothing was called" in messages[1]["content"]
    assert (await ended(answer(CALL), answer(CALL)))[0] is LoopEnd.SPOKEN_CALL
    assert (await ended(answer(CALL), most=1))[0] is LoopEnd.LIMIT


async def test_a_reply_that_was_paused_is_sent_back_until_it_goes_on() -> None:
    paused = replace(answer("I search."), finish_reason="pause_turn", provider_state={"a": [1]})
    end, messages = await ended(paused, paused, answer("Done."))
    assert end is LoopEnd.ANSWER
    sent = {"role": "assistant", "content": "I search.", "provider_state": {"a": [1]}}
    assert messages == [sent, sent]
    assert (await ended(paused, most=1))[0] is LoopEnd.LIMIT


async def test_a_model_whose_call_nobody_can_read_is_told_so_twice() -> None:
    error = LLMMalformedCallError("It has no end: notes_write{.")
    end, messages = await ended(error, error, answer("Done."))
    assert end is LoopEnd.ANSWER
    assert [it["role"] for it in messages] == ["user", "user"]
    assert "It has no end" in messages[0]["content"]
    with pytest.raises(LLMMalformedCallError):
        await ended(error, error, error)
    assert (await ended(error, most=1))[0] is LoopEnd.LIMIT
