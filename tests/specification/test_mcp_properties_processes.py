"""Properties of the manager's server processes: 7, 8, 9, 26 and 27 of the specification."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from managers.mcp_manager import MCPError, MCPManager, MCPServerStartupError
from mcp_ghost.config import ServerConfig
from mcp_ghost.config.variables import variables_in
from tests.specification.test_mcp_properties import hundred_times
from tests.specification.test_mcp_properties_servers import connected, manager_for
from tests.support.servers import eventually, is_running, write_config

pytestmark = pytest.mark.mcp
SMALL = Path(__file__).parents[1] / "support" / "servers" / "small.sh"
ECHO = "small.echo"
# Without shrinking: each example starts processes.
with_processes = settings(hundred_times, phases=[Phase.explicit, Phase.generate])

variable_names = st.from_regex(r"[A-Z][A-Z0-9_]{0,12}", fullmatch=True).map("IT_{}".format)
variable_values = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30
).filter(lambda value: "${" not in value and not [*variables_in(value)])
variables = st.dictionaries(variable_names, variable_values, max_size=5)


class Small:
    """A configured small server in a folder of its own, and what it left there."""

    def __init__(self, factory: pytest.TempPathFactory, **env: str) -> None:
        self.folder = factory.mktemp("small")
        env = {"FAILING": "", "CHILDREN": "", "FOLDER": str(self.folder), **env}
        server = ServerConfig(command="sh", args=[str(SMALL)], env=env)
        self.manager = manager_for(write_config(self.folder / "mcp.json", small=server))

    @property
    def starts(self) -> list[int]:
        return [int(pid) for pid in (self.folder / "starts").read_text().split()]

    @property
    def methods(self) -> list[str]:
        return (self.folder / "methods").read_text().split()

    @property
    def environment(self) -> dict[str, str]:
        entries = (self.folder / "environment").read_bytes().decode().split("\0")[:-1]
        return dict(entry.split("=", 1) for entry in entries)

    def turn_works(self) -> bool:
        """Play a turn with one call; whether the tool could be used."""
        try:
            result = connected(self.manager, lambda each: each.call_tool(ECHO, {}))
        except MCPError:
            return False
        return bool(result.content == "pids")


async def _nothing(manager: MCPManager) -> None:
    del manager


# Property 7: Environment Variable Merging
@with_processes
@given(system=variables, configured=variables)
@example(system={}, configured={"HOME": "/nowhere", "ADDED": "a=b c"})
@example(system={"KEPT": "as it was"}, configured={"KEPT": ""})
def test_a_server_sees_the_system_environment_with_any_configured_on_top(
    system: dict[str, str], configured: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in system.items():
            patch.setenv(name, value)
        small = Small(tmp_path_factory, **configured)
        connected(small.manager, _nothing)
        expected = {**os.environ, **configured}
    seen = small.environment
    of_the_shell = {"PATH", "PWD", "OLDPWD", "SHLVL", "_"}
    assert {name: seen.get(name) for name in expected if name not in of_the_shell} == {
        name: value for name, value in expected.items() if name not in of_the_shell
    }
    assert seen["PATH"].endswith(os.environ["PATH"])


# Property 8: Protocol Handshake Before Discovery
@with_processes
@given(turns=st.lists(st.integers(0, 3), min_size=1, max_size=2))
def test_in_any_turns_the_handshake_comes_before_the_tools_and_they_before_any_call(
    turns: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    small = Small(tmp_path_factory)
    expected = ["server/discover"]
    for calls in turns:

        async def call(manager: MCPManager, calls: int = calls) -> None:
            await manager.get_tool_schemas()
            for _ in range(calls):
                await manager.call_tool(ECHO, {})

        connected(small.manager, call)
        expected += ["initialize", "notifications/initialized", "tools/list"]
        expected += ["tools/call"] * calls
    assert small.methods == expected


# Property 9: Subprocess Termination on Disconnect
@with_processes
@given(calls=st.integers(0, 3), children=st.integers(0, 3), fails=st.booleans())
def test_after_any_disconnection_neither_server_nor_its_children_run(
    calls: int, children: int, *, fails: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    small = Small(tmp_path_factory, CHILDREN="x " * children)
    started: list[int] = []

    async def use(manager: MCPManager) -> None:
        for _ in range(calls):
            result = await manager.call_tool(ECHO, {})
            started.extend(int(pid) for pid in str(result.content).split()[1:])
        assert all(map(is_running, [*small.starts, *started]))
        if fails:
            raise LookupError

    with suppress(LookupError):
        connected(small.manager, use)
    assert len(started) == calls * children
    assert len(small.starts) == 1
    assert not is_running(small.starts[0])
    assert eventually(lambda: not any(map(is_running, started)))


failing_starts = st.sets(st.integers(2, 7))


def foreseen(failing: set[int], turns: int) -> tuple[list[bool], int]:
    """What is specified: whether each turn has tools, and how often a server is started."""
    usable, starts = [], 0
    disabled = False
    for _ in range(turns):
        tries = 0
        while not disabled and tries < 2:
            starts, tries = starts + 1, tries + 1
            if starts not in failing:
                break
            disabled = tries == 2
        usable.append(not disabled)
    return usable, starts


# Property 26: Connection Retry Logic
# Property 27: Graceful Degradation After Retry Failure
@with_processes
@given(failing=failing_starts, turns=st.integers(2, 4))
@example(failing={2, 4}, turns=4)  # a retry that succeeded is forgotten
@example(failing={2, 4, 5}, turns=4)
def test_whichever_starts_fail_a_later_turn_has_one_retry_and_a_failed_one_ends_mcp(
    failing: set[int], turns: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    small = Small(tmp_path_factory, FAILING=" ".join(map(str, failing)))
    usable, starts = foreseen(failing, turns)
    assert [small.turn_works() for _ in range(turns)] == usable
    assert len(small.starts) == starts
    assert small.manager.is_disabled is not usable[-1]
    if small.manager.is_disabled:
        assert asyncio.run(small.manager.get_tool_schemas()) == []


# Property 26, on the first turn
@with_processes
@given(failing=failing_starts)
def test_a_first_connection_that_fails_is_never_tried_again(
    failing: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    small = Small(tmp_path_factory, FAILING=" ".join(map(str, {1, *failing})))
    with pytest.raises(MCPServerStartupError, match="Failed to start MCP server 'small'"):
        asyncio.run(small.manager.connect_session())
    assert len(small.starts) == 1
    assert not small.manager.is_disabled
