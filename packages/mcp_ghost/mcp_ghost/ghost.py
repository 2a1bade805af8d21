"""``mcp_ghost()``: one call runs a whole MCP tool operation and returns an account of it.

``Ghost`` does the same for request after request, with servers that stay connected.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import re
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeAlias, Unpack, _SpecialForm, overload

from mcp_ghost.run.settings import Options, OtherOptions, Settings, checked, declared

if TYPE_CHECKING:
    from mcp.server import MCPServer, Server
    from typing_extensions import TypeVar

    from mcp_ghost.events import Event
    from mcp_ghost.run.report.account import GhostResult
    from mcp_ghost.toolsets.server import Leaf

    T = TypeVar("T", default=Any)
    Output: TypeAlias = type[T] | UnionType | _SpecialForm | Mapping[str, Any] | None

P = ParamSpec("P")


def _with_options(function: Callable[P, T]) -> Callable[P, T]:
    """Name each option of ``**options`` in the signature, with its type and default."""
    written = inspect.signature(function)
    named = [it for it in written.parameters.values() if it.kind is not it.VAR_KEYWORD]
    for name, type_, option in declared(Options):
        shown = getattr(type_, "__forward_arg__", None) or inspect.formatannotation(type_)
        plain = re.sub(r"[a-z.]+\.(?=[A-Z])", "", shown).replace("NoneType", "None")
        named.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=plain
            )
        )
    function.__signature__ = written.replace(parameters=named)  # type: ignore[attr-defined]  # unknown to typeshed
    return function


@_with_options
async def mcp_ghost(
    server_config: Mapping[str, Any] | str | Path | MCPServer | Server[Any],
    system_prompt: str = "",
    provider: str = "",
    api_key: str | None = None,
    user_prompt: str = "",
    model: str | None = None,
    namespace: str = "mcp_ghost",
    timeout: float = 30.0,  # noqa: ASYNC109  part of the specified interface
    max_iterations: int = 10,
    enable_backtracking: bool = True,
    conversation_memory: bool = True,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Let a model carry out ``user_prompt`` with tools of MCP servers, and report what happened.

    Args:
        server_config: ``{"mcpServers": {...}}``, or the path of a JSON, JSONC or TOML file with
            it. An entry, or all of it, may be an ``MCPServer`` of the MCP SDK, which then runs in
            this process.
        system_prompt: How the model should use the tools, in your words.
        provider: "openai", "anthropic", "gemini", or one added with ``register_provider()``. It has
            to be given.
        api_key: By default taken from the environment or ``.env``, under the names that the
            provider's own SDK uses.
        user_prompt: The request.
        model: By default, one of the provider's current models.
        namespace: Prefix of the tools' names as the provider sees them.
        timeout: Seconds for one tool call.
        max_iterations: Replies in which the model may call tools; after these it has to answer.
        enable_backtracking: Whether the model may find another way after a failed call. If not, the
            first failure ends the run.
        conversation_memory: Whether the model sees the whole run, or only the latest exchange.
        base_url: The provider's address, by default the one that its own SDK would use.
        wire: How a server that speaks OpenAI's formats is asked: "chat" (chat completions),
            "responses" (the Responses API), or "auto": responses at OpenAI's own address, chat
            elsewhere, and the other one where the server says that the model needs it.
        llm_timeout: Seconds for one reply of the model.
        startup_timeout: Seconds for one server to start.
        progress_extends_timeout: Whether each report of progress gives a tool call its ``timeout``
            again, up to twenty times of it altogether.
        deadline: Seconds for the whole run.
        token_budget: Tokens, as the provider counts them, after which the model is not asked again.
        cost_budget: US dollars after which it is not asked again, if replies report their cost, as
            those of OpenRouter do; OpenAI, Anthropic and Gemini report none.
        max_tokens: Refused, because it could mean ``token_budget`` or ``reply_tokens``.
        reply_tokens: At most this many tokens in one reply; by default as many as the model
            allows. Calls in a cut-off reply are not executed.
        temperature: How freely the model chooses its words; by default, the provider decides.
        reasoning_effort: How long the model thinks: "none", "minimal", "low", "medium", "high",
            "xhigh" or "max", translated for each provider.
        stop: A reply ends before any of these strings.
        headers: HTTP headers for the provider, on top of its own.
        extra_body: Further fields of the request, under the provider's names for them.
        tools: Functions that the model may call, too: name, description and schema come from the
            signature and the docstring; in the result they are called "python.NAME". Those that
            are not coroutine functions run in threads.
        allow: The only tools to offer: names or shell patterns, compared with "server.tool" and
            with the tool's own name.
        deny: Tools not to offer; takes precedence over ``allow``.
        server_instructions: Whether the model is told what servers say about their use.
        tool_search_above: Tokens of schemas, estimated at four characters each, above which the
            model gets a tool that finds tools, instead of all of them; also above the number
            that the provider takes. None: never.
        max_parallel_calls: Calls of one reply that run at the same time on one server, if their
            tools say that they only read; others keep their order. Different servers never wait
            for each other.
        loop_limit: How often in a row a read-only tool may give the same result to the same call;
            then the call is not made again. None: no limit. Tools that may write, or do not say,
            are never stopped.
        images: Whether the model sees the images that tools return ("auto": unless it refuses
            them), or is only told about them ("never"). The result contains them in any case.
        max_result_tokens_per_turn: Estimated tokens that the results of one reply's calls may add
            to the conversation altogether; longer ones are visibly cut. None: no limit.
        result_limit: Characters of one tool result that the model sees.
        context_limit: Tokens of a request, as the provider counts them, above which older parts of
            the conversation are shortened, then summarised by the model; by default as much as the
            model can read, if its name is known, minus room for the reply.
        stream: Whether ``on_event`` is told what the model says and thinks as it arrives, in the
            events "text" and "thinking".
        on_event: Called with a dict for each step; may be a coroutine function.
        elicit: Asks the user what a server wants to know: a coroutine function that takes the
            server's name, its message and a JSON schema, and returns a dict, or None to decline.
            Missing keys are filled in from the schema's defaults. Without this, servers cannot ask.
        approve: Asked before calls: a coroutine function that takes the tool's name, the arguments
            and what the tool says about itself (``readOnlyHint`` and so on). If it returns True,
            the call is made. If it returns False, or the reason as a string, the call is refused
            and the model is told.
        approve_when: The calls before which ``approve`` is asked: "destructive" (except for tools
            that say that they only read, or destroy nothing), "always", or a list of patterns as
            in ``allow``.
        pause: Whether the run ends where somebody has to be asked and ``approve`` or ``elicit`` is
            not given. Its result then has ``pending`` and ``state``, for :func:`resume`.
        checkpoint: A file that always holds the state of the run, so that :func:`resume` can
            continue it if the program is killed.
        authorize: Signs the user in to a server reached by URL: a coroutine function that takes the
            address of the page and returns the one that the browser is sent back to. By
            default, the browser opens, and the program listens at an address on this machine.
        transport: Replaces the network, for tests and recordings.
        output: The form of the answer: a pydantic model, another type that pydantic knows, or a
            JSON schema. If the run succeeds, ``final_result`` is plain JSON of that form,
            and :func:`run_ghost` has it as that type in ``output``.

    Returns:
        ``success``, ``final_result``, ``summary``, ``tool_chain``, ``conversation_history``,
        ``errors`` and ``execution_metadata``: plain JSON values.

    Raises:
        ValueError: An argument or the configuration cannot be used.
        LLMError: The provider is unknown (a ValueError too), or there is no key for it.
            Whatever fails after that is reported in the result.
    """
    named = {name: it for name, it in locals().items() if name != "options"}
    return (await run(**named, **options)).to_dict()


async def run(
    *,
    make_server: Callable[..., Leaf] | None = None,
    **given: Any,  # noqa: ANN401
) -> GhostResult:
    """Run ``mcp_ghost()``; ``make_server`` makes what stands for each server, as in recordings."""
    from mcp_ghost.run.conversation import Conversation
    from mcp_ghost.run.operation import Operation

    _running_loop()
    arguments = _complete(given)
    user_prompt = _checked_prompt(arguments.pop("user_prompt"))
    settings = checked(arguments)
    conversation = Conversation(settings, make_server=make_server)
    return await Operation(settings, conversation, user_prompt, closes=True).run()


async def run_ghost(
    server_config: Mapping[str, Any] | str | Path | MCPServer | Server[Any],
    system_prompt: str = "",
    provider: str = "",
    api_key: str | None = None,
    user_prompt: str = "",
    model: str | None = None,
    namespace: str = "mcp_ghost",
    timeout: float = 30.0,  # noqa: ASYNC109  as in mcp_ghost
    max_iterations: int = 10,
    enable_backtracking: bool = True,
    conversation_memory: bool = True,
    *,
    output: Output[T] = None,
    **options: Unpack[OtherOptions],
) -> GhostResult[T]:
    """``mcp_ghost()`` with a typed result, which also has the cost and the cached tokens."""
    named = {name: it for name, it in locals().items() if name != "options"}
    return await run(**named, **options)


_SIGNATURE = inspect.signature(mcp_ghost)
_DEFAULTS = {name: it.default for name, it in _SIGNATURE.parameters.items()}
run_ghost.__signature__ = _SIGNATURE.replace(return_annotation="GhostResult[T]")  # type: ignore[attr-defined]  # unknown to typeshed


def _sync(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """``function`` for programs without an event loop."""

    @wraps(function)
    def run_here(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(function(*args, **kwargs))
        name = function.__name__
        raise RuntimeError(
            f"This thread is already running an event loop: use 'await {name}(...)'."
        )

    run_here.__doc__ = f"""Call ``{function.__name__}()`` from a program without an event loop.

    Raises:
        RuntimeError: This thread runs an event loop: await the other function there.
    """
    return run_here


mcp_ghost_sync = _sync(mcp_ghost)
run_sync = _sync(run_ghost)


def _complete(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are ``given`` to ``mcp_ghost()``, and the defaults of the others."""
    _SIGNATURE.bind(**given)  # a TypeError that names what is wrong
    if "provider" not in given:
        raise TypeError("missing a required argument: 'provider'")
    return {**_DEFAULTS, **given}


def _checked_prompt(user_prompt: object) -> str:
    if not isinstance(user_prompt, str) or not user_prompt.strip():
        raise ValueError("user_prompt is empty: say what should be done.")
    return user_prompt


def _running_loop() -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError("mcp_ghost needs asyncio's event loop; Trio's will not do.") from None


class Ghost:
    """A conversation: its servers stay connected, and each request knows the ones before it.

    An async context manager, which connects with the first request and disconnects at its end::

        async with Ghost(server_config=..., provider="openai", system_prompt="...") as ghost:
            await ghost.run("Which tables are there?")
            await ghost.run("And how many rows has the largest?")

    Args:
        options: The arguments of ``mcp_ghost()`` except ``user_prompt``; ``system_prompt`` may be
            left out. ``deadline``, ``max_iterations``, ``token_budget`` and ``cost_budget`` apply
            to each request separately.
        messages: What ``Ghost.messages`` returned, perhaps in another process, to continue from.

    Raises:
        ValueError: An argument or the configuration cannot be used.
        LLMError: The provider is unknown (a ValueError too), or there is no key for it.
    """

    def __init__(
        self, *, messages: Sequence[Mapping[str, Any]] = (), **options: Unpack[Settings]
    ) -> None:
        from mcp_ghost.run.conversation import Conversation, checked_messages

        if "user_prompt" in options:
            raise TypeError("Ghost takes no user_prompt; pass it to run().")
        arguments = _complete(options)
        del arguments["user_prompt"]
        self._settings = checked(arguments)
        self._conversation = Conversation(self._settings, checked_messages(messages))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._streamed: set[asyncio.Task[GhostResult]] = set()
        """The requests of streams that have not ended."""
        self._is_busy = False

    async def __aenter__(self) -> Self:
        self._loop = _running_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._loop = None
        for request in self._streamed:  # of streams that the program left, and perhaps still holds
            request.cancel()
        if self._streamed:
            await asyncio.wait(self._streamed)
        await self._conversation.close()

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation without the system prompt: plain JSON, to pass to another Ghost."""
        said = [it for it in self._conversation.messages if it["role"] != "system"]
        return copy.deepcopy(said)

    @overload
    async def run(self, user_prompt: str) -> dict[str, Any]: ...

    @overload
    async def run(self, user_prompt: str, *, output: Output[T]) -> GhostResult[T]: ...

    async def run(
        self, user_prompt: str, *, output: Output[T] = None
    ) -> dict[str, Any] | GhostResult[T]:
        """Carry out ``user_prompt``, and return what ``mcp_ghost()`` does.

        With ``output``, the form of this one answer, return what ``run_ghost()`` would return.

        ``conversation_history`` covers all requests so far, everything else only this one. After a
        request that was cut short, the next one continues from there.

        Raises:
            ValueError: The request is empty.
            RuntimeError: Another request is under way, or this is outside of ``async with``.
        """
        request = _checked_prompt(user_prompt)
        if output is None:
            return (await self._operate(request, self._settings)).to_dict()
        from mcp_ghost.run.form import Form
        from mcp_ghost.run.prompts import of_form

        form = Form(output)
        request = f"{request}\n\n{of_form(form.schema)}"
        return await self._operate(request, self._settings, form=form)

    async def stream(self, user_prompt: str) -> AsyncGenerator[dict[str, Any], None]:
        """Carry out ``user_prompt``, and yield each step, and the model's words as they arrive.

        The last event, "run_end", has the result under ``result``. Leaving the loop early ends
        the request.

        Raises:
            ValueError: The request is empty.
            RuntimeError: Another request is under way, or this is outside of ``async with``.
        """
        _checked_prompt(user_prompt)
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        def on_event(event: dict[str, Any]) -> object:
            if event["type"] != "run_end":
                events.put_nowait(event)
            known = self._settings["on_event"]
            return None if known is None else known(event)

        settings: Settings = {**self._settings, "stream": True, "on_event": on_event}
        request = asyncio.create_task(self._operate(user_prompt, settings))
        self._streamed.add(request)
        request.add_done_callback(self._streamed.discard)
        request.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            result = (await request).to_dict()
        finally:
            if not request.done():
                request.cancel()
                await asyncio.wait([request])
        end = {"success": result["success"], "summary": result["summary"]}
        yield {"type": "run_end", **end, "result": result}

    async def events(self, user_prompt: str) -> AsyncGenerator[Event, None]:
        """Do what ``stream`` does, but yield the types of ``mcp_ghost.events`` instead of dicts.

        Raises:
            ValueError: The request is empty.
            RuntimeError: Another request is under way, or this is outside of ``async with``.
        """
        from mcp_ghost.events import event_of

        async with aclosing(self.stream(user_prompt)) as stream:
            async for told in stream:
                yield event_of(told)

    async def resume(
        self, state: Mapping[str, Any] | str | Path, decisions: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Continue a request that paused, or whose program was killed; see :func:`resume`.

        ``state`` replaces what this Ghost knew about the conversation.
        """
        from mcp_ghost.run.shared import State

        kept = State.of(state)
        settings = self._settings
        if isinstance(state, str | Path):
            settings = {**settings, "checkpoint": state}
        how = {"state": kept, "decisions": decisions}
        return (await self._operate(kept.user_prompt, settings, **how)).to_dict()

    async def _operate(
        self,
        user_prompt: str,
        settings: Settings,
        **how: Any,  # noqa: ANN401  as Operation takes it
    ) -> GhostResult[Any]:
        from mcp_ghost.run.operation import Operation

        if self._loop is None:
            raise RuntimeError("Run requests inside 'async with Ghost(...) as ghost:'.")
        if self._loop is not asyncio.get_running_loop():
            raise RuntimeError("This Ghost was entered in another event loop; run requests there.")
        if self._is_busy:
            for _ in range(2):  # in which asyncio begins to end a stream that nobody reads any more
                await asyncio.sleep(0)
            if left := [it for it in self._streamed if it.cancelling()]:
                await asyncio.wait(left)
        if self._is_busy:
            raise RuntimeError("This Ghost is already running a request; await it first.")
        self._is_busy = True
        try:
            return await Operation(settings, self._conversation, user_prompt, **how).run()
        finally:
            self._is_busy = False


async def resume(
    state: Mapping[str, Any] | str | Path,
    decisions: Mapping[str, Any] | None = None,
    **options: Unpack[Settings],
) -> dict[str, Any]:
    """Continue a run that paused, or whose program was killed, perhaps in another process.

    No call whose result is known is made again. A call whose result never arrived may have taken
    effect: unless its tool says that repeating it does no harm, the model is told so and decides.

    Args:
        state: ``state`` in the result of the paused run, or the path of its checkpoint, which is
            kept up to date from then on.
        decisions: For each entry of ``pending``, by its ``id``: for a call, True, False or a reason
            why not; for a question from a server, a dict of answers, or None to decline.
            Whatever is left out stays pending.
        options: The arguments of the run. They are not part of the state, since they hold keys.

    Returns:
        What ``mcp_ghost()`` returns, for the whole run.

    Raises:
        ValueError: An argument cannot be used.
        LLMError: The provider is unknown, or there is no key for it.
    """
    async with Ghost(**options) as ghost:
        return await ghost.resume(state, decisions)
