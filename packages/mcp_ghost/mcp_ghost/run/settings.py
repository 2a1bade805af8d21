"""The options of ``mcp_ghost()``: what each may be, and what it is if it is not given.

Their meanings are in the docstring of :func:`mcp_ghost.ghost.mcp_ghost`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, TypedDict, cast, get_args

if TYPE_CHECKING:
    import httpx2
    from mcp.server import MCPServer, Server
    from pydantic import BaseModel

    from mcp_ghost.run.ledger import Approve, ApproveWhen
    from mcp_ghost.run.report.events import OnEvent
    from mcp_ghost.servers.oauth.browser import Authorize
    from mcp_ghost.servers.protocol.elicitation import Elicit


@dataclass(frozen=True)
class Option:
    """What an option must be, in words and as a check, and its default."""

    wanted: str
    """What follows "must be" in the error."""
    default: object = None
    """It needs no check; ``...``: there is none."""
    check: Callable[[Any], bool] | None = None
    """Takes the place of the type, for types that pydantic does not know."""
    above: float | None = None
    least: float | None = None

    def accepted(self, value: object) -> object:
        """``value``, unless the check refuses it with a ValueError."""
        if self.check and value is not self.default and not self.check(value):
            raise ValueError(self.wanted)
        return value


def _is_json(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    try:
        json.dumps(dict(value))
    except (TypeError, ValueError, RecursionError):
        return False
    return all(isinstance(name, str) for name in value)


def _are_texts(value: object) -> bool:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Collection):
        return False
    return all(isinstance(text, str) for text in value)


def _are_functions(value: object) -> bool:
    return isinstance(value, Sequence) and all(map(callable, value))


def _are_words(value: object) -> bool:
    words = [value] if isinstance(value, str) else value
    return _are_texts(words) and all(cast("Collection[str]", words))


def _names_servers(value: object) -> bool:
    from mcp_ghost.config.server import is_server

    return isinstance(value, Mapping | str | Path) or is_server(value)


def _is_transport(value: object) -> bool:
    """Refuses httpx's, too: it raises errors of other classes."""
    import httpx2

    return isinstance(value, httpx2.AsyncBaseTransport)


_number = partial(Option, "a number above 0", above=0)
_whole = partial(Option, "a whole number of at least 1", least=1)
_text = partial(Option, "a string")
_function = partial(Option, check=callable)
_switch = partial(Option, "True or False", False)
_patterns = partial(Option, "a list of names or patterns such as ['files.*']", check=_are_texts)
_SECRET = frozenset({"api_key", "headers", "extra_body", "server_config"})
"""Not repeated in errors."""
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


class OtherOptions(TypedDict, total=False):
    """The options of :func:`mcp_ghost.ghost.mcp_ghost` whose types do not depend on each other."""

    base_url: Annotated[str | None, _text()]
    wire: Annotated[
        Literal["auto", "chat", "responses"], Option('"auto", "chat" or "responses"', "auto")
    ]
    llm_timeout: Annotated[float, _number(120.0)]
    startup_timeout: Annotated[float, _number(30.0)]
    progress_extends_timeout: Annotated[bool, _switch()]
    deadline: Annotated[float | None, _number()]
    token_budget: Annotated[float | None, _number()]
    cost_budget: Annotated[float | None, _number()]
    max_tokens: Annotated[None, Option("None")]
    reply_tokens: Annotated[int | None, _whole()]
    temperature: Annotated[float | None, Option("a number of 0 or more", least=0)]
    reasoning_effort: Annotated[
        str | None, Option(", ".join(_EFFORTS), check=lambda it: it in _EFFORTS)
    ]
    stop: Annotated[
        Sequence[str] | str | None, Option("a string or a list of strings", check=_are_words)
    ]
    headers: Annotated[Mapping[str, str] | None, Option("a dict of names and strings")]
    extra_body: Annotated[
        Mapping[str, Any] | None, Option("a dict of names and JSON values", check=_is_json)
    ]
    tools: Annotated[
        Sequence[Callable[..., Any]], Option("a list of functions", (), check=_are_functions)
    ]
    allow: Annotated[Sequence[str] | None, _patterns()]
    deny: Annotated[Sequence[str] | None, _patterns()]
    server_instructions: Annotated[bool, Option("True or False", default=True)]
    tool_search_above: Annotated[int | None, _whole(20_000)]
    max_parallel_calls: Annotated[int, _whole(8)]
    loop_limit: Annotated[int | None, _whole(2)]
    images: Annotated[Literal["auto", "never"], Option('"auto" or "never"', "auto")]
    max_result_tokens_per_turn: Annotated[int | None, _whole(20_000)]
    result_limit: Annotated[int, _whole(32_000)]
    context_limit: Annotated[float | None, _number()]
    stream: Annotated[bool, _switch()]
    on_event: Annotated["OnEvent | None", _function("a function of one argument")]
    elicit: Annotated["Elicit | None", _function("a coroutine function of three arguments")]
    approve: Annotated["Approve | None", _function("a coroutine function of three arguments")]
    approve_when: Annotated[
        "ApproveWhen",
        Option(
            '"destructive", "always" or a list of patterns such as \'files.*\'',
            "destructive",
            check=lambda it: it in ("destructive", "always") or _are_texts(it),
        ),
    ]
    pause: Annotated[bool, _switch()]
    checkpoint: Annotated[
        str | Path | None,
        Option("the path of a file", check=lambda it: isinstance(it, str | PathLike)),
    ]
    authorize: Annotated["Authorize | None", _function("a coroutine function of one argument")]
    transport: Annotated[
        "httpx2.AsyncBaseTransport | None",
        Option("an httpx2.AsyncBaseTransport", check=_is_transport),
    ]


class Options(OtherOptions, total=False):
    """The options of :func:`mcp_ghost.ghost.mcp_ghost` beside the specified parameters."""

    output: Annotated[Any, Option("a type or a JSON schema")]


class Settings(Options, total=False):
    """All arguments of :func:`mcp_ghost.ghost.mcp_ghost` but the request."""

    server_config: Required[
        Annotated[
            "Mapping[str, Any] | str | Path | MCPServer | Server[Any]",
            Option(
                '{"mcpServers": {...}}, the path of a file, or an MCPServer',
                ...,
                check=_names_servers,
            ),
        ]
    ]
    system_prompt: Annotated[str, _text()]
    provider: Required[Annotated[str, Option("a name", check=lambda _: True)]]
    """Refused by those who know the providers."""
    api_key: Annotated[str | None, _text()]
    model: Annotated[str | None, _text()]
    namespace: Annotated[str, _text()]
    timeout: Annotated[float, _number()]
    max_iterations: Annotated[int, _whole()]
    enable_backtracking: Annotated[bool, _switch()]
    conversation_memory: Annotated[bool, _switch()]


def declared(options: type[Options]) -> Iterator[tuple[str, Any, Option]]:
    """The name, type and limits of each option, as they are written above."""
    for name, annotation in options.__annotations__.items():
        plain = annotation if hasattr(annotation, "__metadata__") else get_args(annotation)[0]
        yield name, plain.__origin__, plain.__metadata__[0]


@cache
def _model() -> "type[BaseModel]":
    from pydantic import AfterValidator, ConfigDict, Field, create_model

    fields: Any = {}
    for name, type_, it in declared(Settings):
        bounded: object = Annotated[type_, Field(gt=it.above, ge=it.least)]
        fields[name] = (Annotated[Any, AfterValidator(it.accepted)] if it.check else bounded, ...)
    config = ConfigDict(strict=True, allow_inf_nan=False)
    return create_model("Settings", __config__=config, **fields)


def checked(arguments: Mapping[str, Any]) -> Settings:
    """All of ``arguments``, which must be complete.

    Raises:
        ValueError: One of them cannot be used; the message says what it must be.
    """
    if arguments["max_tokens"] is not None:
        raise ValueError(
            "max_tokens could mean two things: give reply_tokens for the length of one reply, "
            "or token_budget for the tokens of the whole run (cost_budget: its US dollars)."
        )
    from pydantic import ValidationError

    try:
        _model().model_validate(arguments)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        wanted = next(it.wanted for each, _, it in declared(Settings) if each == name)
        value = arguments[name]
        shown = type(value).__name__ if name in _SECRET else repr(value)
        given = "" if shown == "dict" else f", not {shown}"
        raise ValueError(f"{name} must be {wanted}{given}.") from None
    asks = arguments["approve"] is not None or arguments["pause"]
    if arguments["approve_when"] != "destructive" and not asks:
        raise ValueError("approve_when needs somebody to ask: pass approve, or pause=True.")
    return cast("Settings", arguments)
