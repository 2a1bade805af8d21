"""SECURITY.md: each sentence about what users can rely on, and the test that proves it."""

from __future__ import annotations

import re

import pytest

from game_server.serving import LOOPBACK, listening
from tests.support import ROOT
from viewer.flags import parse_flags
from viewer.web.watch import watching

GHOST, MOVIE = "packages/mcp_ghost/tests", "packages/movie_generator/tests"
INTERPRETER = "tests/game_interface/test_interpreter.py"
FOLDER = "tests/specification/test_shared_folder.py::test_nothing_of_a_shared_folder"
PROVED = {
    "listen on loopback": "tests/test_security.py::test_whoever_names_no_host",
    "token is needed": "tests/viewer/web/test_cockpit.py::test_who_did_not_start_the_game",
    "needed to read": "tests/viewer/web/test_reading.py::test_what_the_disk_does_not_show",
    "Over HTTP, the game server": "tests/game_server/test_doors.py::test_over_http_only_who",
    "at most 64 connections": "tests/viewer/web/test_flood.py::test_a_game_ends_as_if_nobody_had",
    "Keys are masked": "tests/test_privacy.py::test_no_planted_secret_leaves_a_run",
    "fetches no private address": f"{GHOST}/test_guard.py::test_the_address_that_was_checked",
    "calls no tool with": f"{MOVIE}/pages/test_tool_guard.py::test_an_address_that_is_not_a",
    "Signing in to an MCP server": f"{GHOST}/servers/test_oauth.py::test_signing_in_leads_to",
    "Only a server inside your network": f"{GHOST}/servers/test_oauth.py::test_signing_in_leads_to",
    "Before the browser opens": f"{GHOST}/servers/test_oauth.py::test_who_signs_in_once",
    "may decide how": "tests/session/test_game_configuration.py::test_settings_found",
    "is ignored until you allow it": FOLDER,
    "asks once for each version": f"{GHOST}/test_trust.py::test_a_yes_holds_until_the_file",
    "If it cannot ask": FOLDER,
    "A key from your environment": f"{GHOST}/test_trust.py::test_a_key_goes_home_or_where_its_user",
    "none of this program's own keys": f"{GHOST}/servers/test_environment.py::test_a_server_gets",
    "shows the whole call": f"{GHOST}/cli/test_picture.py::test_ten_thousand_hostile_calls",
    "what was typed before": f"{GHOST}/cli/test_asking.py::test_no_call_is_made_by_what_was",
    "A server's own hints": f"{GHOST}/run/test_approval.py::test_what_a_server_says_of_its_tools",
    "A decision in a pause state": f"{GHOST}/run/test_approval.py::test_a_decision_holds_for",
    "never choose what runs": FOLDER,
    "No link in an episode": "tests/test_files_of_others.py::test_a_link_in_an_episodes",
    "A pipe or device": "tests/test_files_of_others.py::test_what_is_no_file_is_an",
    "is never run in the page": "tests/viewer/web/pages/test_hostile.py::test_markup_and_control",
    "can hide a message": f"{GHOST}/servers/test_unseen.py::test_a_text_is_given_to_the_model",
    "gets none of your environment": f"{INTERPRETER}::test_an_interpreter_has_no_network_no_files",
    "time, memory, output and file size": f"{INTERPRETER}::test_a_story_that_prints_without_end",
    "Elsewhere, a debug line": f"{INTERPRETER}::test_where_a_kernel_cannot_confine",
    "On Linux with": f"{INTERPRETER}::test_an_interpreter_has_no_network_no_files",
    "readable by you alone": f"{GHOST}/run/test_approval.py::test_a_checkpoint_is_for_its_owner",
}
"""Words of the sentence -> its test."""


def sentences() -> list[str]:
    """What the page says that users can rely on."""
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    section = text.partition("## What you can rely on")[2].partition("\n## ")[0]
    points = [" ".join(it.split()) for it in re.sub(r"(?m)^###.*", "", section).split("\n- ")]
    return [it for point in points for it in re.split(r"(?<=[.]) (?=[A-Z`])", point) if it]


@pytest.mark.parametrize("sentence", sentences())
def test_whatever_users_can_rely_on_has_a_test(sentence: str) -> None:
    proofs = [test for words, test in PROVED.items() if words in sentence]
    assert proofs, "no test is named for this sentence"
    for path, _, name in (it.partition("::") for it in proofs):
        assert re.search(rf"^(?:async )?def {name}", (ROOT / path).read_text(), re.MULTILINE), name


def test_whoever_names_no_host_serves_this_machine() -> None:
    assert parse_flags([]).host == LOOPBACK
    with listening(0) as game:
        assert game.getsockname()[0] == LOOPBACK
    with watching("game_files", open_browser=False) as address:
        assert str(address).startswith(f"http://{LOOPBACK}:")


def test_each_proof_is_of_a_sentence() -> None:
    said = " ".join(sentences())
    assert [words for words in PROVED if words not in said] == []
