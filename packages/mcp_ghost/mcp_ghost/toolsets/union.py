"""Several toolsets as one, and the part of it that may be used."""

import asyncio
import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_not
from typing import Any, Self

from mcp_ghost.config import ServerConfig
from mcp_ghost.config.secrets import redactor_of
from mcp_ghost.errors import MCPError, MCPToolCallError
from mcp_ghost.redact import Redactor
from mcp_ghost.servers.session import OnProgress
from mcp_ghost.toolset import Call, Kind, Outcome, Tool, Toolset, Wrapper
from mcp_ghost.toolsets.server import Leaf, Server

_NOT_OPEN = "These tools are not open."
_NAMED_AT_MOST = 50
"""Tools that an error lists."""


class Union(Toolset):
    """The tools of ``leaves``, named "server.tool", that ``allow`` names and ``deny`` does not.

    These are names or shell patterns ("files.*", "*.delete_*", "delete_*"), compared with
    "server.tool" and with the tool's own name. Each call goes to its server. Calls run side by
    side, also on one server; whoever wants an order waits for the answers.
    """

    def __init__(
        self,
        leaves: Sequence[Leaf],
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
    ) -> None:
        self._leaves = {leaf.name: leaf for leaf in leaves}
        self._allow = None if allow is None else tuple(allow)
        self._deny = tuple(deny or ())
        self._listed: list[Mapping[str, Tool]] = []
        self._tools: dict[str, Tool] = {}
        self._forbidden: dict[str, Tool] = {}
        self.is_open = self.was_open = False

    async def __aenter__(self) -> Self:
        """Open all servers in parallel; what fails is in ``failures``."""
        if self.was_open:
            raise MCPError("These tools were opened before: make new ones.")
        self.is_open = self.was_open = True
        try:
            async with asyncio.TaskGroup() as group:
                for leaf in self._leaves.values():
                    group.create_task(leaf.__aenter__())
        except BaseException:  # cancelled, too: no server is left
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all servers in parallel; never raises, may be repeated."""
        self.is_open = False
        leaves = self._leaves.values()
        closing = [asyncio.create_task(leaf.__aexit__(None, None, None)) for leaf in leaves]
        if closing:
            await asyncio.wait(closing)  # goes on in the background when we are cancelled

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Those that may be used, in the order of the servers and of their lists.

        A server that died keeps its tools.
        """
        listed = [leaf.tools for leaf in self._leaves.values()]
        if len(listed) != len(self._listed) or any(map(is_not, listed, self._listed)):
            self._listed, known = listed, dict[str, Tool]()
            for leaf in self._leaves.values():
                for own, tool in leaf.tools.items():
                    # "a.b" of server "x" and "b" of server "x.a" would meet.
                    name = unused(f"{leaf.name}.{own}", known)
                    known[name] = renamed(tool, name)
            self._tools = {
                name: tool
                for name, tool in known.items()
                if (self._allow is None or tool.fits(self._allow)) and not tool.fits(self._deny)
            }
            self._forbidden = {name: it for name, it in known.items() if name not in self._tools}
        return self._tools

    @property
    def failures(self) -> Mapping[str, MCPError]:
        return {name: it.failure for name, it in self._leaves.items() if it.failure is not None}

    @property
    def instructions(self) -> dict[str, str]:
        offering = {tool.server for tool in self.tools.values()}
        return {it.name: it.own_instructions for it in self.alive if it.name in offering}

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The patterns that fit no tool; perhaps typos."""
        patterns = dict.fromkeys((*(self._allow or ()), *self._deny))
        known = [*self.tools.values(), *self._forbidden.values()]
        return tuple(it for it in patterns if not any(tool.fits([it]) for tool in known))

    @property
    def alive(self) -> list[Leaf]:
        """The servers that can be called now."""
        return [leaf for leaf in self._leaves.values() if leaf.is_alive]

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`; a tool that may not be used is not called."""
        tool = self.tools.get(call.name)
        if tool is not None:
            return await self._leaves[tool.server].call(replace(call, name=tool.own_name))
        if call.name in self._forbidden:
            return _unavailable(self, call, f"'{call.name}' is not allowed.")
        return _unavailable(self, call, f"Unknown tool '{call.name}'.")

    async def restart(self, server: str) -> None:
        if server not in self._leaves:
            raise MCPError(f"No MCP server '{server}' here. Servers: {_listing(self._leaves)}")
        if not self.is_open:
            raise MCPToolCallError(_NOT_OPEN)
        await self._leaves[server].restart(server)

    async def refresh(self) -> list[str]:
        """List the tools of servers again where they changed; returns the names of these."""
        changed = await asyncio.gather(*(leaf.refresh() for leaf in self.alive))
        return [name for names in changed for name in names]


class Toolbox(Union):
    """The tools of ``servers``, disabled ones left out, and of ``more``."""

    def __init__(
        self,
        servers: Mapping[str, ServerConfig],
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] | None = None,
        on_progress: OnProgress | None = None,
        redactor: Redactor | None = None,
        make_server: Callable[..., Leaf] = Server,
        more: Sequence[Leaf] = (),
        **options: Any,  # noqa: ANN401  those of Server
    ) -> None:
        """``make_server`` makes each of the servers; ``on_progress`` is told of "server.tool"."""
        used = {name: config for name, config in servers.items() if not config.disabled}
        options["redactor"] = redactor or redactor_of(used)
        leaves: list[Leaf] = []
        for name, config in used.items():
            told = on_progress and partial(self._progressed, on_progress, name)
            leaves.append(make_server(name, config, on_progress=told, **options))
        super().__init__([*leaves, *more], allow, deny)

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`."""
        if not self.is_open:
            return Outcome.without_result(Kind.FAILED, _NOT_OPEN)
        return await super().call(call)

    async def _progressed(self, tell: OnProgress, server: str, own: str, *said: Any) -> None:  # noqa: ANN401
        for name, tool in self.tools.items():
            if (tool.server, tool.own_name) == (server, own):
                await tell(name, *said)


class Bare(Wrapper):
    """The tools of ``inner`` under their own names; the second of a name is "server_tool"."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """All of those to offer."""
        return {name: renamed(tool, name) for name, tool in self._named().items()}

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`; "server.tool" will do, too."""
        known = self._named().get(call.name) or self.inner.tools.get(call.name)
        if known is None:
            return _unavailable(self, call, f"Unknown tool '{call.name}'.")
        return await self.inner.call(replace(call, name=known.name))

    def _named(self) -> dict[str, Tool]:
        named: dict[str, Tool] = {}
        for tool in self.inner.tools.values():
            if tool.server not in self.failures:
                own = tool.own_name
                named[unused(f"{tool.server}_{own}", named) if own in named else own] = tool
        return named


def renamed(tool: Tool, name: str) -> Tool:
    """``tool`` under another name."""
    function = {**tool.schema["function"], "name": name}
    return replace(tool, name=name, schema={**tool.schema, "function": function})


def unused(name: str, taken: Mapping[str, object]) -> str:
    """``name``, with underscores added until it is not in ``taken``."""
    while name in taken:
        name += "_"
    return name


def _unavailable(toolset: Toolset, call: Call, problem: str) -> Outcome:
    known = [schema["function"]["name"] for schema in toolset.schemas]
    near = difflib.get_close_matches(call.name, known, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    reason = f"{problem}{hint} Available tools: {_listing(known)}"
    return Outcome.without_result(Kind.FAILED, reason)


def _listing(names: Iterable[str]) -> str:
    listed = [*names]
    more = len(listed) - _NAMED_AT_MOST
    rest = f" and {more} more" if more > 0 else ""
    return (", ".join(listed[:_NAMED_AT_MOST]) or "none") + rest
