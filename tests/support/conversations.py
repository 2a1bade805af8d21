"""Neutral conversations and tools, by hand and by Hypothesis, for the tests of the providers."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from mcp_ghost.messages import Message, ToolSchema, tool_message

NAMES = ["fs.read", "fs_read", "files.list.all", "wetter.über", "1st.tool", "x" * 70]
"""Two that meet when sanitised, dots in the tool's own name, letters beyond ASCII, too long."""


def tool(name: str, parameters: dict[str, Any] | None = None, **function: Any) -> ToolSchema:  # noqa: ANN401  any field
    given = {} if parameters is None else {"parameters": parameters}
    return {"type": "function", "function": {"name": name, **given, **function}}


READ = tool(
    "fs.read",
    {
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}},
        "required": ["path"],
    },
    description="Read a file.",
)
TOOLS = [READ, *(tool(name) for name in NAMES[1:])]
SYSTEM: Message = {"role": "system", "content": "Be brief."}
USER: Message = {"role": "user", "content": "What is in the file?"}


def call(name: str, arguments: object = "{}", call_id: str = "c1") -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def asked(*calls: dict[str, Any], text: str | None = None, **fields: Any) -> Message:  # noqa: ANN401  any field
    return {"role": "assistant", "content": text, "tool_calls": list(calls), **fields}


def exchange() -> list[Message]:
    """Two calls at once, one of which failed, and a last word of the user."""
    calls = [call("fs.read", {"path": "a"}, "c1"), call("fs_read", "", "c2")]
    answers = [
        tool_message("c1", '{"text": "A"}'),
        tool_message("c2", "no such tool", is_error=True),
    ]
    return [SYSTEM, USER, asked(*calls, text="Let me see."), *answers, USER]


_texts = st.text(max_size=20)
_arguments = st.one_of(
    st.dictionaries(_texts, st.one_of(_texts, st.integers(), st.booleans()), max_size=3).map(
        json.dumps
    ),
    st.sampled_from(["", "{broken", "[1]", '"text"']),
)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Well-formed histories: every call is answered at once, whatever is said around it."""
    messages: list[Message] = [{"role": "system", "content": draw(_texts)}] * draw(
        st.integers(0, 2)
    )
    messages.append({"role": "user", "content": draw(_texts)})
    for step in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["calls", "answer", "user", "system"]))
        if kind != "calls":
            role = {"answer": "assistant"}.get(kind, kind)
            messages.append({"role": role, "content": draw(_texts)})
            continue
        named = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3))
        calls = [
            call(name, draw(_arguments), f"call:{step}.{index}") for index, name in enumerate(named)
        ]
        messages.append(asked(*calls, text=draw(st.none() | _texts)))
        messages += [
            tool_message(each["id"], draw(_texts), is_error=draw(st.booleans())) for each in calls
        ]
    return [*messages, {"role": "user", "content": "Go on."}]
