"""How long a start may take that may download its server first."""

import asyncio

import pytest

from mcp_ghost.config import ServerConfig
from mcp_ghost.servers.installers import first_start, installer_of


@pytest.fixture(autouse=True)
def _nothing_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_ghost.servers.installers._installed", set())


def seconds(config: ServerConfig, *, fails: bool = False) -> float:
    """For the next start, of which 10 are allowed, and 120 where it installs."""

    async def started() -> float:
        with first_start("s", config, 10, 120, None) as allowed:
            if fails:
                raise TimeoutError(allowed)
            return allowed

    try:
        return asyncio.run(started())
    except TimeoutError as error:
        return float(error.args[0])


@pytest.mark.parametrize(
    ("line", "installer"),
    [
        ("npx -y some-server", "npx"),
        ("/usr/local/bin/npx -y some-server", "npx"),
        ("npm exec some-server", "npm exec"),
        ("bunx some-server", "bunx"),
        ("bun x some-server", "bun x"),
        ("deno run -A npm:some-server", "deno run"),
        ("pnpm dlx some-server", "pnpm dlx"),
        ("yarn dlx some-server", "yarn dlx"),
        ("uvx some-server", "uvx"),
        ("uv tool run some-server", "uv tool run"),
        ("pipx run some-server", "pipx"),
        ("docker run -i --rm some-server", "docker"),
        ("podman run -i --rm some-server", "podman"),
    ],
)
def test_the_first_start_by_an_installer_has_its_own_limit(line: str, installer: str) -> None:
    command, *args = line.split()
    config = ServerConfig(command=command, args=args)
    assert installer_of(config) == installer
    assert seconds(config, fails=True) == 120
    assert [seconds(config), seconds(config)] == [120, 10]


@pytest.mark.parametrize(
    "line", ["python -m server", "node server.js", "uv run server", "bun s.ts"]
)
def test_other_starts_have_the_limit_of_a_start(line: str) -> None:
    command, *args = line.split()
    assert seconds(ServerConfig(command=command, args=args)) == 10
