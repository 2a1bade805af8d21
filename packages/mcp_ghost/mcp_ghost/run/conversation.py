"""What outlives a run: servers and client, opened once, and everything that was said."""

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from mcp_ghost.config import load_servers, redactor_of
from mcp_ghost.messages import Message, ToolSchema, with_answers
from mcp_ghost.providers.client import get_llm_client
from mcp_ghost.providers.common import calls_of, tool_names
from mcp_ghost.providers.transport import RetryPolicy
from mcp_ghost.redact import secrets_in
from mcp_ghost.run import prompts
from mcp_ghost.run.form import Form
from mcp_ghost.run.ledger import Questions
from mcp_ghost.run.memory import Compaction, limit_of
from mcp_ghost.run.report.events import Events
from mcp_ghost.run.search import ToolSearch
from mcp_ghost.run.settings import Settings
from mcp_ghost.toolset import MAY_HAVE_ACTED
from mcp_ghost.toolsets.functions import Functions
from mcp_ghost.toolsets.server import Leaf, Server
from mcp_ghost.toolsets.union import Toolbox, unused

_INTERRUPTED = f"No result: the run was interrupted. {MAY_HAVE_ACTED}."


class Conversation:
    """Opened by its first run; one run at a time adds to it."""

    def __init__(
        self,
        settings: Settings,
        messages: Sequence[Message] = (),
        make_server: Callable[..., Leaf] | None = None,
    ) -> None:
        """``messages`` of an earlier conversation, without a system prompt, are gone on with.

        ``make_server`` makes what stands for each server, if that is not the server.

        Raises:
            ValueError: The configuration, or the form of the answer, cannot be used.
            LLMError: The provider is unknown (a ValueError too), or there is no key for it.
        """
        servers = load_servers(settings["server_config"])
        self.client = client = get_llm_client(
            settings["provider"],
            settings["api_key"],
            settings["model"],
            settings["base_url"],
            wire=settings["wire"],
            timeout=settings["llm_timeout"],
            # Somebody is waiting for the call.
            retry=RetryPolicy(max_attempts=4, initial_delay=0.5),
            transport=settings["transport"],
        )
        output = settings["output"]
        self.form = None if output is None else Form(output)
        """That of every answer for which none is given."""
        keys = secrets_in(settings["headers"] or {}) | secrets_in(settings["extra_body"] or {})
        self.redactor = redactor_of(servers, [client.api_key, *keys])
        self.messages: list[Message] = [*messages]
        """The system prompt, which is made when the servers' tools are known, and all the rest."""
        self.known_tools: list[ToolSchema] = []
        """Every tool that was ever on offer."""
        used = [call["function"]["name"] for call in calls_of(messages)]
        self.search = ToolSearch(settings["tool_search_above"], used, client.most_tools)
        self.memory = Compaction(
            settings["context_limit"] or limit_of(client.model, settings["reply_tokens"]),
            only_latest=not settings["conversation_memory"],
        )
        self.servers = {name: it for name, it in servers.items() if not it.disabled}
        self.always: set[tuple[str, str, str]] = set()
        """Definitions of tools that a person has allowed for good."""
        self.questions = Questions()
        """Those that servers ask while a run that may pause goes on."""
        self.events: Events | None = None
        """Those of the latest run."""
        self._settings = settings
        self._make_server = make_server or Server
        self._open = AsyncExitStack()
        self._has_begun = False
        self.is_open = False
        self.toolbox = self._toolbox()

    async def open(self) -> None:
        """Connect to everything, unless that is done; what fails is in the toolbox."""
        if self.is_open:
            return
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.client)
            self.toolbox = self._toolbox()  # one whose opening was cut short cannot be used again
            await stack.enter_async_context(self.toolbox)
            self._open = stack.pop_all()
        self.is_open = True

    async def close(self) -> None:
        """Leave nothing open; what was said stays."""
        self.is_open = False
        await self._open.aclose()

    def begin(self, user_prompt: str | None) -> None:
        """Put the system prompt first, unless it is there, and what is newly asked for last."""
        head = [] if self._has_begun else self.head()
        request: list[Message] = []
        if user_prompt is not None:
            self.messages[:] = with_answers(self.messages, _INTERRUPTED)
            plain: Message = {"role": "user", "content": user_prompt}
            request = [plain if self._has_begun else _marked("user", user_prompt)]
        self.messages[:] = [*head, *self.messages, *request]
        self._has_begun = True

    def replace(self, messages: Sequence[Message]) -> None:
        """Have said ``messages``, which lack the system prompt, and nothing else."""
        self.messages[:] = messages
        self._has_begun = False

    def offered(self) -> list[ToolSchema]:
        """The tools that the model is told of now."""
        offered = self.search.offered(self.toolbox.schemas)
        known = {tool["function"]["name"] for tool in self.known_tools}
        self.known_tools += [tool for tool in offered if tool["function"]["name"] not in known]
        return offered

    def as_seen(self, text: str) -> str:
        """``text``, which is our own, with the names of tools that the model knows them by."""
        tools = [*self.known_tools, *self.toolbox.schemas]
        names = tool_names(self.messages, tools, self._settings["namespace"])
        ours = sorted({tool["function"]["name"] for tool in tools}, key=len, reverse=True)
        if not ours:
            return text
        one = "|".join(map(re.escape, ours))
        return re.sub(rf"(?<![\w.-])(?:{one})(?![\w-])", lambda it: names.encode(it[0]), text)

    def head(self) -> list[Message]:
        """The system prompt, if there is anything to say."""
        text = prompts.SystemPromptGenerator().generate(
            self._settings["system_prompt"],
            self.toolbox.schemas,
            self.client.provider_name,
            self.form.schema if self.form else None,
            self.toolbox.instructions if self._settings["server_instructions"] else {},
        )
        return [_marked("system", text)] if text else []

    def _toolbox(self) -> Toolbox:
        settings = self._settings
        functions = Functions(
            settings["tools"],
            unused("python", self.servers),
            call_timeout=settings["timeout"],
            result_limit=settings["result_limit"],
        )
        return Toolbox(
            self.servers,
            allow=settings["allow"],
            deny=settings["deny"],
            call_timeout=settings["timeout"],
            startup_timeout=settings["startup_timeout"],
            result_limit=settings["result_limit"],
            elicit=settings["elicit"] or (self.questions.elicit if settings["pause"] else None),
            authorize=settings["authorize"],
            on_progress=self._progressed,
            progress_extends_timeout=settings["progress_extends_timeout"],
            redactor=self.redactor,
            make_server=self._make_server,
            more=[functions] if settings["tools"] else [],
        )

    async def _progressed(
        self, tool: str, progress: float, total: float | None, message: str | None
    ) -> None:
        if self.events is not None:
            told = {"progress": progress, "total": total, "message": message}
            await self.events.emit("tool_progress", tool_name=tool, **told)


def _marked(role: str, text: str) -> Message:
    return {"role": role, "content": text, "cache_control": {"type": "ephemeral"}}


def checked_messages(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A copy of ``messages``; a ValueError if they are not a conversation."""
    usable = isinstance(messages, Sequence) and not isinstance(messages, str)
    if not usable or not all(_is_message(it) for it in messages):
        raise ValueError("messages must be a list like Ghost.messages.")
    return [copy.deepcopy(dict(message)) for message in messages]


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping) or value.get("role") not in ("user", "assistant", "tool"):
        return False
    calls = value.get("tool_calls") or []
    return (
        isinstance(value.get("content"), str | list | None)
        and isinstance(calls, list)
        and all(isinstance(it, Mapping) and isinstance(it.get("function"), Mapping) for it in calls)
    )
