"""A recorded run for people to read: what was said and called, what it cost, where it failed."""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_ghost.cli.screen import Screen, standard_screen
from mcp_ghost.errors import GoldenError
from mcp_ghost.golden.comparison import golden_notices
from mcp_ghost.results import JSONObject, cap
from mcp_ghost.text import counted, duration, one_line, tokens

_LONGEST = 2000
"""Characters shown of one message."""
_OF_A_REPLY = ("iteration", "status", "error", "token_usage")
_ROLE_STYLE = {"system": "dim", "user": "bold", "assistant": "cyan", "tool": ""}


def show_facts(facts: JSONObject) -> None:
    """Print what ``facts_of`` found, step by step."""
    screen = standard_screen(sys.stdout)
    asked = " ".join(str(facts[key]) for key in ("provider", "model") if facts[key])
    screen.heading(facts["test_name"] or "A run", asked)
    screen.facts(
        [
            ("recorded", facts["recorded_at"] or ""),
            ("from", facts["recorded_from"] or ""),
            ("servers", ", ".join(facts["servers"])),
            ("outcome", "success" if facts["success"] else "failed"),
            ("summary", facts["summary"] or ""),
        ]
    )
    screen.heading("Conversation", counted(len(facts["conversation"]), "step"))
    for step in facts["conversation"]:
        _show_step(screen, step)
    metadata = facts["metadata"]
    took = duration(metadata.get("total_execution_time") or 0)
    screen.heading("Cost", took)
    for number, reply in enumerate(facts["replies"], start=1):
        usage, status = reply.get("token_usage"), reply.get("error") or reply.get("status", 200)
        figures = tokens(**usage) if usage else "no figures"
        failed = "" if status == 200 else f"failed: {status}"
        screen.parts([(f"request {number}", ""), (figures, "dim"), (failed, "red")])
    total = tokens(**(metadata.get("token_usage") or {}))
    calls = counted(len(facts["calls"]), "tool call")
    screen.parts([("all", "bold"), (total, ""), (calls, ""), (took, "")])
    screen.heading("Failures", str(len(facts["failures"])))
    for failure in facts["failures"]:
        screen.text(cap(failure, _LONGEST), "red", mark="✗")
    if not facts["failures"]:
        screen.text("none", "green", mark="✓")
    if facts["notices"]:
        screen.heading("Outdated")
        for notice in facts["notices"]:
            screen.text(notice, "yellow", mark="!")


def facts_of(golden: Mapping[str, Any]) -> JSONObject:
    """What ``inspect`` shows, as plain JSON values."""
    output, given = golden["golden_output"], golden.get("input") or {}
    chain = output.get("tool_chain") or []
    try:
        return {
            **{name: golden.get(name) for name in ("test_name", "recorded_at", "recorded_from")},
            **{name: given.get(name) for name in ("provider", "model")},
            "servers": list((given.get("server_config") or {}).get("mcpServers") or {}),
            **{name: output.get(name) for name in ("success", "final_result", "summary")},
            "conversation": list(_steps(output.get("conversation_history") or [], chain)),
            "calls": chain,
            "replies": [
                {name: it[name] for name in _OF_A_REPLY if it.get(name) is not None}
                for it in golden.get("provider_responses") or ()
            ],
            "failures": list(_failures(output, chain)),
            "metadata": output.get("execution_metadata") or {},
            "notices": golden_notices(golden) if "recorded_at" in golden else [],
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise GoldenError(f"The recording is damaged: {type(error).__name__} {error}") from error


def _steps(history: Sequence[JSONObject], chain: Sequence[JSONObject]) -> Iterator[JSONObject]:
    """The messages, with what the tool chain knows of each call."""
    attempts: defaultdict[str, list[list[JSONObject]]] = defaultdict(list)
    """By tool and by call."""
    for record in chain:
        calls = attempts[record["tool_name"]]
        if not (calls and record["retry_attempt"]):
            calls.append([])
        calls[-1].append(record)
    tries: dict[str, list[JSONObject]] = {}
    for number, message in enumerate(history, start=1):
        step = {"step": number, "role": message["role"], "content": message.get("content") or ""}
        for call in message.get("tool_calls") or ():
            tool, arguments = call["function"]["name"], call["function"]["arguments"]
            tries[call["id"]] = attempts[tool].pop(0) if attempts[tool] else []
            step.setdefault("calls", []).append({"tool_name": tool, "arguments": arguments})
        if message["role"] == "tool":
            step["tries"] = tries.get(str(message.get("tool_call_id")), [])
        yield step


def _failures(output: JSONObject, chain: Sequence[JSONObject]) -> Iterator[str]:
    """Where it failed, and what was done about it."""
    errors = output.get("errors") or []
    for error in errors:
        recovery = error.get("recovery_action")
        then = f" → {recovery}" if recovery else ""
        yield f"reply {error['iteration']}, {error['tool_name']}: {error['error']}{then}"
    told = {(error["iteration"], error["tool_name"]) for error in errors}
    for call in chain:
        if not call["success"] and (call["iteration"], call["tool_name"]) not in told:
            yield f"reply {call['iteration']}, {call['tool_name']}: {call['error']}"
    if not output.get("success"):
        yield "the run ended without success"


def _show_step(screen: Screen, step: JSONObject) -> None:
    role, mark, tries = step["role"], str(step["step"]), step.get("tries")
    if not tries:
        screen.parts([(role, _ROLE_STYLE.get(role, ""))], mark=mark)
    for attempt in tries or ():
        sign, style = ("✓", "green") if attempt["success"] else ("✗", "red")
        again = f"retry {attempt['retry_attempt']}" if attempt.get("retry_attempt") else ""
        parts = [
            (f"tool {sign} {attempt['tool_name']}", style),
            (duration(attempt["execution_time"]), ""),
            (again, "yellow"),
            (one_line(attempt["error"] or "", 200), "red"),
        ]
        screen.parts(parts, mark=mark)
        mark = ""
    if step["content"]:
        screen.text(cap(step["content"], _LONGEST), "dim" if role == "system" else "")
    for call in step.get("calls", []):
        screen.parts([(f"{call['tool_name']} {call['arguments']}", "bold")], mark=" →")
