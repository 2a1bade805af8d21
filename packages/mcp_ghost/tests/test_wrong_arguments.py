"""mcp_ghost(): wrong arguments, which are refused before anything starts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from mcp_ghost import mcp_ghost, run_ghost
from mcp_ghost.errors import LLMError, MCPConfigError, MCPConfigNotFoundError
from tests.support.ghosts import KEY, PROVIDERS, Notes
from tests.support.wires import name_of

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp


def refused(notes: Notes, **arguments: Any) -> Exception:  # noqa: ANN401  any argument
    """The error that a call with these arguments ends in, before any server is started."""
    given: dict[str, Any] = {
        "server_config": {"mcpServers": {"notes": notes.config}},
        "system_prompt": "",
        "provider": "openai",
        "api_key": KEY,
        "user_prompt": "Go.",
        **arguments,
    }
    with pytest.raises((ValueError, LLMError)) as caught:
        asyncio.run(mcp_ghost(**given))
    assert not notes.log.exists()
    assert KEY not in str(caught.value)
    return caught.value


def test_an_unknown_provider_is_an_error_that_lists_the_known_ones(notes: Notes) -> None:  # B3
    error = refused(notes, provider="llama")
    assert isinstance(error, ValueError)
    assert all(name in str(error) for name in ("'llama'", *map(name_of, PROVIDERS)))


@pytest.mark.parametrize(
    ("provider", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("gemini", "GOOGLE_API_KEY"),
    ],
)
def test_a_missing_key_is_an_error_that_names_the_variable(  # B4
    notes: Notes, provider: WireName, variable: str
) -> None:
    assert variable in str(refused(notes, provider=provider, api_key=None))


@pytest.mark.parametrize(
    ("argument", "value", "says"),
    [
        ("server_config", None, "server_config must be"),
        ("user_prompt", "  ", "user_prompt is empty"),
        ("system_prompt", None, "system_prompt must be a string"),
        ("api_key", b"sk-0123456789", "api_key must be a string, not bytes"),
        ("model", 3, "model must be a string, not 3"),
        ("base_url", 8080, "base_url must be a string"),
        ("wire", "websocket", 'wire must be "auto", "chat" or "responses", not'),
        ("namespace", None, "namespace must be a string"),
        ("enable_backtracking", "no", "enable_backtracking must be True or False, not 'no'"),
        ("progress_extends_timeout", 1, "progress_extends_timeout must be True or False, not 1"),
        ("allow", "files.*", "allow must be a list of names or patterns such as ['files.*'], not"),
        ("deny", "files.delete", "deny must be a list"),
        ("deny", [3], "deny must be a list"),
        ("approve_when", ["files.*", 3], "a list of patterns"),
        ("checkpoint", 3, "checkpoint must be the path of a file"),
        ("transport", "http", "transport must be an httpx2.AsyncBaseTransport"),
        ("transport", httpx.AsyncBaseTransport(), "transport must be an httpx2.AsyncBaseTransport"),
        ("max_iterations", 0, "at least 1"),
        ("max_iterations", 2.5, "at least 1"),
        ("max_iterations", 3.0, "at least 1"),
        ("result_limit", None, "result_limit must be a whole number"),
        ("result_limit", 1e3, "result_limit must be a whole number"),
        ("timeout", None, "timeout must be a number above 0"),
        ("llm_timeout", None, "llm_timeout must be a number above 0"),
        ("timeout", 0, "timeout must be a number above 0"),
        ("timeout", "30", "timeout must be a number above 0"),
        ("timeout", float("nan"), "timeout must be a number above 0"),
        ("deadline", -1, "deadline must be a number above 0"),
        ("max_tokens", 500, "give reply_tokens for the length of one reply, or token_budget"),
        ("token_budget", 0, "token_budget must be a number above 0"),
        ("cost_budget", 0, "cost_budget must be a number above 0"),
        ("temperature", -1, "temperature must be a number of 0 or more"),
        ("temperature", True, "temperature must be a number of 0 or more"),
        ("reasoning_effort", "hard", "must be none, minimal, low, medium, high, xhigh, max"),
        ("stop", ["END", ""], "stop must be a string or a list of strings"),
        ("stop", 3, "stop must be a string or a list of strings"),
        ("extra_body", {"seed": object()}, "extra_body must be a dict of names and JSON values"),
        ("headers", {"x-a": 1}, "headers must be a dict of names and strings"),
        ("extra_body", [("a", 1)], "extra_body must be a dict of names and JSON values"),
        ("reply_tokens", 0, "reply_tokens must be a whole number"),
        ("reply_tokens", 1.5, "reply_tokens must be a whole number"),
        ("result_limit", 0, "result_limit"),
        ("on_event", "print", "on_event must be a function"),
        ("api_key", "sk-with a space", "The API key in api_key contains a space"),
        ("base_url", "127.0.0.1:80", "base URL"),
    ],
)
def test_a_wrong_argument_is_an_error_before_anything_starts(
    notes: Notes, argument: str, value: object, says: str
) -> None:
    assert says in str(refused(notes, **{argument: value}))


def test_a_wrong_configuration_is_an_error_before_anything_starts(
    notes: Notes, tmp_path: Path
) -> None:
    broken = {"mcpServers": {"notes": notes.config, "other": {"comand": "x"}}}
    assert isinstance(refused(notes, server_config=broken), MCPConfigError)
    missing = refused(notes, server_config=tmp_path / "none.json")
    assert isinstance(missing, MCPConfigNotFoundError)


def test_an_unknown_argument_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="tiemout"):
        asyncio.run(mcp_ghost({}, "", "openai", KEY, "Go.", tiemout=3))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="tiemout"):
        asyncio.run(run_ghost({}, "", "openai", KEY, "Go.", tiemout=3))  # type: ignore[call-arg]
