"""Functions of Python as tools: name, description and schema come from the functions themselves."""

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import ArgsKwargs, to_jsonable_python

from mcp_ghost.results import DEFAULT_LIMIT, ToolCallResult, bounded, failure
from mcp_ghost.servers.session import DEFAULT_CALL_TIMEOUT
from mcp_ghost.toolset import Call, Kind, Outcome
from mcp_ghost.toolsets.server import Leaf


class Functions(Leaf):
    """The tools that ``functions`` are; those that are not coroutine functions run in threads.

    What a function says of its effects stands in its attribute ``annotations``, as in MCP.
    """

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        name: str = "python",
        *,
        call_timeout: float = DEFAULT_CALL_TIMEOUT,
        result_limit: int = DEFAULT_LIMIT,
    ) -> None:
        """Read the signatures.

        Raises:
            ValueError: A function cannot be a tool.
        """
        super().__init__(name)
        self._call_timeout = call_timeout
        self._result_limit = result_limit
        self._functions: dict[str, tuple[Callable[..., Any], TypeAdapter[Any]]] = {}
        schemas, hints = [], {}
        for function in functions:
            own = str(getattr(function, "__name__", ""))
            if not own.isidentifier() or own in self._functions:
                raise ValueError(f"tools: {function!r} needs a name of its own.")
            try:
                adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", function))
                parameters = adapter.json_schema()
            except (PydanticUserError, NameError) as error:
                raise ValueError(f"tools: {own} cannot be described: {error}") from error
            if parameters.get("type") != "object":
                raise ValueError(f"tools: {own} cannot be described: it has nameless parameters.")
            described = {"description": inspect.getdoc(function) or "", "parameters": parameters}
            schemas.append({"type": "function", "function": {"name": own, **described}})
            hints[own] = getattr(function, "annotations", {})
            self._functions[own] = (function, adapter)
        self.take(schemas, hints)

    async def call(self, call: Call) -> Outcome:
        """See :class:`Toolset`; what a function raises, it reports as its error."""
        seconds = self._call_timeout if call.timeout is None else call.timeout
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                function, adapter = self._functions[call.name]
                arguments = ArgsKwargs((), call.arguments)
                if inspect.iscoroutinefunction(function):
                    returned = await adapter.validate_python(arguments)
                else:
                    returned = await asyncio.to_thread(adapter.validate_python, arguments)
            content = bounded(to_jsonable_python(returned, fallback=str), self._result_limit)
            return Outcome.of(ToolCallResult(content))
        except ValidationError as error:
            lines = (f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in error.errors())
            reason = f"These arguments cannot be used. {'; '.join(lines)}"
        except (Exception, SystemExit) as error:  # noqa: BLE001  the user's own code
            if isinstance(error, TimeoutError) and limit.expired():
                reason = f"The function '{call.name}' did not return within {seconds:g} s."
                return Outcome.without_result(Kind.TIMEOUT, reason, was_sent=True)
            reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        return Outcome.of(failure(reason))
