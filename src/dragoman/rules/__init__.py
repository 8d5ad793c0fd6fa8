"""The rules, one repair per file, in the order in which they run. Why this order: docs/decisions/order-of-rules.md."""

from __future__ import annotations

from dragoman.rules.clean.bad_arguments import bad_arguments
from dragoman.rules.clean.client_tool import client_tool
from dragoman.rules.clean.custom_tool import custom_tool
from dragoman.rules.clean.empty_content import empty_content
from dragoman.rules.clean.legacy_function_call import legacy_function_call
from dragoman.rules.clean.mixed_system import mixed_system
from dragoman.rules.clean.model_prefix import model_prefix
from dragoman.rules.clean.native_tool import native_tool
from dragoman.rules.clean.null_content import null_content
from dragoman.rules.clean.null_field import null_field
from dragoman.rules.clean.off_schema import off_schema
from dragoman.rules.clean.provider_run import provider_run
from dragoman.rules.clean.refused_format import refused_format
from dragoman.rules.clean.refused_hint import refused_hint
from dragoman.rules.clean.refused_prefill import refused_prefill
from dragoman.rules.clean.stray_field import stray_field
from dragoman.rules.clean.unknown_role import unknown_role
from dragoman.rules.clean.vendor_header import vendor_header
from dragoman.rules.clean.volatile_ids import volatile_ids
from dragoman.rules.media.blank_remainder import blank_remainder
from dragoman.rules.media.document_title import document_title
from dragoman.rules.media.error_mark import error_mark
from dragoman.rules.media.flat_tools import flat_tools
from dragoman.rules.media.many_media import many_media
from dragoman.rules.media.media_form import media_form
from dragoman.rules.media.refused_part import refused_part
from dragoman.rules.media.remote_media import remote_media
from dragoman.rules.name.call_id_form import call_id_form
from dragoman.rules.name.duplicate_document_id import duplicate_document_id
from dragoman.rules.name.refused_name import refused_name
from dragoman.rules.name.schema_label import schema_label
from dragoman.rules.name.tool_name_form import tool_name_form
from dragoman.rules.pair.duplicate_call_id import duplicate_call_id
from dragoman.rules.pair.late_result import late_result
from dragoman.rules.pair.misnamed_result import misnamed_result
from dragoman.rules.pair.missing_result import missing_result
from dragoman.rules.pair.orphan_result import orphan_result
from dragoman.rules.pair.repeated_result import repeated_result
from dragoman.rules.pair.thought_in_id import thought_in_id
from dragoman.rules.place.developer_role import developer_role
from dragoman.rules.place.inline_system import inline_system
from dragoman.rules.place.late_system import late_system
from dragoman.rules.place.many_systems import many_systems
from dragoman.rules.place.refused_system import refused_system
from dragoman.rules.place.single_call import single_call
from dragoman.rules.place.system_parts import system_parts
from dragoman.rules.reason.foreign_reasoning import foreign_reasoning
from dragoman.rules.reason.item_id_form import item_id_form
from dragoman.rules.reason.lone_reasoning import lone_reasoning
from dragoman.rules.reason.missing_signature import missing_signature
from dragoman.rules.reason.refused_reasoning import refused_reasoning
from dragoman.rules.rule import Rule
from dragoman.rules.settings.cache_marks import cache_marks
from dragoman.rules.settings.foreign_field import foreign_field
from dragoman.rules.settings.null_setting import null_setting
from dragoman.rules.settings.reasoning_asked import reasoning_asked
from dragoman.rules.settings.refused_setting import refused_setting
from dragoman.rules.settings.required_setting import required_setting
from dragoman.rules.settings.setting_name import setting_name
from dragoman.rules.settings.setting_range import setting_range
from dragoman.rules.settings.several_answers import several_answers
from dragoman.rules.settings.thinking_form import thinking_form
from dragoman.rules.settings.tool_choice_form import tool_choice_form
from dragoman.rules.settings.user_alias import user_alias
from dragoman.rules.shape.endless_loop import endless_loop
from dragoman.rules.shape.forced_loop import forced_loop
from dragoman.rules.shape.forced_tool import forced_tool
from dragoman.rules.shape.list_content import list_content
from dragoman.rules.shape.lone_document import lone_document
from dragoman.rules.shape.many_thoughts import many_thoughts
from dragoman.rules.shape.media_apart import media_apart
from dragoman.rules.shape.missing_content import missing_content
from dragoman.rules.shape.missing_reasoning import missing_reasoning
from dragoman.rules.shape.mixed_parts import mixed_parts
from dragoman.rules.shape.parallel_calls import parallel_calls
from dragoman.rules.shape.repeated_role import repeated_role
from dragoman.rules.shape.string_content import string_content
from dragoman.rules.shape.text_beside_calls import text_beside_calls
from dragoman.rules.shape.thinking_switch import thinking_switch
from dragoman.rules.shape.trailing_space import trailing_space
from dragoman.rules.tools.duplicate_tool import duplicate_tool
from dragoman.rules.tools.empty_description import empty_description
from dragoman.rules.tools.empty_tools import empty_tools
from dragoman.rules.tools.many_strict import many_strict
from dragoman.rules.tools.many_tools import many_tools
from dragoman.rules.tools.missing_description import missing_description
from dragoman.rules.tools.refused_tools import refused_tools
from dragoman.rules.tools.schema_keyword import schema_keyword
from dragoman.rules.tools.tool_wrapper import tool_wrapper
from dragoman.rules.tools.undeclared_tools import undeclared_tools
from dragoman.rules.turns.json_word import json_word
from dragoman.rules.turns.leading_assistant import leading_assistant
from dragoman.rules.turns.no_user_turn import no_user_turn
from dragoman.rules.turns.trailing_assistant import trailing_assistant
from dragoman.rules.turns.user_after_tool import user_after_tool

GROUPS: dict[str, tuple[Rule, ...]] = {
    # What no provider wants goes first, so that no other rule meets it.
    "clean": (
        off_schema,
        mixed_system,
        null_field,
        native_tool,  # before a search of tools goes, since it may have a counterpart
        provider_run,  # before citations go, whose sentences it keeps
        client_tool,  # before fields go that say which tool is called
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
    "pair": (
        thought_in_id,
        duplicate_call_id,
        repeated_result,
        orphan_result,
        missing_result,
        late_result,
        misnamed_result,
    ),
    # Thinking belongs to its turn, so it is settled before turns move.
    "reason": (item_id_form, foreign_reasoning, refused_reasoning, lone_reasoning, missing_signature),
    # System messages go to where they may stand. Some become user turns, which `shape` may have to merge.
    "place": (single_call, inline_system, developer_role, refused_system, late_system, many_systems, system_parts),
    # Media of a result may need a user turn after it, so it comes before `shape` too.
    "media": (
        remote_media,
        refused_part,
        many_media,
        media_form,
        document_title,
        error_mark,
        flat_tools,
        blank_remainder,
    ),
    # Turns that a target demands are added, and one that it refuses at the end does not stay the last.
    "turns": (no_user_turn, leading_assistant, trailing_assistant, json_word, user_after_tool),
    # Every turn is there: merge what may not stand side by side, and give each its form.
    "shape": (
        repeated_role,
        mixed_parts,
        text_beside_calls,  # after neighbours of one role were merged: it parts what belongs together
        parallel_calls,  # the same
        many_thoughts,
        lone_document,  # after neighbours of one role were merged: one of them may have a text
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
    "name": (refused_name, call_id_form, duplicate_document_id, tool_name_form, schema_label),
    # Tools come after names, because a tool that was called may have to be declared.
    "tools": (
        refused_tools,
        duplicate_tool,
        many_tools,
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
        foreign_field,
        user_alias,
        several_answers,
        refused_setting,
        reasoning_asked,  # after those that may turn thinking off, and when no foreign field is left
        setting_range,
        required_setting,
        setting_name,
        null_setting,
        cache_marks,
    ),
}

ORDER: tuple[Rule, ...] = tuple(rule for group in GROUPS.values() for rule in group)
BY_NAME: dict[str, Rule] = {rule.name: rule for rule in ORDER}
