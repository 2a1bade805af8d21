"""Properties of the manager and its servers: 5, 6, 27, 33 and 35 to 38 of the specification."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from managers.mcp_manager import MCPError, MCPManager
from mcp_ghost.config import ServerConfig
from mcp_ghost.text import seen
from session.game_configuration import GameConfiguration
from tests.specification.test_mcp_properties import any_outcomes, hundred_times, replies
from tests.support.fakes import FakeManager, Outcome, Turn, answer, batch
from tests.support.servers import LISTING, faulty, write_config

if TYPE_CHECKING:
    from mcp_ghost.messages import LLMResponse

pytestmark = pytest.mark.mcp


def manager_for(config_file: Path) -> MCPManager:
    config = GameConfiguration(
        client_base_url="http://127.0.0.1:9/v1", mcp_enabled=True, mcp_config_file=str(config_file)
    )
    return MCPManager(config, logging.getLogger("servers"))


def connected(manager: MCPManager, use: Callable[[MCPManager], Awaitable[Any]]) -> Any:  # noqa: ANN401  whatever use gives
    """What ``use`` gives, in a turn of its own."""

    async def turn() -> Any:  # noqa: ANN401  see above
        await manager.connect_session()
        try:
            return await use(manager)
        finally:
            await manager.disconnect_session()

    return asyncio.run(turn())


def may_be_json(text: str) -> bool:
    """Comments are allowed, too."""
    if "//" in text or "/*" in text:
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


broken_json = st.one_of(
    st.text(max_size=60),
    st.integers(1, 40).map(lambda cut: '{"mcpServers": {"s": {"command": "true"}}}'[:-cut]),
    st.sampled_from(["{'mcpServers': {}}", "{} {}", '{"a": 1,}', "[", "\ufeff{"]),
).filter(lambda text: not may_be_json(text))


_WHERE = r"Invalid JSON in .*broken\.json, (line \d+, column \d+: |the file is empty)"


# Property 5: Invalid JSON Configuration Rejection
@hundred_times
@given(text=broken_json)
def test_a_file_that_is_not_json_is_refused_with_its_place(
    text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "broken.json"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(MCPError, match=_WHERE):
        manager_for(path)


# Property 6: Session Lifecycle Coupling
@hundred_times
@given(
    script=st.lists(replies | st.just(RuntimeError("a bug")), min_size=1, max_size=4),
    results=st.lists(any_outcomes, max_size=4),
    turns=st.integers(1, 2),
)
def test_a_turn_connects_before_anything_else_and_disconnects_after_everything(
    script: list[LLMResponse | Exception], results: list[Outcome], turns: int
) -> None:
    manager = FakeManager(results)
    turn = Turn(script, manager)
    for _ in range(turns):
        manager.log.clear()
        try:
            turn.play()
        except RuntimeError as error:
            assert str(error) == "a bug"  # noqa: PT017  it may or may not be reached
        assert manager.log[0] == "connect"
        assert manager.log[-1] == "disconnect"
        assert sorted(set(manager.log[1:-1])) in ([], ["call", "done"])


def words(most: int) -> st.SearchStrategy[str]:
    """Texts without what people would not see, which models are not given either."""
    return st.text(max_size=most).map(seen)


tool_names = st.from_regex(r"[A-Za-z0-9_.-]{1,40}", fullmatch=True)
property_schemas = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean", "array", "object"])},
    optional={"description": words(20), "enum": st.lists(words(5))},
)
input_schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(words(10), property_schemas, max_size=4),
    },
    optional={"required": st.lists(words(10), max_size=3), "title": words(9)},
)
mcp_tools = st.lists(
    st.fixed_dictionaries(
        {"name": tool_names, "inputSchema": input_schemas},
        optional={"description": words(40), "annotations": st.just({"title": "t"})},
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda tool: str(tool["name"]),
)
server_names = st.from_regex(r"[A-Za-z0-9_. -]{1,20}", fullmatch=True)


# Property 33: Schema Translation to OpenAI Format
# Property 34: Tool Name Format
# Property 35: Tool Name Parsing for Routing
# Property 36: InputSchema to Parameters Mapping
# Property 37: Complete Tool Translation
# Property 38: OpenAI-Compatible Tool Definitions
# Without shrinking: each example starts a process.
@settings(hundred_times, phases=[Phase.generate])
@given(server=server_names, tools=mcp_tools, page=st.integers(1, 12), data=st.data())
def test_every_tool_of_a_server_is_translated_and_its_calls_reach_it(
    server: str,
    tools: list[dict[str, Any]],
    page: int,
    data: st.DataObject,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.getbasetemp()
    listing = folder / "listing.json"
    listing.write_text(json.dumps({"tools": tools, "page": page}))
    command = ["-S", "-I", str(LISTING), str(listing)]
    config = ServerConfig(command=sys.executable, args=command)
    manager = manager_for(write_config(folder / "listing_config.json", **{server: config}))
    called = data.draw(st.sampled_from([tool["name"] for tool in tools]))

    async def list_and_call(each: MCPManager) -> tuple[Any, Any]:
        return await each.get_tool_schemas(), await each.call_tool(f"{server}.{called}", {})

    schemas, result = connected(manager, list_and_call)
    assert schemas == [
        {
            "type": "function",
            "function": {
                "name": f"{server}.{tool['name']}",
                "description": tool.get("description", ""),
                "parameters": tool["inputSchema"],
            },
        }
        for tool in tools
    ]
    assert result.content == called


@pytest.mark.parametrize("name", ["my.own.server", ".hidden", "."])
def test_the_name_of_a_server_may_hold_dots(name: str, tmp_path: Path) -> None:
    manager = manager_for(write_config(tmp_path / "mcp_config.json", **{name: faulty()}))
    result = connected(manager, lambda each: each.call_tool(f"{name}.echo", {"text": "x"}))
    assert (result.content, result.is_error) == ("x", False)


# Property 27, as the agent sees it
def test_a_model_hears_of_no_tool_once_mcp_is_off() -> None:
    manager = FakeManager()
    manager.is_disabled = True
    turn = Turn([batch(1), answer()], manager)
    turn.play()
    assert turn.client.requests[0]["tools"] is None
    assert turn.client.requests[0]["response_format"] is not None
    assert "connect" not in manager.log
