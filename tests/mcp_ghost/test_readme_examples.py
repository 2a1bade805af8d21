"""The README's examples run as they stand, in a fresh process, with every provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_ghost.providers.registry import get_provider
from mcp_ghost.testing import ModelRequest, ModelServer, Reply, content_reply, tool_reply
from tests.support import ghost_example, warm
from tests.support.ghosts import PROVIDERS

if TYPE_CHECKING:
    from mcp_ghost.testing.wires import WireName

pytestmark = pytest.mark.mcp
every_provider = pytest.mark.parametrize("provider", PROVIDERS)
READ = tool_reply([("mcp_ghost.notes.read_all", {})])


def run(
    folder: Path,
    script: Callable[[ModelRequest], Reply] | list[Reply],
    provider: WireName,
    *command: str,
) -> subprocess.CompletedProcess[str]:
    """One program of the README with a model of ``provider`` that refused nothing."""
    ghost_example.write_files(folder)
    with ModelServer(script, wire=provider) as server:
        env = {**os.environ, get_provider(provider).base_url_variable: server.base_url}
        called = (sys.executable, *command, provider)
        done = warm.run(called, cwd=folder, env=env, warm=(*warm.GHOST, "pytest"))
    assert done.returncode == 0, done.stderr
    assert server.refusals == []
    return done


@every_provider
def test_the_shopping_list_is_read_from_the_notes(provider: WireName, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Two bottles of milk.\n")
    answer = content_reply(json.dumps({"items": [{"name": "milk", "amount": 2}]}))
    done = run(tmp_path, [READ, content_reply("Milk."), answer], provider, "shopping.py")
    assert done.stdout == "2 milk\n"
