"""Every setting does something: the test that shows it is named here, for each field."""

from __future__ import annotations

import re

from session.game_configuration import GameConfiguration
from tests.session.test_settings import ROLES, SAMPLING
from tests.support import ROOT, files_of_tests

_OF_ROLES = "test_each_role_asks_its_own_model_at_its_own_endpoint_with_its_own_sampling"
_OF_PARTS = "test_a_part_that_is_off_is_neither_told_nor_kept"
_OF_LIMITS = "test_an_episode_ends_at_the_limit_that_is_reached"
SHOWN_BY = {
    **{
        f"{role}_{key}": _OF_ROLES
        for role in ROLES
        for key in ("model", "base_url", "extra_body", "thinking_tokens", *SAMPLING)
    },
    **{
        f"{part}_enabled": _OF_PARTS
        for part in ("map", "memories", "objectives", "knowledge", "action_check", "storage")
    },
    "ledger_enabled": "test_without_the_ledger_nothing_of_earlier_points_is_told",
    "condition_enabled": "test_without_condition_none_is_told",
    "without": "test_a_part_that_is_off_is_neither_told_nor_kept",
    "reflection_enabled": "test_without_reflection_nothing_is_asked_but_turns",
    "critic_enabled": "test_the_critic_is_asked_only_when_it_is_on",
    **dict.fromkeys(("max_cost_per_episode", "max_tokens_per_episode"), _OF_LIMITS),
    **dict.fromkeys(("max_turns_stuck", "max_failed_turns", "max_turns_per_episode"), _OF_LIMITS),
    "client_base_url": "test_a_password_in_the_base_url_reaches_the_server_but_no_file",
    "client_api_key": "test_a_key_of_its_own_goes_to_any_endpoint",
    "provider": "test_each_wire_is_played_through",
    "llm_wire": "test_requests_go_out_on_the_wire_that_is_set",
    "client_timeout_seconds": "test_a_slow_answer_is_given_up_and_asked_for_again",
    "retry_max_attempts": "test_attempts_are_limited",
    "retry_initial_delay": "test_waits_between_attempts_are_as_configured",
    "retry_max_delay": "test_the_server_says_how_long_to_wait",
    "breaker_failure_threshold": "test_the_breaker_counts_calls_and_then_spares_the_server",
    "breaker_recovery_seconds": "test_after_the_recovery_time_one_success_closes_the_breaker",
    "local_model_path": "test_a_wrong_model_file_ends_with_2_and_names_the_setting",
    "local_threads": "test_the_embedded_model_gets_the_configured_threads",
    "turn_timeout_seconds": "test_a_command_at_which_the_game_hangs_is_undone_told_and_counted",
    "interpreter_path": "test_a_build_of_ones_own_is_played_with",
    "max_turns_one_answer": "test_an_episode_that_cannot_get_past_one_prompt_ends_as_stalled",
    **dict.fromkeys(("story", "seed", "engine", "workdir"), "test_the_configured_game_is_played"),
    "turn_delay_seconds": "test_turns_are_spaced_by_the_configured_delay",
    "player_hints": "test_hints_that_are_given_beforehand_are_told_and_said",
    "evaluation_group": "test_an_episode_tells_its_group",
    "observation_level": "test_at_text_a_whole_episode_asks_with_nothing_but_what_was_printed",
    "observation_prior_knowledge": "test_whether_prior_knowledge_may_be_used_is_told_and_recorded",
    "context_token_budget": "test_what_is_told_anew_keeps_its_budget",
    "context_history_tokens": "test_beyond_its_budget_the_oldest_turns_give_way_to_a_summary",
    "context_profile": "test_the_menu_of_the_compact_prompt_suits_openai_too",
    "map_rooms_shown": "test_as_many_rooms_are_shown_as_configured_and_they_are_the_nearest",
    "memories_token_budget": "test_the_budget_is_kept_to_the_character",
    "memories_max_distance": "test_memories_are_told_up_to_the_configured_distance",
    "objectives_stale_turns": "test_an_objective_without_progress_is_retired_after_so_many_turns",
    "objectives_shown": "test_those_for_this_room_are_told_first_then_the_newest",
    "knowledge_token_budget": "test_a_head_of_many_claims_keeps_its_budget_with_tested_ones_in_it",
    "storage_carry_over": "test_an_episode_may_begin_without_what_others_learned",
    "storage_database_url": "test_what_is_learned_goes_to_the_configured_database",
    "reflection_interval_turns": "test_reflections_keep_the_configured_interval",
    "action_check_mode": "test_fault_1_with_advice_only_the_command_is_given_and_the_remark_told",
    "action_check_max_refusals": "test_fault_1_who_insists_is_believed_after_so_many_refusals",
    "mcp_enabled": "test_without_mcp_there_is_no_manager_and_no_file_is_read",
    "mcp_config_file": "test_a_missing_configuration_file_is_an_error_that_names_both_ways_out",
    "mcp_servers": "test_the_servers_that_are_named_are_used_side_by_side",
    "mcp_session": "test_a_session_may_last_for_the_episode",
    "mcp_server_instructions": "test_the_agent_is_told_what_servers_say_of_their_use",
    "mcp_max_tool_iterations": (
        "test_at_the_limit_the_answer_is_forced_without_tools_and_with_the_schema"
    ),
    "mcp_tool_call_timeout_seconds": (
        "test_a_timeout_ends_its_batch_with_every_id_answered_and_the_model_goes_on"
    ),
    "mcp_progress_extends_timeout": (
        "test_progress_extends_the_time_of_a_call_only_where_the_settings_say_so"
    ),
    "mcp_server_startup_timeout_seconds": "test_a_server_gets_the_configured_time_to_start",
    "mcp_max_result_tokens_per_turn": "test_what_tools_add_to_a_turn_is_limited",
    "mcp_max_parallel_calls": (
        "test_calls_that_only_read_run_side_by_side_only_up_to_a_limit_that_is_set"
    ),
    "mcp_images": "test_the_model_sees_the_images_of_tools_unless_it_is_not_to",
    "mcp_server_install_timeout_seconds": "test_a_start_that_may_download_has_more_time",
    "mcp_force_tool_support": "test_tool_support_can_be_forced",
    "player_name": "test_every_player_is_recorded_continued_and_replayed",
    "player_commands": "test_after_its_last_command_the_walkthrough_looks_around",
    "player_seed": "test_every_player_is_recorded_continued_and_replayed",
    "player_history_turns": "test_chat_may_be_shown_the_latest_turns_only",
    "rules_after_death": "test_after_a_death_the_rules_say_what_happens",
    "rules_several_commands": "test_a_line_of_several_commands_can_cost_its_turn",
    "rules_unusable_answer": "test_an_unusable_answer_can_cost_its_turn",
    "rules_restore": "test_a_player_may_take_the_game_back",
}


def sources() -> dict[str, str]:
    """Test -> the text of its file and of those below tests/ that the file imports."""
    texts = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in files_of_tests("*.py")
    }
    found: dict[str, str] = {}
    for text in texts.values():
        helpers = re.findall(r"^from (tests\.[\w.]+) import", text, re.MULTILINE)
        whole = "\n".join([text, *(texts.get(name, "") for name in helpers)])
        found |= dict.fromkeys(re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE), whole)
    return found


def spellings(field: str) -> set[str]:
    """How a test may write a setting: a keyword, a variable, a flag, or a name put together."""
    flag = f"--{field.replace('_', '-')}"
    role, _, key = field.partition("_")
    part = field.removesuffix("_enabled")
    together = (
        {f'"{key}"', f'}}_{key}"'} if role in ROLES else {f'"{part}"'} if part != field else set()
    )
    return {field, field.upper(), flag} | together


def test_no_setting_is_without_a_test_and_no_test_without_a_setting() -> None:
    assert SHOWN_BY.keys() == GameConfiguration.model_fields.keys()


def test_the_test_of_each_setting_exists_and_sets_it() -> None:
    texts = sources()
    for field in GameConfiguration.model_fields:
        text = texts[SHOWN_BY[field]]
        assert any(spelling in text for spelling in spellings(field)), field
