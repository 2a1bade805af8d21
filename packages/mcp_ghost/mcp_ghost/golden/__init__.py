"""Goldens: runs recorded once, replayed without key or network, compared by what they did.

    result = await record_golden("tests/goldens/openai/report.json", test_name="report", ...)
    result = await replay_golden("tests/goldens/openai/report.json")
    assert_matches_golden(result, load_golden("tests/goldens/openai/report.json"))

Recording and replaying happen where HTTP begins (:mod:`mcp_ghost.golden.transport`), so that all
else is real: a replay runs the whole loop against real MCP servers.
"""

from mcp_ghost.golden.comparison import (
    GoldenWarning,
    assert_matches_golden,
    compare_golden,
    provider_drift,
)
from mcp_ghost.golden.file import Golden, load_golden, save_golden
from mcp_ghost.golden.running import RecordedRun, Replayed, record_golden, replay_golden
from mcp_ghost.golden.transport import RecordingTransport, ReplayTransport

__all__ = [
    "Golden",
    "GoldenWarning",
    "RecordedRun",
    "RecordingTransport",
    "ReplayTransport",
    "Replayed",
    "assert_matches_golden",
    "compare_golden",
    "load_golden",
    "provider_drift",
    "record_golden",
    "replay_golden",
    "save_golden",
]
