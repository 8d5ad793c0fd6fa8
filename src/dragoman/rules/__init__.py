"""The rules, one repair per file, in the order in which they run. Why this order: docs/decisions/order-of-rules.md."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from dragoman.rules.rule import Rule

_NAMES: Mapping[str, tuple[str, ...]] = {
    # What no provider wants goes first, so that no other rule meets it.
    "clean": (
        "off_schema",
        "mixed_system",
        "null_field",
        "native_tool",  # before a search of tools goes, since it may have a counterpart
        "provider_run",  # before citations go, whose sentences it keeps
        "client_tool",  # before fields go that say which tool is called
        "stray_field",
        "unknown_role",
        "legacy_function_call",
        "custom_tool",
        "bad_arguments",
        "refused_hint",
        "vendor_header",
        "model_prefix",
        "volatile_ids",
        "refused_prefill",
        "empty_content",
        "null_content",
        "refused_format",  # it may add a tool or a system message, which the groups below put into their form
    ),
    # Calls and results come together before anything moves, and stay together from here on.
    "pair": (
        "thought_in_id",
        "duplicate_call_id",
        "repeated_result",
        "orphan_result",
        "missing_result",
        "late_result",
        "misnamed_result",
    ),
    # Thinking belongs to its turn, so it is settled before turns move.
    "reason": ("item_id_form", "foreign_reasoning", "refused_reasoning", "lone_reasoning", "missing_signature"),
    # System messages go to where they may stand. Some become user turns, which `shape` may have to merge.
    "place": (
        "single_call",
        "inline_system",
        "developer_role",
        "refused_system",
        "late_system",
        "many_systems",
        "system_parts",
    ),
    # Media of a result may need a user turn after it, so it comes before `shape` too.
    "media": (
        "remote_media",
        "refused_part",
        "many_media",
        "media_form",
        "document_title",
        "error_mark",
        "flat_tools",
        "blank_remainder",
    ),
    # Turns that a target demands are added, and one that it refuses at the end does not stay the last. A turn that
    # opens the conversation is the user's, so it comes before the search for one.
    "turns": ("leading_assistant", "no_user_turn", "trailing_assistant", "json_word", "user_after_tool"),
    # Every turn is there: merge what may not stand side by side, and give each its form.
    "shape": (
        "repeated_role",
        "mixed_parts",
        "text_beside_calls",  # after neighbours of one role were merged: it parts what belongs together
        "parallel_calls",  # the same
        "many_thoughts",
        "lone_document",  # after neighbours of one role were merged: one of them may have a text
        "trailing_space",
        "media_apart",
        "list_content",
        "string_content",
        "missing_content",
        "forced_loop",
        "endless_loop",
        "thinking_switch",  # before those that look at whether the model thinks
        "forced_tool",  # it may turn thinking off, and then no thinking is missing
        "missing_reasoning",  # last, because it looks at which turns stand next to each other
    ),
    # Nothing adds a call or a message any more: names and ids get their form.
    "name": ("refused_name", "call_id_form", "duplicate_document_id", "tool_name_form", "schema_label"),
    # Tools come after names, because a tool that was called may have to be declared.
    "tools": (
        "refused_tools",
        "duplicate_tool",
        "many_tools",
        "tool_wrapper",
        "undeclared_tools",
        "lost_reference",  # when the list of tools is as it is sent
        "empty_description",
        "missing_description",
        "schema_keyword",
        "many_strict",
        "empty_tools",
    ),
    # Settings come last, because some depend on what is left: a tool choice needs tools.
    "settings": (
        "thinking_form",
        "tool_choice_form",
        "foreign_field",
        "user_alias",
        "several_answers",
        "refused_setting",
        "reasoning_asked",  # after those that may turn thinking off, and when no foreign field is left
        "setting_range",
        "required_setting",
        "setting_name",
        "null_setting",
        "cache_marks",
    ),
}
"""The rules of each group, by the names of their modules, in the order in which they run."""


def _load(group: str, name: str) -> Rule:
    found: Rule = getattr(import_module(f"{__name__}.{group}.{name}"), name)
    return found


GROUPS = {group: tuple([_load(group, name) for name in names]) for group, names in _NAMES.items()}
ORDER: tuple[Rule, ...] = tuple(rule for group in GROUPS.values() for rule in group)
BY_NAME: dict[str, Rule] = {rule.name: rule for rule in ORDER}
