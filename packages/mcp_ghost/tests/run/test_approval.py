"""Calls that wait for a person's word: asked at once, or after a pause, in another process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_ghost import Ghost, mcp_ghost, resume
from mcp_ghost.testing import ModelServer, Reply, tool_reply
from mcp_ghost.toolset import Allowed
from tests.support import warm
from tests.support.ghosts import (
    KEY,
    PROVIDERS,
    Bank,
    assert_well_formed,
    ghost,
    play,
    said_to,
    tools,
)
from tests.support.servers import eventually, seen, versions
from tests.support.wires import spoken

if TYPE_CHECKING:
    from mcp_ghost.config import ServerConfig
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp

every_provider = pytest.mark.parametrize("provider", PROVIDERS)
BOTH = tool_reply([("bank.balance", {"name": "look"}), ("bank.transfer", {"name": "send"})])
TWO = tool_reply([("bank.transfer", {"name": "one"}), ("bank.transfer", {"name": "two"})])
REPEATABLE = tool_reply([("bank.put", {"name": "one"}), ("bank.put", {"name": "two"})])


class Person:
    """Says what it was told to say, and remembers what it was asked."""

    def __init__(self, *answers: bool | str | Allowed | Exception) -> None:
        self._answers = [*answers]
        self.asked: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

    async def __call__(
        self, tool: str, arguments: dict[str, Any], annotations: dict[str, Any]
    ) -> Any:  # noqa: ANN401
        self.asked.append((tool, arguments, annotations))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def gone_on(
    result: Mapping[str, Any] | str | Path,
    decisions: Mapping[str, Any] | None,
    script: list[Reply | str],
    servers: Mapping[str, ServerConfig],
    provider: WireName = "openai",
    **options: Any,  # noqa: ANN401
) -> tuple[dict[str, Any], ModelServer]:
    """The run that ``result`` paused, after its state was on its way through a file."""
    state = json.loads(json.dumps(result["state"])) if isinstance(result, Mapping) else result
    with ModelServer(script, wire=provider, namespace="mcp_ghost") as model:
        given: dict[str, Any] = {"system_prompt": "Keep notes.", "api_key": KEY, **options}
        config = {"mcpServers": dict(servers)}
        at: Any = {**spoken(provider), "base_url": model.base_url}
        outcome = asyncio.run(resume(state, decisions, server_config=config, **at, **given))
    assert model.refusals == []
    return outcome, model


def ids(result: dict[str, Any]) -> list[str]:
    return [entry["id"] for entry in result["pending"]]


@every_provider
def test_a_refusal_with_its_reason_is_told_to_the_model(bank: Bank, provider: WireName) -> None:
    person = Person("ask the accountant first")
    result, model = play([BOTH, "Not sent."], {"bank": bank.trusted}, provider, approve=person)
    assert bank.book == ["look", "end of look"]
    assert person.asked == [("bank.transfer", {"name": "send"}, {"destructiveHint": True})]
    assert "the user refused this call: ask the accountant first" in said_to(model, 1)
    assert result["success"]
    assert [entry["success"] for entry in result["tool_chain"]] == [True, False]
    assert result["errors"][0]["recovery_action"] == "told the model"
    assert result["execution_metadata"]["backtrack_count"] == 0


def test_what_is_allowed_is_done_and_what_only_reads_is_not_asked_about(bank: Bank) -> None:
    person = Person(True)
    play([BOTH, "Sent."], {"bank": bank.trusted}, approve=person)
    assert bank.book == ["look", "end of look", "send", "end of send"]


@pytest.mark.parametrize(
    ("when", "asked"),
    [
        ("destructive", ["bank.transfer"]),
        ("always", ["bank.balance", "bank.transfer"]),
        (["bank.bal*"], ["bank.balance"]),
        (["transfer"], ["bank.transfer"]),
        ([], []),
    ],
)
def test_before_which_calls_somebody_is_asked(bank: Bank, when: Any, asked: list[str]) -> None:  # noqa: ANN401
    person = Person(*[True] * len(asked))
    play([BOTH, "Done."], {"bank": bank.trusted}, approve=person, approve_when=when)
    assert [tool for tool, _, _ in person.asked] == asked
    assert len(bank.book) == 4


@pytest.mark.parametrize("answer", [LookupError("nobody here"), None, 3, False])
def test_without_a_clear_yes_no_call_is_made(bank: Bank, answer: Any) -> None:  # noqa: ANN401
    play([BOTH, "Not sent."], {"bank": bank.trusted}, approve=Person(answer))
    assert bank.book == ["look", "end of look"]


def test_what_a_server_says_of_its_tools_spares_no_question_unless_it_is_trusted(
    bank: Bank,
) -> None:
    person = Person(True, "not that")
    play([BOTH, "Done."], {"bank": bank.config}, approve=person)
    assert [tool for tool, _, _ in person.asked] == ["bank.balance", "bank.transfer"]


def test_always_is_for_one_tool_as_it_describes_itself() -> None:
    person = Person(*[Allowed.ALWAYS] * 4)
    count = ("s.count", {"to": 0})
    script: list[Reply | str] = [
        tool_reply([("s.pay", {}), ("s.pay", {}), count, ("s.pay", {})]),
        tool_reply([("s.grow", {"name": "pay"})]),
        tool_reply([("s.pay", {}), ("s.pay", {}), count]),
        "Done.",
    ]
    result, _ = play(script, {"s": versions("2025-11-25")}, approve=person)
    assert [tool for tool, _, _ in person.asked] == ["s.pay", "s.count", "s.grow", "s.pay"]
    assert all(entry["success"] for entry in result["tool_chain"])


def edited(result: dict[str, Any], how: str) -> dict[str, Any]:
    """The state of ``result`` after somebody who may write its file was there."""
    state: dict[str, Any] = json.loads(json.dumps(result["state"]))
    one, two = ids(result)
    if how == "arguments":
        (call, _) = state["messages"][-1]["tool_calls"]
        call["function"]["arguments"] = '{"name": "everything"}'
    elif how == "decisions":
        state["pending"], state["calls"]["decisions"] = [], {one: True, two: True}
    elif how == "other decision":
        kept = state["calls"]["decisions"] = {two: {"said": True, "seal": "0" * 64}}
        kept[one] = dict(kept[two])
        state["pending"] = []
    elif how == "begun":
        state["pending"], state["calls"]["started"] = [], [one, two]
    return {**result, "state": state}


@pytest.mark.parametrize(
    ("how", "decided", "done"),
    [
        ("as it was", (True, True), ["one", "two"]),
        ("arguments", (True, True), []),
        ("decisions", (), []),
        ("other decision", (), []),
        ("begun", (), []),
    ],
)
def test_a_decision_holds_for_exactly_the_call_that_was_shown(
    bank: Bank, how: str, decided: tuple[bool, ...], done: list[str]
) -> None:
    asked: dict[str, Any] = {"pause": True, "approve_when": "always"}
    result = paused(bank, REPEATABLE, approve_when="always")
    decisions = dict(zip(ids(result), decided, strict=False))
    script = ["Done."] if done else []
    end, _ = gone_on(edited(result, how), decisions, [*script], {"bank": bank.trusted}, **asked)
    book = bank.book if Path(bank.config.args[-1], "book").exists() else []
    assert [it for it in book if not it.startswith("end")] == done
    assert ("pending" in end) == (not done)


def test_calls_that_cannot_be_made_are_not_asked_about(bank: Bank) -> None:
    wrong = tool_reply([("bank.transfer", "{broken"), ("bank.transfers", {})])
    result, _ = play([wrong, "Well."], {"bank": bank.trusted}, approve=Person())
    assert result["success"]
    result, _ = play([wrong, "Well."], {"bank": bank.trusted}, pause=True)
    assert "pending" not in result


@every_provider
def test_a_run_pauses_before_the_calls_and_goes_on_with_the_decisions(
    bank: Bank, provider: WireName
) -> None:
    servers = {"bank": bank.trusted}
    with ModelServer([TWO], wire=provider, namespace="mcp_ghost") as model:
        at = {**spoken(provider), "base_url": model.base_url, "api_key": KEY}
        given: Any = {**at, "user_prompt": "Pay.", "system_prompt": "Keep notes.", "pause": True}
        result = asyncio.run(mcp_ghost({"mcpServers": servers}, **given))
    assert not result["success"]
    assert "paused until somebody decides (bank.transfer, bank.transfer)" in result["summary"]
    assert KEY not in json.dumps(result)
    first, second = result["pending"]
    assert (first["kind"], first["tool_name"]) == ("approval", "bank.transfer")
    assert (first["arguments"], second["arguments"]) == ({"name": "one"}, {"name": "two"})
    assert not (bank.book if Path(bank.config.args[-1], "book").exists() else [])
    decisions = {first["id"]: True, second["id"]: "one is enough"}
    end, model = gone_on(result, decisions, ["Paid once."], servers, provider, pause=True)
    assert_well_formed(end)
    assert (end["success"], end["final_result"]) == (True, "Paid once.")
    assert bank.book == ["one", "end of one"]
    assert "refused this call: one is enough" in said_to(model, 0)
    assert [(it["arguments"]["name"], it["success"]) for it in end["tool_chain"]] == [
        ("one", True),
        ("two", False),
    ]
    assert end["execution_metadata"]["total_iterations"] == 2
    assert end["execution_metadata"]["token_usage"]["completion_tokens"] == 16


def paused(bank: Bank, reply: Reply = TWO, **options: Any) -> dict[str, Any]:  # noqa: ANN401
    with ModelServer([reply], namespace="mcp_ghost") as model:
        given: Any = {"provider": "openai", "base_url": model.base_url, "user_prompt": "Pay."}
        config = {"mcpServers": {"bank": bank.trusted}}
        return asyncio.run(mcp_ghost(config, "Keep notes.", **given, pause=True, **options))


def test_the_log_says_why_nobody_could_be_asked(
    bank: Bank, caplog: pytest.LogCaptureFixture
) -> None:
    not_a_coroutine: Any = lambda *_: True  # noqa: E731
    play([BOTH, "Not sent."], {"bank": bank.trusted}, approve=not_a_coroutine)
    assert bank.book == ["look", "end of look"]
    assert "approve failed, so the call is not made: TypeError: object bool" in caplog.text


def test_what_is_not_decided_stays_pending_and_what_is_decided_is_kept(bank: Bank) -> None:
    result = paused(bank)
    one, two = ids(result)
    again, _ = gone_on(result, {one: True}, [], {"bank": bank.trusted}, pause=True)
    assert ids(again) == [two]
    end, _ = gone_on(again, {two: True}, ["Done."], {"bank": bank.trusted}, pause=True)
    assert bank.book == ["one", "end of one", "two", "end of two"]
    assert end["success"]


@pytest.mark.parametrize(
    ("decisions", "why"),
    [
        ({"call_9": True}, "nothing is pending under 'call_9'"),
        ({"FIRST": {"a": 1}}, "must be True, False or a reason why not"),
    ],
)
def test_decisions_that_fit_nothing_are_refused(
    bank: Bank, decisions: dict[str, Any], why: str
) -> None:
    result = paused(bank)
    given = {ids(result)[0] if key == "FIRST" else key: it for key, it in decisions.items()}
    with pytest.raises(ValueError, match=why):
        gone_on(result, given, [], {"bank": bank.trusted}, pause=True)


@pytest.mark.parametrize("state", [{}, {"version": 9}, {"version": 1}, "nowhere.json", [1]])
def test_what_is_no_state_is_refused(bank: Bank, state: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"state|checkpoint"):
        gone_on({"state": state} if not isinstance(state, str) else state, {}, [], {})


@pytest.mark.parametrize(
    ("part", "damaged"),
    [
        ("messages", ["Pay."]),
        ("calls", {"outcomes": []}),
        ("account", {}),
        ("memory", None),
        ("pending", [{}]),
    ],
)
def test_a_damaged_state_is_refused(bank: Bank, part: str, damaged: object) -> None:
    result = paused(bank)
    state = {**result["state"], part: damaged}
    with pytest.raises(ValueError, match="The state cannot be read: "):
        gone_on({"state": state}, {}, [], {"bank": bank.trusted}, pause=True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"approve": 1}, "approve must be"),
        ({"approve_when": "destructiv", "pause": True}, "approve_when must be"),
        ({"approve_when": "always"}, "needs somebody to ask"),
    ],
)
def test_wrong_options_are_refused(bank: Bank, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        play([], {"bank": bank.trusted}, **options)


def test_a_ghost_pauses_and_goes_on_with_its_servers_connected(bank: Bank) -> None:
    async def main(base_url: str) -> tuple[dict[str, Any], dict[str, Any]]:
        config = {"mcpServers": {"bank": bank.trusted}}
        at: Any = {"provider": "openai", "base_url": base_url, "pause": True}
        async with Ghost(server_config=config, **at) as ghost:
            await ghost.run("Good morning.")
            first = await ghost.run("Pay.")
            second = await ghost.resume(first["state"], dict.fromkeys(ids(first), True))
            await ghost.run("Thank you.")
            return first, second

    with ModelServer(["Hello.", TWO, "Paid.", "Gladly."], namespace="mcp_ghost") as model:
        _, second = asyncio.run(main(model.base_url))
    assert model.refusals == []
    assert second["final_result"] == "Paid."
    assert "Good morning." in said_to(model, 2)
    assert len(bank.book) == 4


def test_a_refused_decision_leaves_the_conversation_as_it_was(bank: Bank) -> None:
    state = paused(bank)["state"]

    async def main(base_url: str) -> None:
        config = {"mcpServers": {"bank": bank.trusted}}
        at: Any = {"provider": "openai", "base_url": base_url, "pause": True}
        async with Ghost(server_config=config, **at) as ghost:
            await ghost.run("Good morning.")
            before = ghost.messages
            with pytest.raises(ValueError, match="nothing is pending under 'call_9'"):
                await ghost.resume(state, {"call_9": True})
            assert ghost.messages == before

    with ModelServer(["Hello."], namespace="mcp_ghost") as model:
        asyncio.run(main(model.base_url))


@pytest.mark.parametrize("way", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_a_question_of_a_server_pauses_and_the_call_is_made_again_with_the_answer(
    way: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    servers = {"shop": versions(way, SERVER_LOG=str(log))}
    with ModelServer([tool_reply([("shop.ask", {})])], namespace="mcp_ghost") as model:
        at: Any = {"provider": "openai", "base_url": model.base_url, "user_prompt": "Buy."}
        options: Any = {"pause": True, "approve_when": []}
        config = {"mcpServers": servers}
        result = asyncio.run(mcp_ghost(config, "Keep notes.", **at, **options))
    (question,) = result["pending"]
    assert (question["kind"], question["server"]) == ("question", "shop")
    assert question["message"] == "Which lamp?"
    assert result["tool_chain"] == []
    end, _ = gone_on(result, {question["id"]: {"colour": "green"}}, ["Bought."], servers, **options)
    (entry,) = end["tool_chain"]
    assert "green" in json.dumps(entry["result"])
    assert end["success"]
    asked = [it for it in seen(log) if it.get("method") == "tools/call"]
    assert len(asked) == (3 if way == "2026-07-28" else 2)  # there, an answer is another call


# --- checkpoints


def kept(path: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(path.read_text())
    return state


RUN = """
import asyncio, sys, json
from mcp_ghost import mcp_ghost
config, base_url, checkpoint = sys.argv[1:]
options = {"provider": "openai", "base_url": base_url, "user_prompt": "Pay."}
asyncio.run(mcp_ghost(json.loads(config), "Keep notes.", **options, checkpoint=checkpoint))
"""


@pytest.mark.parametrize(("tool", "times"), [("transfer", 1), ("put", 2), ("balance", 2)])
def test_a_killed_run_goes_on_and_repeats_only_what_may_be_repeated(
    bank: Bank, tmp_path: Path, tool: str, times: int
) -> None:
    checkpoint = tmp_path / "run.json"
    done, slow = ("bank.insert", {"name": "first"}), (f"bank.{tool}", {"name": "slow"})
    script = [tool_reply([done]), tool_reply([(slow[0], {**slow[1], "seconds": 1.5})])]
    config = {"mcpServers": {"bank": bank.trusted.model_dump(exclude_defaults=True)}}
    with ModelServer(script, namespace="mcp_ghost") as model:
        arguments = [sys.executable, "-c", RUN, json.dumps(config), model.base_url, str(checkpoint)]
        with warm.WarmPopen(arguments) as process:
            book = Path(bank.config.args[-1], "book")
            eventually(lambda: book.exists() and "slow" in book.read_text())
            os.kill(process.pid, signal.SIGKILL)
    assert len(kept(checkpoint)["calls"]["started"]) == 1
    end, model = gone_on(checkpoint, None, ["Well."], {"bank": bank.trusted}, max_iterations=3)
    assert end["success"]
    assert [bank.book.count(name) for name in ("first", "slow")] == [1, times]
    assert tools(end) == ["bank.insert", slow[0]]
    assert ("It may have taken effect" in said_to(model, 0)) == (times == 1)
    again, _ = gone_on(checkpoint, None, [], {"bank": bank.trusted})
    assert (again["final_result"], again["success"]) == ("Well.", True)  # nobody was asked


@pytest.mark.parametrize(
    ("script", "left", "answer"),
    [
        ([tool_reply([("bank.balance", {"name": "look"})]), "So far."], [], "So far."),
        (["", ""], ["Well."], "Well."),
    ],
)
def test_a_run_that_is_over_is_asked_again_only_if_it_has_no_answer(
    bank: Bank, tmp_path: Path, script: list[Reply | str], left: list[Reply | str], answer: str
) -> None:
    at, servers = tmp_path / "run.json", {"bank": bank.trusted}
    play(script, servers, checkpoint=at, max_iterations=1)
    end, model = gone_on(at, None, left, servers, max_iterations=1)
    assert (end["final_result"], end["success"]) == (answer, True)
    assert len(model.requests) == len(left)


def test_a_checkpoint_that_cannot_be_written_ends_the_run_before_it_acts(
    bank: Bank, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    at = tmp_path / "file" / "run.json"
    result, model = play([TWO], {"bank": bank.trusted}, checkpoint=at)
    assert (
        f"the checkpoint cannot be written: {at}: Not a directory" in result["errors"][0]["error"]
    )
    assert model.requests == []


def test_a_checkpoint_that_can_no_longer_be_written_ends_the_run_with_the_reason(
    bank: Bank, tmp_path: Path
) -> None:
    at = tmp_path / "kept" / "run.json"

    def spoil() -> None:
        while not at.parent.is_file():
            with suppress(OSError):  # the call beside this one may be kept meanwhile
                shutil.rmtree(at.parent)
                at.parent.write_text("")

    both = tool_reply([("python.spoil", {}), ("bank.balance", {"name": "look"})])
    with ModelServer([both], namespace="mcp_ghost") as model:
        options: dict[str, Any] = {"checkpoint": at, "tools": [spoil]}
        result = asyncio.run(ghost(model, {"bank": bank.trusted}, **options))
    reason = f"the checkpoint cannot be written: {at}: Not a directory"
    assert result["errors"][-1]["error"] == reason
    assert len(model.requests) == 1


def test_a_checkpoint_is_for_its_owner_only(bank: Bank, tmp_path: Path) -> None:
    at = tmp_path / "run.json"
    play([TWO, "Paid."], {"bank": bank.trusted}, checkpoint=at)
    assert at.stat().st_mode & 0o777 == 0o600
    assert kept(at)["pending"] == []
