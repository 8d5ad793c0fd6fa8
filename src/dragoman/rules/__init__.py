"""The rules, one repair per file, in the order in which they run. Why this order: docs/decisions/order-of-rules.md."""

from __future__ import annotations

from dragoman.rules.bad_arguments import bad_arguments
from dragoman.rules.blank_remainder import blank_remainder
from dragoman.rules.cache_marks import cache_marks
from dragoman.rules.call_id_form import call_id_form
from dragoman.rules.custom_tool import custom_tool
from dragoman.rules.developer_role import developer_role
from dragoman.rules.document_title import document_title
from dragoman.rules.duplicate_call_id import duplicate_call_id
from dragoman.rules.duplicate_tool import duplicate_tool
from dragoman.rules.empty_content import empty_content
from dragoman.rules.empty_description import empty_description
from dragoman.rules.empty_tools import empty_tools
from dragoman.rules.endless_loop import endless_loop
from dragoman.rules.error_mark import error_mark
from dragoman.rules.flat_tools import flat_tools
from dragoman.rules.forced_loop import forced_loop
from dragoman.rules.forced_tool import forced_tool
from dragoman.rules.foreign_field import foreign_field
from dragoman.rules.foreign_reasoning import foreign_reasoning
from dragoman.rules.inline_system import inline_system
from dragoman.rules.item_id_form import item_id_form
from dragoman.rules.json_word import json_word
from dragoman.rules.late_result import late_result
from dragoman.rules.late_system import late_system
from dragoman.rules.leading_assistant import leading_assistant
from dragoman.rules.legacy_function_call import legacy_function_call
from dragoman.rules.list_content import list_content
from dragoman.rules.lone_reasoning import lone_reasoning
from dragoman.rules.many_strict import many_strict
from dragoman.rules.many_systems import many_systems
from dragoman.rules.many_thoughts import many_thoughts
from dragoman.rules.media_apart import media_apart
from dragoman.rules.media_form import media_form
from dragoman.rules.missing_content import missing_content
from dragoman.rules.missing_description import missing_description
from dragoman.rules.missing_reasoning import missing_reasoning
from dragoman.rules.missing_result import missing_result
from dragoman.rules.missing_signature import missing_signature
from dragoman.rules.mixed_parts import mixed_parts
from dragoman.rules.model_prefix import model_prefix
from dragoman.rules.native_tool import native_tool
from dragoman.rules.no_user_turn import no_user_turn
from dragoman.rules.null_content import null_content
from dragoman.rules.null_field import null_field
from dragoman.rules.null_setting import null_setting
from dragoman.rules.off_schema import off_schema
from dragoman.rules.orphan_result import orphan_result
from dragoman.rules.parallel_calls import parallel_calls
from dragoman.rules.reasoning_asked import reasoning_asked
from dragoman.rules.refused_format import refused_format
from dragoman.rules.refused_hint import refused_hint
from dragoman.rules.refused_name import refused_name
from dragoman.rules.refused_part import refused_part
from dragoman.rules.refused_prefill import refused_prefill
from dragoman.rules.refused_reasoning import refused_reasoning
from dragoman.rules.refused_setting import refused_setting
from dragoman.rules.refused_system import refused_system
from dragoman.rules.refused_tools import refused_tools
from dragoman.rules.remote_media import remote_media
from dragoman.rules.repeated_result import repeated_result
from dragoman.rules.repeated_role import repeated_role
from dragoman.rules.required_setting import required_setting
from dragoman.rules.rule import Rule
from dragoman.rules.schema_keyword import schema_keyword
from dragoman.rules.setting_name import setting_name
from dragoman.rules.setting_range import setting_range
from dragoman.rules.stray_field import stray_field
from dragoman.rules.string_content import string_content
from dragoman.rules.system_parts import system_parts
from dragoman.rules.text_beside_calls import text_beside_calls
from dragoman.rules.thinking_form import thinking_form
from dragoman.rules.thinking_switch import thinking_switch
from dragoman.rules.thought_in_id import thought_in_id
from dragoman.rules.tool_choice_form import tool_choice_form
from dragoman.rules.tool_name_form import tool_name_form
from dragoman.rules.tool_wrapper import tool_wrapper
from dragoman.rules.trailing_assistant import trailing_assistant
from dragoman.rules.trailing_space import trailing_space
from dragoman.rules.undeclared_tools import undeclared_tools
from dragoman.rules.unknown_role import unknown_role
from dragoman.rules.user_after_tool import user_after_tool
from dragoman.rules.user_alias import user_alias
from dragoman.rules.vendor_header import vendor_header
from dragoman.rules.volatile_ids import volatile_ids

GROUPS: dict[str, tuple[Rule, ...]] = {
    # What no provider wants goes first, so that no other rule meets it.
    "clean": (
        off_schema,
        null_field,
        stray_field,
        unknown_role,
        legacy_function_call,
        custom_tool,
        bad_arguments,
        refused_hint,
        vendor_header,
        model_prefix,
        volatile_ids,
        refused_prefill,
        empty_content,
        null_content,
        refused_format,  # it may add a tool or a system message, which the groups below put into their form
    ),
    # Calls and results come together before anything moves, and stay together from here on.
    "pair": (thought_in_id, duplicate_call_id, repeated_result, orphan_result, missing_result, late_result),
    # Thinking belongs to its turn, so it is settled before turns move.
    "reason": (item_id_form, foreign_reasoning, refused_reasoning, lone_reasoning, missing_signature),
    # System messages go to where they may stand. Some become user turns, which `shape` may have to merge.
    "place": (inline_system, developer_role, refused_system, late_system, many_systems, system_parts),
    # Media of a result may need a user turn after it, so it comes before `shape` too.
    "media": (remote_media, refused_part, media_form, document_title, error_mark, flat_tools, blank_remainder),
    # Every turn is there: add what is missing at the ends, merge what may not stand side by side.
    "shape": (
        no_user_turn,
        leading_assistant,
        trailing_assistant,
        json_word,
        user_after_tool,
        repeated_role,
        mixed_parts,
        text_beside_calls,  # after neighbours of one role were merged: it parts what belongs together
        parallel_calls,  # likewise
        many_thoughts,
        trailing_space,
        media_apart,
        list_content,
        string_content,
        missing_content,
        forced_loop,
        endless_loop,
        thinking_switch,  # before those that look at whether the model thinks
        forced_tool,  # it may turn thinking off, and then no thinking is missing
        missing_reasoning,  # last, because it looks at which turns stand next to each other
    ),
    # Nothing adds a call or a message any more: names and ids get their form.
    "name": (refused_name, call_id_form, tool_name_form),
    # Tools come after names, because a tool that was called may have to be declared.
    "tools": (
        refused_tools,
        native_tool,
        duplicate_tool,
        tool_wrapper,
        undeclared_tools,
        empty_description,
        missing_description,
        schema_keyword,
        many_strict,
        empty_tools,
    ),
    # Settings come last, because some depend on what is left: a tool choice needs tools.
    "settings": (
        thinking_form,
        tool_choice_form,
        reasoning_asked,  # after the two that may turn thinking off
        foreign_field,
        user_alias,
        refused_setting,
        setting_range,
        required_setting,
        setting_name,
        null_setting,
        cache_marks,
    ),
}

ORDER: tuple[Rule, ...] = tuple(rule for group in GROUPS.values() for rule in group)
BY_NAME: dict[str, Rule] = {rule.name: rule for rule in ORDER}
