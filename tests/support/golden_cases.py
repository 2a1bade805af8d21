"""The runs that the goldens in ``goldens/`` hold, and the models that play them.

The scripted ones follow what tools said, so that each call depends on the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_ghost.golden.scrub import Scrubber, places
from mcp_ghost.testing import ModelRequest, Reply, error_reply, tool_reply
from mcp_ghost.testing.wires import WireName
from tests.support import ROOT
from tests.support.wires import WIRES, spoken

if TYPE_CHECKING:
    from mcp_ghost.results import JSONObject

GOLDENS = ROOT / "tests" / "goldens"
Wire: TypeAlias = WireName
PROVIDERS = WIRES
MODELS = {
    "openai": "gpt-4o",
    "responses": "gpt-6-luna",
    "anthropic": "claude-sonnet-4-6",
    "gemini": "gemini-2.5-flash",
}
SYSTEM_PROMPT = "You work at a desk with a database of lamps and a folder of files."


def desk(*names: str) -> JSONObject:
    """The configuration of servers from ``servers/desk.py``."""
    desk_server = "{path:tests}/support/servers/desk.py"
    entries = {it: {"command": "{path:python}", "args": ["-S", desk_server, it]} for it in names}
    return {"mcpServers": entries}


@dataclass
class Conversation:
    """What a script may look at: the results that the latest request brought."""

    request: ModelRequest | None = None
    replies: Iterator[Reply | str] = field(default_factory=lambda: iter(()))

    def script(self, request: ModelRequest) -> Reply | str:
        """For a ModelServer."""
        self.request = request
        return next(self.replies)

    @property
    def result(self) -> Any:  # noqa: ANN401  whatever the tool returned
        """The latest result, read where it is JSON."""
        assert self.request
        text: str = self.request.last["content"]
        return json.loads(text) if text.startswith(("[", "{")) else text

    @property
    def lines(self) -> list[str]:
        """The latest result, where it is a list of names."""
        return str(self.result).split("\n")


def calls(*wanted: tuple[str, JSONObject], text: str | None = None) -> Reply:
    """Calls under the names that are on offer."""
    return tool_reply([(f"mcp_ghost.{name}", arguments) for name, arguments in wanted], text)


def database_report(conversation: Conversation) -> Iterator[Reply | str]:
    """Five calls on two servers, each made of what the one before it returned."""
    yield calls(("db.list", {}), text="I look which tables there are.")
    table = conversation.lines[-1]
    yield calls(("db.describe", {"name": table}), text=f"The table {table} is the one.")
    by, what = conversation.lines
    sql = f"SELECT {by}, sum({what}) FROM {table} GROUP BY {by} ORDER BY {by}"  # noqa: S608  a model writes SQL
    yield calls(("db.query", {"sql": sql}))
    report = "".join(f"- {name}: {pieces}\n" for name, pieces in conversation.result)
    yield calls(("files.write", {"name": "report.md", "text": report}), text="Now the report.")
    path = conversation.result.rpartition(" ")[2]
    yield calls(("files.read", {"name": path}), text="I check what was written.")
    yield f"The report is written:\n{conversation.result}"


def file_not_found(conversation: Conversation) -> Iterator[Reply | str]:
    """A failed call, and another way."""
    yield calls(("files.read", {"name": "price_list.txt"}), text="I read the price list.")
    yield calls(("files.list", {}), text="It has another name.")
    yield calls(("files.read", {"name": conversation.lines[0]}))
    yield f"The prices are: {conversation.result.strip()}."


def wrong_statement(conversation: Conversation) -> Iterator[Reply | str]:
    """Arguments mended after an error."""
    yield calls(("db.query", {"sql": "SELECT max(cost) FROM lamps"}))
    yield calls(("db.describe", {"name": "lamps"}), text="There is no such column.")
    column = conversation.lines[-1]
    sql = f"SELECT max({column}) FROM lamps"  # noqa: S608  a model writes SQL
    yield calls(("db.query", {"sql": sql}))
    yield f"The dearest lamp costs {conversation.result[0][0]}."


def malformed_arguments(_: Conversation) -> Iterator[Reply | str]:
    """Text where an object belongs, an unknown tool, a missing argument; then it works."""
    yield tool_reply([("mcp_ghost.files.read", '{"name": "prices.txt"')])
    yield calls(("files.open", {"name": "prices.txt"}))
    yield calls(("files.read", {}))
    yield calls(("files.read", {"name": "prices.txt"}))
    yield "Brass lamps cost 30, desk lamps 45."


def iteration_limit(_: Conversation) -> Iterator[Reply | str]:
    """A model that would go on for ever, and is asked for an answer."""
    for number in range(3):
        yield calls(("files.write", {"name": f"{number}.txt", "text": "x"}))
    yield "I wrote three files and was not finished."


def parallel_calls(conversation: Conversation) -> Iterator[Reply | str]:
    """One batch for both servers, with one failure among the calls."""
    together = [("db.list", {}), ("files.list", {}), ("files.read", {"name": "nothing.txt"})]
    yield calls(*together, text="I look at both.")
    yield f"There are the tables lamps and orders, and files. {len(together)} calls."


def server_restart(conversation: Conversation) -> Iterator[Reply | str]:
    """A server that dies of a call and is started again."""
    yield calls(("files.check", {}))
    yield f"The folder was checked: {conversation.result}."


def rate_limit(conversation: Conversation) -> Iterator[Reply | str]:
    """A provider that is busy at first."""
    yield error_reply(429, "Slow down.", {"retry-after": "0"})
    yield calls(("files.list", {}))
    yield error_reply(503, "Overloaded.", {"retry-after": "0"})
    yield f"There is one file, {conversation.lines[0]}."


Play: TypeAlias = Callable[[Conversation], Iterator[Reply | str]]


@dataclass(frozen=True)
class Case:
    """One golden: where it lies, who plays it, what is asked."""

    file: str
    provider: Wire
    play: Play
    prompt: str
    options: JSONObject = field(default_factory=dict)

    def conversation(self) -> Conversation:
        """The model that plays it."""
        conversation = Conversation()
        conversation.replies = self.play(conversation)
        return conversation

    @property
    def path(self) -> Path:
        return GOLDENS / f"{self.file}.json"

    @property
    def arguments(self) -> JSONObject:
        """Those of ``mcp_ghost``, but for the address of the model."""
        return {
            "server_config": desk("db", "files"),
            "system_prompt": SYSTEM_PROMPT,
            **spoken(self.provider),
            "user_prompt": self.prompt,
            "model": MODELS[self.provider],
            **self.options,
        }


def _on_all(name: str, play: Play, prompt: str) -> list[Case]:
    return [Case(f"{provider}/{name}", provider, play, prompt) for provider in PROVIDERS]


CASES = [
    *_on_all("database_report", database_report, "Report how many lamps of each kind we sold."),
    *_on_all("file_not_found", file_not_found, "What do our lamps cost? See the price list."),
    Case("anthropic/wrong_statement", "anthropic", wrong_statement, "How dear is our best lamp?"),
    Case("gemini/parallel_calls", "gemini", parallel_calls, "What is on the desk?"),
    Case("responses/parallel_calls", "responses", parallel_calls, "What is on the desk?"),
    Case("shared/parallel_calls", "openai", parallel_calls, "What is on the desk?"),
    Case("shared/malformed_arguments", "openai", malformed_arguments, "What do lamps cost?"),
    Case(
        "shared/iteration_limit",
        "openai",
        iteration_limit,
        "Write many files.",
        {"max_iterations": 3},
    ),
    Case("shared/server_restart", "openai", server_restart, "Check the folder."),
    Case("shared/rate_limit", "openai", rate_limit, "Which files are there?"),
]


CHAINS = [case for case in CASES if case.file.endswith("/database_report")]
CHAIN = CHAINS[0].path


def servers(*names: str) -> dict[str, Any]:
    """The desk's servers as they are on this machine."""
    shown: dict[str, Any] = Scrubber((), places(CHAIN)).show(desk(*names))
    return shown
